//! JSON in archives: lines with the codec json, documents with jsondoc.

use std::fmt::Write;

use hypostyle::formats::at1::{self, Choice, Codec, Layout, PackOptions};
use proptest::prelude::*;

use crate::archives::{self, only};

const CODECS: [Codec; 2] = [Codec::Json, Codec::JsonDoc];

/// Returns pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
}

/// Checks that a text round-trips as a whole archive and in frames.
fn comes_back(original: &[u8], options: &PackOptions) {
    archives::comes_back(original, options, archives::lines(original) / 4 + 1);
}

/// Returns the size of an archive with this codec alone, and checks that it was used.
fn size(original: &[u8], codec: Codec) -> usize {
    let (archive, packed) = at1::pack(original, &only(codec)).unwrap();
    assert_eq!(packed.codec, codec);
    archive.len()
}

/// Returns lines as a service logs them: objects with several sets of keys.
fn events(count: u64) -> String {
    let mut dice = Dice(7);
    let mut text = String::new();
    for id in 0..count {
        let (user, took) = (dice.below(90), dice.below(100_000));
        let _ = match dice.below(3) {
            0 => write!(text, r#"{{"id":{id},"kind":"view","user":{{"id":{user}}},"took":{took}"#),
            1 => write!(text, r#"{{"id":{id},"kind":"buy","items":[{took},{user},{user}]"#),
            _ => write!(text, r#"{{"id":{id},"kind":"gone","why":null,"user":{{"id":{user}}}"#),
        };
        let _ = match dice.below(4) {
            0 => writeln!(text, r#","tags":["a","b"]}}"#),
            _ => writeln!(text, "}}"),
        };
    }
    text
}

/// Returns objects whose strings repeat the values of other members.
fn links(count: u64) -> String {
    let mut dice = Dice(3);
    let mut text = String::new();
    for _ in 0..count {
        let (id, part) = (dice.below(1 << 31), dice.below(1 << 31));
        let name = format!("{:x}", dice.below(1 << 31));
        let _ = write!(text, r#"{{"id":{id},"id_str":"{id}","name":"{name}","#);
        let _ = write!(text, r#""url":"https://example.org/{name}/{id}","parts":["#);
        let _ =
            write!(text, r#"{{"n":{part},"url":"https://example.org/{name}/parts/{part}#c"}},"#);
        let _ =
            writeln!(text, r#"{{"n":{id},"url":"https://example.org/{name}/parts/{id}#c"}}]}}"#);
    }
    text
}

/// Returns a repetitive document with spaces and newlines.
fn document(count: u64) -> String {
    let mut dice = Dice(5);
    let mut text = String::from("{\n  \"type\": \"FeatureCollection\",\n  \"features\": [\n");
    for id in 0..count {
        let comma = if id + 1 < count { "," } else { "" };
        let (east, north) = (dice.below(360_000), dice.below(180_000));
        let _ = write!(text, "    {{\n      \"type\": \"Feature\",\n      \"id\": {id},\n");
        let _ = writeln!(text, "      \"at\": [ {east}e-3, -{north}e-3 ],");
        let _ = writeln!(text, "      \"name\": \"place {}\"\n    }}{comma}", dice.below(50));
    }
    text + "  ]\n}\n"
}

#[test]
fn lines_of_several_shapes_take_far_less_than_raw() {
    let text = events(3000);
    let (json, raw) = (size(text.as_bytes(), Codec::Json), size(text.as_bytes(), Codec::Raw));
    assert!(json * 100 < raw * 85, "{json} where RAW takes {raw}");
    let (_, packed) = at1::pack(text.as_bytes(), &PackOptions::default()).unwrap();
    assert_eq!(packed.codec, Codec::Json);
}

#[test]
fn redundant_strings_take_almost_no_bytes() {
    let text = links(1500);
    let (json, raw) = (size(text.as_bytes(), Codec::Json), size(text.as_bytes(), Codec::Raw));
    assert!(json * 100 < raw * 75, "{json} where RAW takes {raw}");
    // Each line has three numbers of 31 bits; one is stored twice, since it is not a string.
    assert!(json < 1500 * 22, "{json}");
}

#[test]
fn documents_take_far_less_than_raw_whatever_their_spaces() {
    let pretty = document(1000);
    let compact: String = pretty.split_ascii_whitespace().collect();
    for text in [&pretty, &compact] {
        let (doc, raw) = (size(text.as_bytes(), Codec::JsonDoc), size(text.as_bytes(), Codec::Raw));
        assert!(doc * 100 < raw * 90, "{doc} where RAW takes {raw}");
        let (_, packed) = at1::pack(text.as_bytes(), &PackOptions::default()).unwrap();
        assert_eq!(packed.codec, Codec::JsonDoc);
    }
}

#[test]
fn lines_with_spaces_are_documents() {
    let text = events(2000).replace("\":", "\": ").replace(",\"", ", \"");
    let (_, packed) = at1::pack(text.as_bytes(), &PackOptions::default()).unwrap();
    assert_eq!(packed.codec, Codec::JsonDoc);
}

#[test]
fn archives_do_not_depend_on_threads() {
    for (text, codec) in [(links(800), Codec::Json), (document(800), Codec::JsonDoc)] {
        let options = PackOptions::default().with_codec(Choice::Only(codec));
        let archive = |threads: usize| {
            let options = options.clone().with_threads(threads.try_into().ok());
            at1::pack(text.as_bytes(), &options).unwrap().0
        };
        assert!(archive(1) == archive(3));
    }
}

#[test]
fn odd_texts_come_back() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth) + "\n";
    let keys: String =
        (0..700).map(|i| format!("{{\"k{i}\":{i},\"a\":{{\"{i}\":0}}}}\n")).collect();
    let texts: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\n".to_vec(),
        b"\n\n".to_vec(),
        b"{}".to_vec(),
        b"[]\n{}\n[[],{}]".to_vec(),
        b"{\"a\":1}\r\n{\"a\":2}\r\n".to_vec(),
        b"{\"a\":\"\xff\x00\"}\n{\"\x00\":1}\n".to_vec(),
        b"{\"a\":1}\n\0\n{\"a\":\"\0\"}".to_vec(),
        b"{\"a\":1,\"a\":\"x\",\"a\":\"x\"}\n".repeat(20),
        b"{\"a\":\"b\\\\\",\"b\":\"\\\\\\\"\"}\n{\"a\":\"\\".to_vec(),
        b"{\"a\": \"two\nlines\", \"b\": [1, \"and\n\nmore\"]}".to_vec(),
        b"]]}} 1, 2 : \"a\" : {\"b\" : : 3 [".to_vec(),
        (deep(8192) + &deep(8193) + &deep(8192)).into_bytes(),
        keys.into_bytes(),
        b"{\"id\":\"\",\"s\":\"x\",\"t\":\"\"}\n".repeat(30),
    ];
    for text in &texts {
        for codec in CODECS {
            comes_back(text, &PackOptions::default().with_codec(Choice::Only(codec)));
        }
        comes_back(text, &PackOptions::default());
    }
}

/// Generates JSON text: values, arrays and objects.
fn tree() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..40_u32).prop_map(|n| n.to_string()),
        (0..40_u32).prop_map(|n| format!("\"{n}\"")),
        (0..40_u32).prop_map(|n| format!("\"http://x/{n}/\"")),
        prop::sample::select(
            &["null", "true", "-0", "007", "1e999", "\"\"", "\"\\\"\"", "\"é\\n\"", "NaN"][..]
        )
        .prop_map(str::to_owned),
    ];
    let key = || prop::sample::select(&["a", "b", "c", "", "\\\"", "é"][..]);
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec((key(), inner), 0..5).prop_map(|members| {
                let member = |(key, value): &(&str, String)| format!("\"{key}\":{value}");
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Lines of JSON round-trip, also with some bytes changed.
    #[test]
    fn any_json_comes_back(
        lines in prop::collection::vec(tree(), 0..30),
        repeats in 1_usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        codec in prop::sample::select(&CODECS[..]),
        level in 1_u8..=9,
        published in any::<bool>(),
    ) {
        let mut text = lines.join("\n").repeat(repeats).into_bytes();
        for (at, byte) in changes {
            if !text.is_empty() {
                let at = at.index(text.len());
                text[at] = byte;
            }
        }
        let layout = if published { Layout::Published } else { Layout::Reference };
        let options = PackOptions::default().with_level(level).with_layout(layout);
        comes_back(&text, &options.with_codec(Choice::Only(codec)));
    }

    /// Texts that derivation rules apply to round-trip, also with some bytes changed.
    #[test]
    fn rules_hold_only_where_they_do(
        count in 10_u64..60,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..30),
    ) {
        let mut text = links(count).into_bytes();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        comes_back(&text, &PackOptions::default().with_codec(Choice::Only(Codec::Json)));
    }
}
