use super::*;

/// The example of the spec, and a verbatim line.
const BASE: &StreamList<'_> = &[
    ("meta", b"\x02\x01"),
    ("flags", b"\x01\x00"),
    ("verbatim", b"# not JSON"),
    ("keyvocab", b"\"id\"\n\"url\"\n\"tags\"\n\"o\""),
    ("value_index", b"\x03\x03\x08\x03"),
    ("values", b"7\n8\n\"a\"\nnull\n\"s\""),
    ("rules", b"\x01\x02\x0Ahttps://x/\x00\x01\x00"),
    ("tape", b"\x01\x04\x00\x00\x00\x01\x03\x00\x02\x02\x02\x00\x01\x00\x01\x03\x01\x00"),
];
const LINE: &str = r#"{"id":7,"url":"https://x/7","tags":["a",null],"o":{}}"#;

/// Lines of these tapes, with two columns and a rule that joins them.
fn lines(count: u8, tape: &[u8]) -> Result<String> {
    let flags = vec![1; count.into()];
    let set: &StreamList<'_> = &[
        ("meta", &[count, 0]),
        ("flags", &flags),
        ("keyvocab", b"\"a\"\n\"b\""),
        ("value_index", b"\x02\x07\x06"),
        ("values", b"1\n\"x\"\n2.\"\n\"\"\n3"),
        ("rules", b"\x02\x03\x01<\x01-\x01>\x02\x01\x00\x01\x01!\x00"),
        ("tape", tape),
    ];
    unpack(Codec::Json, set).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn lines_are_rebuilt_from_the_tape() {
    assert_eq!(text(Codec::Json, BASE), format!("{LINE}\n# not JSON\n"));
    deviates(Codec::Json, BASE, &[]);
}

#[test]
fn only_one_means_a_last_newline() {
    let set = with(BASE, &[("meta", b"\x02\x00")]);
    assert_eq!(text(Codec::Json, &set), format!("{LINE}\n# not JSON"));
    let set = with(BASE, &[("meta", b"\x02\x02")]);
    assert_eq!(text(Codec::Json, &set), format!("{LINE}\n# not JSON"));
    deviates(Codec::Json, &set, &["A14"]);
}

#[test]
fn objects_and_arrays_nest_and_may_be_empty() {
    assert_eq!(lines(1, b"\x01\x00").unwrap(), "{}");
    assert_eq!(lines(1, b"\x02\x00").unwrap(), "[]");
    assert_eq!(lines(2, b"\x02\x02\x02\x00\x01\x00\x02\x00").unwrap(), "[[],{}]\n[]");
    let nested = b"\x02\x02\x01\x02\x00\x02\x01\x00\x00\x01\x02\x00\x01\x01\x01\x00\x00";
    assert_eq!(lines(1, nested).unwrap(), r#"[{"a":[1],"b":[]},{"b":"x"}]"#);
}

#[test]
fn derived_values_use_the_last_tokens_of_any_line() {
    // Before any token, after both, and after a token that is not a string.
    assert_eq!(
        lines(5, b"\x03\x00\x00\x00\x00\x01\x00\x00\x03\x00").unwrap(),
        "\"<->\"\n1\n\"\n\"x\"\n\"<\"-x>\"",
    );
    assert_eq!(
        lines(5, b"\x00\x00\x00\x01\x00\x01\x03\x00\x03\x01").unwrap(),
        "1\n\"\n\"\"\n\"<-1>\"\n\"!\"",
        "a lone quote is no string; two are an empty one",
    );
}

#[test]
fn a_rule_has_one_literal_more_than_sources() {
    for (rules, offset) in [
        (b"\x01\x01\x00\x01\x00".as_slice(), 3), // one literal, one source
        (b"\x01\x03\x00\x00\x00\x01\x00", 5),    // three literals, one source
        (b"\x01\x00\x00\x00", 2),                // none of either
        (b"\x01\x00\x01\x00", 2),                // no literal, one source
    ] {
        let message = refused(Codec::Json, &with(BASE, &[("rules", rules)]), "rules", offset);
        assert!(message.contains("literals"), "{message}");
    }
    let set = with(BASE, &[("rules", b"\x01\x02\x00\x00\x01\x03")]);
    let message = refused(Codec::Json, &set, "rules", 5);
    assert!(message.contains("3 is not below 3"), "{message}");
}

#[test]
fn counts_are_backed_by_bytes() {
    let huge = uv(1 << 62);
    let rules = |start: &[u8]| [start, &huge].concat();
    for (stream, bytes, offset) in [
        ("rules", rules(b""), 0),
        ("rules", rules(b"\x01"), 1),
        ("rules", rules(b"\x01\x01\x00"), 3),
        ("rules", rules(b"\x01\x01"), 11),
        ("value_index", huge.clone(), 0),
        ("value_index", [b"\x01", huge.as_slice()].concat(), 10),
        ("tape", [b"\x01", huge.as_slice()].concat(), 1),
        ("tape", [b"\x02", huge.as_slice()].concat(), 1),
    ] {
        let err = unpack(Codec::Json, &with(BASE, &[(stream, &bytes)])).unwrap_err();
        // The length of the column is valid, but `values` is shorter.
        let expected = if offset == 10 { ("values", 0) } else { (stream, offset) };
        assert_eq!((err.stream(), err.offset()), (Some(expected.0), Some(expected.1)), "{err}");
    }
}

#[test]
fn everything_the_tape_names_must_exist() {
    for (tape, offset) in [
        (b"\x00\x03".as_slice(), 1),           // a column
        (b"\x01\x01\x04\x00\x00", 2),          // a key
        (b"\x03\x01", 1),                      // a rule
        (b"\x04\x00", 0),                      // a kind of value
        (b"\x02\x02\x00\x00\x07\x00", 4),      // the same, further on
        (b"\x01\x01\x00", 1),                  // a member without a value
        (b"", 0),                              // any value
        (b"\x02\x02\x00\x00\x00\x00\x00", 99), // surplus: no error
    ] {
        let set = with(BASE, &[("tape", tape)]);
        match offset {
            99 => assert_eq!(text(Codec::Json, &set), "[7,8]\n# not JSON\n"),
            _ => drop(refused(Codec::Json, &set, "tape", offset)),
        }
    }
    let set = with(BASE, &[("tape", b"\x02\x03\x00\x00\x00\x00\x00\x00")]);
    let message = refused(Codec::Json, &set, "values", 3);
    assert!(message.contains("column 0 has ended"), "{message}");
}

#[test]
fn columns_have_a_byte_between_them() {
    let set = with(BASE, &[("value_index", b"\x03\x03\x08\x04")]);
    refused(Codec::Json, &set, "values", 13);
    // Any byte may separate columns, and an empty column has one empty token.
    let set: &StreamList<'_> = &[
        ("meta", b"\x01\x00"),
        ("flags", b"\x01"),
        ("value_index", b"\x03\x01\x00\x01"),
        ("values", b"1??2"),
        ("rules", b"\x00"),
        ("tape", b"\x02\x03\x00\x00\x00\x01\x00\x02"),
    ];
    assert_eq!(text(Codec::Json, set), "[1,,2]");
    let set = with(set, &[("value_index", b"\x02\x04\x00")]);
    refused(Codec::Json, &set, "values", 4);
}

#[test]
fn rules_and_value_index_must_be_there() {
    let set: &StreamList<'_> =
        &[("meta", b"\x00\x00"), ("value_index", b"\x00"), ("rules", b"\x00")];
    assert_eq!(text(Codec::Json, set), "");
    refused(Codec::Json, &without(set, "rules"), "rules", 0);
    refused(Codec::Json, &without(set, "value_index"), "value_index", 0);
}

#[test]
fn nesting_has_an_end_and_needs_no_stack() {
    let nest = |depth: usize| {
        let mut tape = b"\x02\x01".repeat(depth - 1);
        tape.extend(b"\x02\x00");
        lines(1, &tape)
    };
    assert_eq!(nest(8192).unwrap(), "[".repeat(8192) + &"]".repeat(8192));
    for depth in [8193, 1 << 20] {
        let err = nest(depth).unwrap_err();
        assert_eq!((err.stream(), err.offset()), (Some("tape"), Some(2 * 8192)), "{err}");
    }
}

#[test]
fn sources_without_text_count_towards_the_limit() {
    // Each derived value takes two bytes, writes two, and visits 1,000 sources.
    let sources = 1000;
    let mut rules = vec![1];
    rules.extend(uv(sources + 1));
    rules.extend(vec![0; sources as usize + 1]);
    rules.extend(uv(sources));
    rules.extend(vec![0; sources as usize]);
    let lines = 100;
    let (flags, tape) = (vec![1; lines], b"\x03\x00".repeat(lines));
    let set: &StreamList<'_> = &[
        ("meta", &[100, 0]),
        ("flags", &flags),
        ("value_index", b"\x01\x00"),
        ("rules", &rules),
        ("tape", &tape),
    ];
    assert_eq!(unpack(Codec::Json, set).unwrap().len(), 299);
    limited(Codec::Json, set, 99_999);
}

#[test]
fn tokens_that_are_repeated_count_towards_the_limit() {
    // A token of 1,000 bytes, and 200 values that repeat it.
    let token = [b"\"", "x".repeat(1000).as_bytes(), b"\""].concat();
    let index = [vec![1], uv(1002)].concat();
    let (flags, tape) = (vec![1; 101], [b"\x00\x00", b"\x03\x00".repeat(100).as_slice()].concat());
    let set: &StreamList<'_> = &[
        ("meta", &[101, 0]),
        ("flags", &flags),
        ("value_index", &index),
        ("values", &token),
        ("rules", b"\x01\x03\x00\x00\x00\x02\x00\x00"),
        ("tape", &tape),
    ];
    assert_eq!(unpack(Codec::Json, set).unwrap().len(), 1002 + 100 * 2003);
    limited(Codec::Json, set, 100_000);
}

#[test]
fn damage_is_an_error_at_worst() {
    survives_cuts(Codec::Json, BASE);
    survives_changes(Codec::Json, BASE);
}
