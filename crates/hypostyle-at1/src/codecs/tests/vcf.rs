use super::*;

const BASE: &StreamList<'_> = &[
    // Lines, trailing, samples, deltas, the usual token, two others.
    ("meta", b"\x04\x01\x03\x00\x030|0\x02\x030|1\x031|1"),
    ("flags", b"\x00\x01\x01\x01"),
    ("chrom", b"1\n1\n2"),
    ("pos", b"100\n007\n5"),
    ("id", b".\nrs1\n."),
    ("ref", b"A\nC\nG"),
    ("alt", b"T\nG\nA"),
    ("qual", b".\n50\n."),
    ("filter", b"PASS\nPASS\n."),
    ("info", b"\nAC=1\nAC=2"),
    ("format", b"GT\nGT\nGT"),
    ("gt", b"\x00\x02\x00\x01\x02\x00\x01\x01\x01"),
    ("verbatim", b"##fileformat=VCFv4.2"),
];
const TEXT: &str = "##fileformat=VCFv4.2
1\t100\t.\tA\tT\t.\tPASS\t\tGT\t0|0\t0|0\t0|0
1\t007\trs1\tC\tG\t50\tPASS\tAC=1\tGT\t1|1\t0|0\t0|1
2\t5\t.\tG\tA\t.\t.\tAC=2\tGT\t0|0\t1|1\t0|0
";

#[test]
fn lines_are_nine_columns_and_the_samples() {
    assert_eq!(text(Codec::Vcf, BASE), TEXT);
    deviates(Codec::Vcf, BASE, &[]);
}

#[test]
fn positions_may_be_differences() {
    let meta = b"\x04\x01\x03\x01\x030|0\x02\x030|1\x031|1";
    let wide = i128::from(i64::MAX) + 1;
    let pos = deltas(&[100, -7, wide]);
    let set = with(BASE, &[("meta", meta), ("pos", &pos)]);
    let expected = TEXT.replace("\t007\t", "\t-7\t").replace("2\t5\t", &format!("2\t{wide}\t"));
    assert_eq!(text(Codec::Vcf, &set), expected);
    deviates(Codec::Vcf, &set, &["A11"]);
    let meta = b"\x04\x01\x03\x07\x030|0\x02\x030|1\x031|1";
    let pos = deltas(&[1, 2, 3]);
    deviates(Codec::Vcf, &with(BASE, &[("meta", meta), ("pos", &pos)]), &["A14"]);
}

/// The samples of one line, each followed by a tab in the original.
fn samples(count: u64, usual: &[u8], gt: &[u8]) -> Result<String> {
    let (count, usual) = (uv(count.into()), lp(usual));
    let meta = [b"\x01\x00", count.as_slice(), b"\x00", &usual, b"\x02\x01x\x00"].concat();
    let set: &StreamList<'_> = &[("meta", &meta), ("flags", b"\x01"), ("gt", gt)];
    let line = String::from_utf8(unpack(Codec::Vcf, set)?).unwrap();
    Ok(line.strip_prefix(&"\t".repeat(9)).unwrap().replace('\t', "/"))
}

#[test]
fn unusual_samples_are_found_by_their_steps() {
    assert_eq!(samples(0, b".", b"\x00").unwrap(), "", "a tab is left at the end");
    assert_eq!(samples(1, b".", b"\x00").unwrap(), ".");
    assert_eq!(samples(1, b"", b"\x00").unwrap(), "");
    assert_eq!(samples(3, b"", b"\x00").unwrap(), "//");
    assert_eq!(samples(3, b".", b"\x01\x02\x00").unwrap(), "././x");
    assert_eq!(samples(3, b".", b"\x03\x00\x00\x01\x01\x01\x00").unwrap(), "x//x");
    assert_eq!(
        samples(3, b".", b"\x02\x01\x00\x00\x01").unwrap(),
        ".//.",
        "the later token counts"
    );
    assert_eq!(samples(3, b".", b"\x03\x00\x00\x00\x01\x02\x00").unwrap(), "/./x");
}

#[test]
fn long_runs_of_usual_samples_are_exact() {
    for (count, usual) in
        [(4096, "0|0"), (5000, ""), (1023, "0|0"), (1024, "0|0"), (3, &*"y".repeat(5000))]
    {
        let expected = vec![usual; count].join("/");
        assert_eq!(samples(count as u64, usual.as_bytes(), b"\x00").unwrap(), expected);
        let mut list = vec![usual; count];
        list[count - 2] = "x";
        let gt = [b"\x01", uv(count as u128 - 2).as_slice(), b"\x00"].concat();
        assert_eq!(samples(count as u64, usual.as_bytes(), &gt).unwrap(), list.join("/"));
    }
}

#[test]
fn samples_and_tokens_must_exist() {
    for (count, gt, offset) in [
        (3, b"\x01\x03\x00".as_slice(), 1),
        (3, b"\x02\x02\x00\x01\x00", 3),
        (0, b"\x01\x00\x00", 1),
        (3, b"\x01\x00\x02", 2),
        (3, b"\x02\x00\x00", 0),
        (3, b"\x01\x00", 0),
        (3, b"", 0),
    ] {
        let err = samples(count, b".", gt).unwrap_err();
        assert_eq!((err.stream(), err.offset()), (Some("gt"), Some(offset)), "{err}");
    }
    // Steps that would wrap around to an existing sample.
    let gt = [b"\x02\x01\x00", uv(u128::from(u64::MAX)).as_slice(), b"\x00"].concat();
    let err = samples(3, b".", &gt).unwrap_err();
    assert_eq!((err.stream(), err.offset()), (Some("gt"), Some(3)), "{err}");
}

#[test]
fn a_claimed_number_of_samples_is_refused_before_any_is_written() {
    for count in [1 << 40, u64::MAX, u64::MAX / 2] {
        for usual in [b"".as_slice(), b"0|0"] {
            let err = samples(count, usual, b"\x00").unwrap_err();
            assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
            let err = samples(count, usual, b"\x01\x05\x00").unwrap_err();
            assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
        }
    }
    // Without a structured line the number is not used.
    let meta = [b"\x00\x00", uv(1 << 60).as_slice(), b"\x00\x00\x00"].concat();
    assert_eq!(text(Codec::Vcf, &[("meta", &meta)]), "");
}

#[test]
fn many_lines_of_many_samples_stop_at_the_limit() {
    let lines = 1 << 16;
    let meta = [uv(lines).as_slice(), b"\x00", &uv(1 << 20), b"\x00\x00\x00"].concat();
    let lines = lines as usize;
    let (flags, newlines, gt) = (vec![1; lines], vec![b'\n'; lines], vec![0; lines]);
    let mut set: Vec<(&str, &[u8])> = vec![("meta", &meta), ("flags", &flags), ("gt", &gt)];
    for name in ["chrom", "pos", "id", "ref", "alt", "qual", "filter", "info", "format"] {
        set.push((name, &newlines));
    }
    limited(Codec::Vcf, &set, 32 << 20);
}

#[test]
fn a_line_of_short_tokens_may_fill_the_limit_exactly() {
    // Three samples of a long usual token, all of them replaced by a short one.
    let meta = b"\x01\x00\x03\x00\x0Alonglonglo\x01\x01x";
    let set: &StreamList<'_> =
        &[("meta", meta), ("flags", b"\x01"), ("gt", b"\x03\x00\x00\x01\x00\x01\x00")];
    let limits = Limits::default().with_output_bytes(14);
    let options = ReadOptions::default().with_limits(limits);
    assert_eq!(unpack_with(Codec::Vcf, set, &options).unwrap(), b"\t\t\t\t\t\t\t\t\tx\tx\tx");
    limited(Codec::Vcf, set, 13);
}

#[test]
fn what_is_missing_is_named() {
    for (name, bytes) in BASE.iter().filter(|(name, _)| *name != "verbatim") {
        let err = unpack(Codec::Vcf, &without(BASE, name)).expect_err("was accepted");
        assert_eq!(err.stream(), Some(*name), "{err}");
        let cut = bytes.iter().rposition(|&byte| byte == b'\n').unwrap_or(bytes.len() - 1);
        let err = unpack(Codec::Vcf, &with(BASE, &[(name, &bytes[..cut])])).unwrap_err();
        assert_eq!(err.stream(), Some(*name), "{err}");
    }
    refused(Codec::Vcf, &with(BASE, &[("flags", b"\x00\x00\x01\x01")]), "verbatim", 21);
    let meta = [b"\x04\x01\x03\x00\x030|0", uv(1 << 40).as_slice()].concat();
    refused(Codec::Vcf, &with(BASE, &[("meta", &meta)]), "meta", 8);
}

#[test]
fn damage_is_an_error_at_worst() {
    survives_cuts(Codec::Vcf, BASE);
    survives_changes(Codec::Vcf, BASE);
}
