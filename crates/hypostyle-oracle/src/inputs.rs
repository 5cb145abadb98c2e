//! Random content for each codec, with ordinary and odd values.

use hypostyle::formats::at1::Codec;

use crate::rng::Rng;

/// The codecs that have a generator.
pub(crate) const CODECS: [Codec; 13] = [
    Codec::Columnar,
    Codec::QColumnar,
    Codec::QJson,
    Codec::QJson2,
    Codec::Json,
    Codec::JsonDoc,
    Codec::JsonDoc,
    Codec::Log,
    Codec::Ssh,
    Codec::Embed,
    Codec::Dicom,
    Codec::Vcf,
    Codec::Osm,
];

/// Generates content that a codec supports, at least in part.
pub(crate) fn content(codec: Codec, rng: &mut Rng) -> Vec<u8> {
    match codec {
        Codec::QJson | Codec::QJson2 => objects(rng),
        Codec::Json if rng.below(4) == 0 => objects(rng),
        Codec::Json => links(rng),
        Codec::JsonDoc if rng.below(2) == 0 => log(rng),
        Codec::JsonDoc => document(rng),
        Codec::Log | Codec::Ssh => log(rng),
        Codec::Embed => array(rng),
        Codec::Dicom => image(rng),
        Codec::Vcf => calls(rng),
        Codec::Columnar if rng.below(4) == 0 => calls(rng),
        Codec::Osm => map(rng),
        _ => table(rng),
    }
}

/// Generates a small table of ordinary and odd cells.
fn table(rng: &mut Rng) -> Vec<u8> {
    const ODD: [&str; 16] = [
        "",
        "NA",
        "-0",
        "007",
        "+5",
        "5.",
        ".5",
        "1e5",
        "\"\"",
        "\"a,b\"",
        "\"a\"\"b\"",
        "\"",
        "x\r",
        "4611686018427387904",
        "-9223372036854775808",
        "0.000000000000000001",
    ];
    let delimiter = [",", ";", "\t", "|", " ", "\t|\t"][rng.below(6)];
    let (rows, width) = (rng.below(200), 2 + rng.below(6));
    let kinds: Vec<usize> = (0..width).map(|_| rng.below(7)).collect();
    let mut text = String::new();
    for row in 0..rows {
        let width = if rng.below(30) == 0 { 1 + rng.below(width + 2) } else { width };
        for column in 0..width {
            if column > 0 {
                text += delimiter;
            }
            let kind = kinds.get(column).copied().unwrap_or(0);
            text += &match kind {
                0 => row.to_string(),
                1 => (rng.below(1 << 40)).to_string(),
                2 => format!("{}.{:02}", rng.below(1000), rng.below(100)),
                3 => ["red", "green", "blue"][rng.below(3)].to_owned(),
                4 => format!("\"{}\"", rng.below(20)),
                5 => (row / 9).to_string(),
                _ => ODD[rng.below(16)].to_owned(),
            };
        }
        text += if row + 1 < rows || rng.below(2) == 0 { "\n" } else { "" };
    }
    text.into_bytes()
}

/// Generates JSON objects with a few templates, and lines that are not objects.
fn objects(rng: &mut Rng) -> Vec<u8> {
    const VALUES: [&str; 10] = [
        "1",
        "-2.50",
        "1e400",
        "\"\"",
        "\"a b\"",
        "\"\\u00e9\\n\"",
        "null",
        "true",
        "[]",
        "{\"x\":[1,{\"y\":2}]}",
    ];
    const TEMPLATES: [&str; 6] = [
        "{\"a\":_,\"b\":_}",
        "{ \"b\" : _, \"a\":_ }\r",
        "{\"a\":{\"b\":_,\"c\":[_,_]}}",
        "{\"a\":_,\"a\":_}",
        "no object",
        "",
    ];
    let mut text = String::new();
    for _ in 0..rng.below(120) {
        let mut line = TEMPLATES[rng.below(TEMPLATES.len()).min(rng.below(12))].to_owned();
        while line.contains('_') {
            line = line.replacen('_', VALUES[rng.below(VALUES.len())], 1);
        }
        text += &line;
        text += "\n";
    }
    text.into_bytes()
}

/// Generates compact JSON lines in which most strings contain other values.
fn links(rng: &mut Rng) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..rng.below(200) {
        let (id, mut part) = (rng.below(1 << 30), rng.below(1 << 30));
        text += &format!("{{\"id\":{id},\"name\":\"n{part}\",\"more\":[");
        for item in 0..rng.below(4) {
            text += if item > 0 { "," } else { "" };
            part += rng.below(2);
            text += &format!("{{\"url\":\"http://x/{id}/n{part}#\"}}");
        }
        text += ["],\"\":{}}\n", "],\"o\":[[],-1.50e+3]}\n", "]}\n", "] }\r\n"][rng.below(4)];
    }
    text.into_bytes()
}

/// Generates an indented JSON document of similar elements, sometimes truncated.
fn document(rng: &mut Rng) -> Vec<u8> {
    let mut text = String::from("{\n  \"all\": [\n");
    for _ in 0..rng.below(150) {
        let (id, at) = (rng.below(1 << 20), rng.below(360));
        text += &format!("    {{\n      \"id\": {id},\n      \"at\": [ {at}.5, -{id}e-2 ],\n");
        text += ["      \"t\": \"x\",\n", "", "\t\"k\" :\"two\nlines\", \n"][rng.below(3)];
        text += &format!("      \"m\": {{\"k{at}\": null, \"é\": true}}\n    }},\n");
    }
    text += ["    {}\n  ]\n}\n", "    []]}", "\"cut"][rng.below(3)];
    text.into_bytes()
}

/// Generates a header and elements of a fixed width, with constant, ascending and random bytes.
fn array(rng: &mut Rng) -> Vec<u8> {
    let (width, count) = (1 + rng.below(36), rng.below(400));
    let kinds: Vec<usize> = (0..width).map(|_| rng.below(3)).collect();
    let mut bytes: Vec<u8> = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
    for at in 0..count {
        for (place, kind) in kinds.iter().enumerate() {
            bytes.push(match kind {
                0 => place as u8,
                1 => (at * (place + 1)) as u8,
                _ => rng.below(256) as u8,
            });
        }
    }
    bytes
}

/// Generates a DICOM file with pixels, sometimes truncated.
fn image(rng: &mut Rng) -> Vec<u8> {
    let (rows, columns) = (1 + rng.below(20), 1 + rng.below(20));
    let (samples, bits, frames) = ([1, 3][rng.below(2)], [8, 16][rng.below(2)], 1 + rng.below(3));
    let mut bytes = vec![0; 128];
    bytes.extend_from_slice(b"DICM");
    let mut element = |group: u16, number: u16, kind: &[u8], value: &[u8]| {
        bytes.extend_from_slice(&group.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(kind);
        match kind.len() {
            2 => bytes.extend_from_slice(&(value.len() as u16).to_le_bytes()),
            _ => bytes.extend_from_slice(&(value.len() as u32).to_le_bytes()),
        }
        bytes.extend_from_slice(value);
    };
    element(2, 0x10, b"UI", b"1.2.840.10008.1.2.1\0");
    for (number, value) in
        [(0x02, samples), (0x06, rng.below(2)), (0x10, rows), (0x11, columns), (0x100, bits)]
    {
        element(0x28, number, b"US", &(value as u16).to_le_bytes());
    }
    element(0x28, 0x08, b"IS", format!("{frames} ").as_bytes());
    let len = (rows * columns * samples * frames * bits / 8 + rng.below(3)).next_multiple_of(2);
    let pixels: Vec<u8> = (0..len).map(|at| (at / 7 + rng.below(3)) as u8).collect();
    element(0x7FE0, 0x10, b"OW\0\0", &pixels);
    bytes.extend((0..rng.below(4)).map(|at| at as u8));
    let cut = if rng.below(4) == 0 { rng.below(bytes.len()) } else { 0 };
    bytes.truncate(bytes.len() - cut);
    bytes
}

/// Generates variant calls, some with odd positions or too few samples.
fn calls(rng: &mut Rng) -> Vec<u8> {
    const ODD: [&str; 6] = ["007", "", "x", "-3", "99999999999999999999", "4611686018427387904"];
    const INFO: [&str; 7] =
        ["AC=#;AF=0.#;DP=#", "AC=#;DP=#", "DP=#;AC=1", "DB;AC=#;AC=2", ".", "", "=;;DB=;AC=-#"];
    let samples = [1, 3, 12, 150, 400][rng.below(5)];
    let (distinct, rare) = ([2, 4, 400][rng.below(3)], 1 + rng.below(12));
    let mut text = String::from("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\n");
    let mut position = 10_000;
    for _ in 0..rng.below(60) {
        position += rng.below(300);
        let position = match rng.below(25) {
            0 => ODD[rng.below(ODD.len())].to_owned(),
            _ => position.to_string(),
        };
        let info = INFO[rng.below(INFO.len())].replace('#', &rng.below(300).to_string());
        let id = [format!("rs{}", rng.below(9000)), ".".to_owned(), "x007".to_owned()];
        let id = &id[rng.below(3).min(rng.below(9))];
        text += &format!("22\t{position}\t{id}\tA\tG\t.\tPASS\t{info}\tGT");
        let rare = if rng.below(5) == 0 { 1 } else { rare };
        for _ in 0..samples - usize::from(rng.below(30) == 0) {
            let cell = if rng.below(rare) == 0 { rng.below(distinct) } else { 0 };
            text += &format!("\t{}|{}", cell / 2, cell % 2);
        }
        text += ["\n", "\n", "\n", "\n", "\r\n", "\n\n"][rng.below(6)];
    }
    text.into_bytes()
}

/// Generates OpenStreetMap XML, in which some elements have an unusual layout.
fn map(rng: &mut Rng) -> Vec<u8> {
    const PLACES: [&str; 8] =
        ["0", "52.5", "-0.0000001", "179.9999999", "-180", "1.50", "-0", "13.12345678"];
    const TIMES: [&str; 4] = [
        "2024-01-02T03:04:06Z",
        "1969-12-31T23:59:59Z",
        "0000-02-29T00:00:00Z",
        "2023-02-29T00:00:00Z",
    ];
    let mut text = String::from("<?xml version='1.0' encoding='UTF-8'?>\n<osm version=\"0.6\">\n");
    for _ in 0..rng.below(80) {
        let kind = rng.below(3);
        let name = ["node", "way", "relation"][kind];
        let id = [rng.below(1 << 40).to_string(), format!("-{}", rng.below(9)), "01".to_owned()]
            [rng.below(3).min(rng.below(12))]
        .clone();
        let time = match rng.below(4) {
            0 => TIMES[rng.below(TIMES.len())].to_owned(),
            _ => format!(
                "20{:02}-{:02}-11T12:{:02}:00Z",
                rng.below(25),
                1 + rng.below(12),
                rng.below(60)
            ),
        };
        text +=
            &format!("  <{name} id=\"{id}\" version=\"{}\" timestamp=\"{time}\"", rng.below(300));
        if kind == 0 {
            let lat = PLACES[rng.below(PLACES.len()).min(rng.below(12))];
            text += &format!(" lat=\"{lat}\" lon=\"13.{:07}\"", 1 + 2 * rng.below(4_999_999));
        }
        let (children, tags) = (rng.below(4) * kind.min(1), rng.below(3));
        if children + tags == 0 {
            text += "/>\n";
            continue;
        }
        text += ">\n";
        for _ in 0..children {
            let reference = rng.below(1 << 34);
            text += &match kind {
                1 => format!("    <nd ref=\"{reference}\"/>\n"),
                _ => format!(
                    "    <member type=\"{}\" ref=\"{reference}\" role=\"{}\"/>\n",
                    ["node", "way", "relation", "area"][rng.below(4).min(rng.below(9))],
                    ["", "outer", "inner"][rng.below(3)],
                ),
            };
        }
        for _ in 0..tags {
            let key = ["name", "highway", "addr:street", "note"][rng.below(4)];
            let value = ["A &amp; B", "", "residential", "Straße"][rng.below(4)];
            text += &format!("    <tag k=\"{key}\" v=\"{value}\"/>\n");
        }
        text += &format!("  </{name}>{}", ["\n", "\n", "\n", " \n"][rng.below(4)]);
    }
    text += ["</osm>\n", "</osm>", ""][rng.below(3)];
    text.into_bytes()
}

/// Generates log lines, some of sshd, some odd.
fn log(rng: &mut Rng) -> Vec<u8> {
    const USERS: [&str; 5] = ["root", "admin", "<*>", "a b", "\u{e9}"];
    let mut text = Vec::new();
    let hosts = rng.below(4);
    for line in 0..rng.below(300) {
        let (time, pid) = (line * 7 % 60, 100 + rng.below(50));
        let head =
            ["", "Dec  9 06:05:", "Dec 10 06:05:", "[2024-05-06 10:00:"][rng.below(4).min(hosts)];
        text.extend_from_slice(format!("{head}{time:02} host sshd[{pid}]: ").as_bytes());
        let (user, number) = (USERS[rng.below(USERS.len())], rng.below(1 << 40));
        text.extend_from_slice(
            match rng.below(7) {
                0 => format!("Invalid user {user} from 10.0.0.{}", number % 256),
                1 => format!("Failed password for {user} from -{number} port 0x{number:x}"),
                2 => format!("block blk_{number} of {} parts", number % 7),
                3 => "no value at all".to_owned(),
                4 => format!("{number}{number}"),
                5 => String::new(),
                _ => format!("{user}\r"),
            }
            .as_bytes(),
        );
        if rng.below(40) == 0 {
            text.extend_from_slice([&b"\0"[..], b"\xff\xfe", b"\t"][rng.below(3)]);
        }
        text.push(b'\n');
    }
    text.truncate(text.len() - rng.below(2).min(text.len()));
    text
}
