use super::*;

const BASE: &StreamList<'_> = &[
    ("meta", b"\x03\x01"),
    ("templates", b"up\nuser \0 from \0"),
    ("flags", b"\x01\x00\x01"),
    ("tids", b"\x01\x00"),
    ("vars", b"ada\nhere"),
    ("verbatim", b"odd one"),
];

#[test]
fn lines_are_templates_and_their_variables() {
    assert_eq!(text(Codec::Log, BASE), "user ada from here\nodd one\nup\n");
    deviates(Codec::Log, BASE, &[]);
}

#[test]
fn flags_above_one_are_structured_and_recorded_once() {
    let set = with(BASE, &[("flags", b"\x02\x00\x09")]);
    assert_eq!(text(Codec::Log, &set), "user ada from here\nodd one\nup\n");
    deviates(Codec::Log, &set, &["A14"]);
}

#[test]
fn a_template_must_exist() {
    let set = with(BASE, &[("tids", b"\x01\x02")]);
    let message = refused(Codec::Log, &set, "tids", 1);
    assert!(message.contains("2 is not below 2"), "{message}");
}

#[test]
fn damage_is_an_error_at_worst() {
    survives_cuts(Codec::Log, BASE);
    survives_changes(Codec::Log, BASE);
}
