use super::*;

const BASE: &StreamList<'_> = &[
    ("meta", b"\x01"),
    ("skeleton", b"{\n  \"a\": \0,\n  \"b\": [\0, \0]\n}\n"),
    ("colids", b"\x01\x00\x00"),
    ("value_index", b"\x02\x03\x04"),
    ("values", b"1\n2null"),
];

#[test]
fn holes_are_filled_from_their_columns() {
    assert_eq!(text(Codec::JsonDoc, BASE), "{\n  \"a\": null,\n  \"b\": [1, 2]\n}\n");
    deviates(Codec::JsonDoc, BASE, &[]);
}

#[test]
fn a_raw_document_is_itself() {
    let set: &StreamList<'_> = &[("meta", b"\x00"), ("raw", b"[1,\n2]"), ("skeleton", b"no")];
    assert_eq!(text(Codec::JsonDoc, set), "[1,\n2]");
    assert_eq!(text(Codec::JsonDoc, &[("meta", b"\x00")]), "");
}

#[test]
fn any_form_but_zero_is_structured() {
    let set = with(BASE, &[("meta", b"\x09")]);
    assert_eq!(text(Codec::JsonDoc, &set), "{\n  \"a\": null,\n  \"b\": [1, 2]\n}\n");
    deviates(Codec::JsonDoc, &set, &["A14"]);
}

#[test]
fn a_document_may_have_no_holes_or_nothing_else() {
    let set = with(BASE, &[("skeleton", b"[]"), ("colids", b"")]);
    assert_eq!(text(Codec::JsonDoc, &set), "[]");
    let set = with(BASE, &[("skeleton", b"\0")]);
    assert_eq!(text(Codec::JsonDoc, &set), "null");
    let set = with(BASE, &[("skeleton", b"")]);
    assert_eq!(text(Codec::JsonDoc, &set), "");
    // An empty column has one empty token.
    let set = with(BASE, &[("value_index", b"\x02\x00\x07"), ("skeleton", b"<\0\0>")]);
    assert_eq!(text(Codec::JsonDoc, &with(&set, &[("colids", b"\x00\x01")])), "<1>");
}

#[test]
fn what_is_missing_is_named() {
    refused(Codec::JsonDoc, &[], "meta", 0);
    refused(Codec::JsonDoc, &without(BASE, "value_index"), "value_index", 0);
    refused(Codec::JsonDoc, &with(BASE, &[("colids", b"\x01\x00")]), "colids", 2);
    refused(Codec::JsonDoc, &with(BASE, &[("colids", b"\x01\x00\x02")]), "colids", 2);
    refused(Codec::JsonDoc, &with(BASE, &[("colids", b"\x01\x01\x00")]), "values", 7);
    refused(Codec::JsonDoc, &with(BASE, &[("value_index", b"\x02\x03\x05")]), "values", 3);
    refused(Codec::JsonDoc, &with(BASE, &[("value_index", b"\x02\x03")]), "value_index", 0);
    let huge = [uv(2), uv(3), uv(u128::from(u64::MAX))].concat();
    refused(Codec::JsonDoc, &with(BASE, &[("value_index", &huge)]), "values", 3);
}

#[test]
fn damage_is_an_error_at_worst() {
    survives_cuts(Codec::JsonDoc, BASE);
    survives_changes(Codec::JsonDoc, BASE);
}
