use super::*;

/// One column and rows of one cell: type, chunk, cells.
fn column(kind: u8, chunk: &[u8], rows: usize) -> Vec<(&'static str, Vec<u8>)> {
    let meta = [uv(rows as u128), vec![1, 0, 1, b',', 1]].concat();
    vec![
        ("meta", meta),
        ("row_modes", vec![1; rows]),
        ("fieldcounts", vec![1; rows]),
        ("coltypes", vec![kind]),
        ("col_index", uv(chunk.len() as u128)),
        ("values", chunk.to_vec()),
        ("quotemodes", vec![0]),
    ]
}

fn borrowed<'a>(set: &'a [(&'static str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    set.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect()
}

/// Returns the cells of one column, and its deviations.
#[track_caller]
fn cells(kind: u8, chunk: &[u8], rows: usize, codes: &[&str]) -> String {
    let set = column(kind, chunk, rows);
    deviates(Codec::Columnar, &borrowed(&set), codes);
    text(Codec::Columnar, &borrowed(&set))
}

const INT: u8 = 1;
const DEC: u8 = 2;
const NUMEXC: u8 = 3;
const SHUF: u8 = 6;

#[test]
fn sums_beyond_64_bits_are_exact_and_recorded() {
    let values = [1, i128::from(i64::MAX) + 1, -5, 10_i128.pow(20), i128::MAX];
    let want: String = values.iter().map(|value| format!("{value}\n")).collect();
    assert_eq!(cells(INT, &deltas(&values), 5, &["A11"]), want);
    // The sums fit 64 bits, but the delta between them does not.
    let ends = deltas(&[i64::MIN.into(), i64::MAX.into()]);
    assert_eq!(cells(INT, &ends, 2, &["A11"]), "-9223372036854775808\n9223372036854775807\n");
    let dec = [vec![2], deltas(&[10_i128.pow(20), -3])].concat();
    assert_eq!(cells(DEC, &dec, 2, &["A11"]), "1000000000000000000.00\n-0.03\n");
    let mixed = [vec![0, 3, 0b101, 1, 2, b'N', b'A'], deltas(&[1 << 70, 7])].concat();
    assert_eq!(cells(NUMEXC, &mixed, 3, &["A11"]), "1180591620717411303424\nNA\n7\n");
}

#[test]
fn planes_add_up_without_wrapping() {
    let ends = |min: i128| [vec![2], sv(min), vec![8], [[0, 0xFF]; 8].concat()].concat();
    let top = cells(SHUF, &ends(0), 2, &["A11"]);
    assert_eq!(top, "0\n18446744073709551615\n");
    let whole = cells(SHUF, &ends(i64::MIN.into()), 2, &[]);
    assert_eq!(whole, "-9223372036854775808\n9223372036854775807\n");
    let far = cells(SHUF, &ends(1 << 100), 2, &["A11"]);
    assert_eq!(far, format!("{}\n{}\n", 1_i128 << 100, (1_i128 << 100) + i128::from(u64::MAX)));
    let set = column(SHUF, &ends(i128::MAX), 2);
    refused(Codec::Columnar, &borrowed(&set), "values", 1);
}

#[test]
fn a_bare_point_is_recorded_in_both_types_that_can_have_one() {
    assert_eq!(cells(DEC, &[0, 10, 23], 2, &["A10"]), "5.\n-7.\n");
    assert_eq!(cells(NUMEXC, &[1, 0, 2, 1, 1, 1, b'x', 10], 2, &["A10"]), "5.\nx\n");
}

#[test]
fn damage_is_an_error_at_worst() {
    let mixed = [vec![0, 3, 0b101, 1, 2, b'N', b'A'], deltas(&[1 << 70, 7])].concat();
    for (kind, chunk) in [
        (0, b"a\nb\nc".to_vec()),
        (INT, deltas(&[1, 1 << 70, -3])),
        (DEC, [vec![2], deltas(&[1, 150, -3])].concat()),
        (NUMEXC, mixed),
        (5, vec![3, 2, 1, b'a', 1, b'b', 0, 1, 0]),
        (SHUF, vec![3, 1, 1, 1, 2, 3]),
    ] {
        let set = column(kind, &chunk, 3);
        survives_cuts(Codec::Columnar, &borrowed(&set));
        survives_changes(Codec::Columnar, &borrowed(&set));
    }
}

#[test]
fn rows_that_fill_pages_go_on_where_they_stopped() {
    let delimiter = b"<>".repeat(700_000);
    let meta = [vec![7, 1, 1], lp(&delimiter), vec![3]].concat();
    let values = [&b"a\nb\nc\nd\ne\nf"[..], b"1\n2\n3\n4\n5\n6", b"x\ny"].concat();
    let set: &StreamList<'_> = &[
        ("meta", &meta),
        ("row_modes", &[1, 1, 0, 1, 1, 1, 1]),
        ("fieldcounts", &[2, 3, 1, 3, 0, 2]),
        ("coltypes", &[0, 0, 0]),
        ("col_index", &[11, 11, 3]),
        ("values", &values),
        ("quotemodes", &[0, 1, 0]),
        ("verbatim", b"as it was"),
        ("header", b"h"),
    ];
    let between = |cells: &[&str]| cells.join(std::str::from_utf8(&delimiter).unwrap());
    let rows = [
        "h".to_owned(),
        between(&["a", "\"1\""]),
        between(&["b", "\"2\"", "x"]),
        "as it was".to_owned(),
        between(&["c"]),
        between(&["d", "\"3\"", "y"]),
        String::new(),
        between(&["e", "\"4\""]),
    ];
    let want = rows.join("\n") + "\n";
    for threads in 1..4 {
        let options = ReadOptions::default().with_threads(std::num::NonZeroUsize::new(threads));
        let got = unpack_with(Codec::Columnar, set, &options).unwrap();
        assert!(got == want.as_bytes(), "{threads}");
    }
}

#[test]
fn many_rows_keep_their_order_on_any_number_of_threads() {
    let rows = 20_000;
    let chunk = deltas(&(0..rows).map(|row| row * row % 1009 - 500).collect::<Vec<_>>());
    let mut set = column(INT, &chunk, rows.try_into().unwrap());
    let modes = set.iter_mut().find(|(name, _)| *name == "row_modes").unwrap();
    modes.1[9_999] = 0;
    modes.1.push(1);
    let verbatim = b"here".to_vec();
    set.push(("verbatim", verbatim));
    let mut want: Vec<String> = (0..rows).map(|row| (row * row % 1009 - 500).to_string()).collect();
    want.insert(9_999, "here".into());
    want.truncate(20_000);
    let want = want.join("\n") + "\n";
    for threads in 1..4 {
        let options = ReadOptions::default().with_threads(std::num::NonZeroUsize::new(threads));
        let got = unpack_with(Codec::Columnar, &borrowed(&set), &options).unwrap();
        assert!(got == want.as_bytes(), "{threads}");
    }
}

#[test]
fn derived_columns_share_one_limit_on_their_length() {
    // A few bytes of chunk for a column of 1,000 cells each: 4,000 bytes in memory.
    let columns = 50;
    let set: &StreamList<'_> = &[
        ("meta", &[0, 0, 0, 0, columns + 1]),
        ("coltypes", &[vec![0], vec![4; columns.into()]].concat()),
        ("quotemodes", &vec![0; usize::from(columns) + 1]),
        ("col_index", &[uv(999), vec![3; columns.into()]].concat()),
        ("values", &[vec![b'\n'; 999], [0, 1, 0].repeat(columns.into())].concat()),
    ];
    let read = |limit: u64| {
        let limits = Limits::default().with_read_bytes(limit);
        unpack_with(Codec::Columnar, set, &ReadOptions::default().with_limits(limits))
    };
    assert_eq!(read(200_000).unwrap(), b"");
    let err = read(199_999).unwrap_err();
    assert_eq!(
        err.to_string(),
        "at1: stream `values`: column 51: size of derived columns is 200000, over the limit of \
         199999"
    );
}
