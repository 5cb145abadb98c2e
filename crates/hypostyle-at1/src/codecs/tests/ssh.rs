use super::*;

const BASE: &StreamList<'_> = &[
    ("meta", b"\x04\x01"),
    ("flags", b"\x02\x00\x01\x02"),
    ("months", b"Jan\nJan\nFeb"),
    ("days", b" 9\n10\n 1"),
    ("times", b"01:02:03\n04:05:06\n07:08:09"),
    ("hosts", b"srv\nsrv\nbox"),
    ("pids", b"\x07\xAC\x02\x00"),
    ("template_ids", b"\x01\x00"),
    ("templates", b"Connection closed\nInvalid user <*> from <*>"),
    ("vars", b"webmaster\x001.2.3.4\n"),
    ("rawmsgs", b"hello: <*>"),
    ("verbatim", b"-- MARK --"),
];
const PLAIN: &str = "Jan  9 01:02:03 srv sshd[7]: Invalid user webmaster from 1.2.3.4
-- MARK --
Jan 10 04:05:06 srv sshd[300]: hello: <*>
Feb  1 07:08:09 box sshd[0]: Connection closed
";

#[test]
fn lines_are_put_together_from_their_parts() {
    assert_eq!(text(Codec::Ssh, BASE), PLAIN);
    deviates(Codec::Ssh, BASE, &[]);
}

#[test]
fn the_last_newline_is_kept_only_if_it_was_there() {
    let set = with(BASE, &[("meta", b"\x04\x00")]);
    assert_eq!(text(Codec::Ssh, &set), PLAIN.trim_end());
    let set = with(BASE, &[("meta", b"\x04\x05")]);
    assert_eq!(text(Codec::Ssh, &set), PLAIN);
    deviates(Codec::Ssh, &set, &["A14"]);
}

#[test]
fn no_lines_need_no_streams() {
    assert_eq!(text(Codec::Ssh, &[("meta", b"\x00\x00")]), "");
    assert_eq!(text(Codec::Ssh, &[("meta", b"\x00\x01")]), "\n");
    refused(Codec::Ssh, &[], "meta", 0);
    refused(Codec::Ssh, &[("meta", b"\x00")], "meta", 1);
}

/// The message of one line with this template and these variables.
fn message(template: &[u8], vars: &[u8]) -> String {
    let set: &StreamList<'_> = &[
        ("meta", b"\x01\x00"),
        ("flags", b"\x02"),
        ("pids", b"\x01"),
        ("template_ids", b"\x00"),
        ("templates", template),
        ("vars", vars),
    ];
    // Missing lists have one empty element.
    text(Codec::Ssh, set).strip_prefix("    sshd[1]: ").unwrap().to_owned()
}

#[test]
fn missing_parts_are_empty_and_surplus_ones_dropped() {
    assert_eq!(message(b"a <*> b <*> c", b"1"), "a 1 b  c");
    assert_eq!(message(b"a <*> b <*> c", b""), "a  b  c");
    assert_eq!(message(b"a <*> b", b"1\x002\x003"), "a 1 b");
    assert_eq!(message(b"<*><*>", b"1\x002"), "12");
    assert_eq!(message(b"no hole", b"1"), "no hole");
    assert_eq!(message(b"", b"1"), "");
    assert_eq!(message(b"<<*>*> <*", b"x"), "<x*> <*");
}

#[test]
fn shortage_is_an_error_in_the_stream_that_is_short() {
    for (stream, short, offset) in [
        ("flags", b"\x02\x00\x01".as_slice(), 3),
        ("months", b"Jan\nJan", 8),
        ("days", b" 9\n10", 6),
        ("times", b"1\n2", 4),
        ("hosts", b"srv\nsrv", 8),
        ("pids", b"\x07\xAC\x02", 3),
        ("template_ids", b"\x01", 1),
        ("vars", b"webmaster", 10),
    ] {
        refused(Codec::Ssh, &with(BASE, &[(stream, short)]), stream, offset);
    }
    let set = with(BASE, &[("flags", b"\x02\x00\x00\x02")]);
    refused(Codec::Ssh, &set, "verbatim", 11);
    let set = with(BASE, &[("flags", b"\x02\x01\x01\x02"), ("pids", b"\x01\x01\x01\x01")]);
    refused(Codec::Ssh, &set, "rawmsgs", 11);
}

#[test]
fn a_template_must_exist_and_a_flag_be_known() {
    refused(Codec::Ssh, &with(BASE, &[("template_ids", b"\x01\x02")]), "template_ids", 1);
    refused(Codec::Ssh, &with(BASE, &[("flags", b"\x02\x03\x01\x02")]), "flags", 1);
}

#[test]
fn a_claimed_number_of_lines_costs_nothing() {
    let mut meta = uv(u128::from(u64::MAX));
    meta.push(1);
    refused(Codec::Ssh, &with(BASE, &[("meta", &meta)]), "flags", 4);
}

#[test]
fn numbers_of_more_than_64_bits_are_refused() {
    let most = uv(u128::from(u64::MAX));
    let pids = [most.as_slice(), b"\x00\x00"].concat();
    let set = with(BASE, &[("pids", &pids)]);
    assert!(text(Codec::Ssh, &set).contains("sshd[18446744073709551615]: "));
    let mut wide = [0xFF; 10];
    wide[9] = 0x02;
    let padded = [&[0x80; 10][..], &[0x00]].concat();
    for pids in [&wide[..], &[0xFF; 11], &padded] {
        refused(Codec::Ssh, &with(BASE, &[("pids", pids)]), "pids", 0);
    }
}

#[test]
fn holes_without_parts_take_no_time() {
    // A million lines with a million holes each, and no parts.
    let lines = 1 << 20;
    let templates = b"<*>".repeat(lines);
    let (mut meta, newlines) = (uv(lines as u128), vec![b'\n'; lines]);
    meta.push(0);
    let (flags, numbers) = (vec![2; lines], vec![0; lines]);
    let set: &StreamList<'_> = &[
        ("meta", &meta),
        ("flags", &flags),
        ("months", &newlines),
        ("days", &newlines),
        ("times", &newlines),
        ("hosts", &newlines),
        ("pids", &numbers),
        ("template_ids", &numbers),
        ("templates", &templates),
        ("vars", &newlines),
    ];
    let line = "    sshd[0]: \n";
    assert_eq!(unpack(Codec::Ssh, set).unwrap().len(), line.len() * lines - 1);
}

#[test]
fn damage_is_an_error_at_worst() {
    survives_cuts(Codec::Ssh, BASE);
    survives_changes(Codec::Ssh, BASE);
}
