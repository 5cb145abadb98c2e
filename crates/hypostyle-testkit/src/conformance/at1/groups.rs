//! Row groups: qcolumnar, qjson, qjson2 (§6).

use super::Cases;
use crate::build::at1::{
    File, RowGroups, Stream, deltas, lp, stored, sv, xz_block, zoned, zstd_block,
};

/// Encodes the zone of a block of integers.
pub(super) fn int_zone(min: i128, max: i128) -> Vec<u8> {
    [sv(min), sv(max)].concat()
}

fn float_zone(min: f64, max: f64) -> Vec<u8> {
    [min.to_le_bytes(), max.to_le_bytes()].concat()
}

/// A column of each type, in two row groups.
pub(super) fn trades<'a>() -> RowGroups<'a> {
    RowGroups {
        types: &[1, 2, 0],
        group_rows: 2,
        stated: (3, 2),
        blocks: vec![
            zoned(&int_zone(1, 2), zstd_block("1\n2")),
            zoned(&float_zone(-0.25, 1.5), xz_block("1.50\n-0.25")),
            xz_block("Ada\n\"Grace, H.\""),
            zoned(&int_zone(3, 3), zstd_block("3")),
            zoned(&float_zone(9.1, 9.1), zstd_block("9.10")),
            zstd_block(""),
        ],
        ..RowGroups::delimited(1, b",", &[1, 1, 1])
    }
}

pub(super) const TRADES: &[u8] = b"1,1.50,Ada\n2,-0.25,\"Grace, H.\"\n3,9.10,\n";

/// Lines of one template, in one row group.
pub(super) fn people<'a>() -> RowGroups<'a> {
    RowGroups {
        types: &[1, 0],
        blocks: vec![zoned(&int_zone(1, 2), zstd_block("1\n2")), zstd_block("bob\neve")],
        ..RowGroups::template(1, &[1, 1])
    }
}

pub(super) const SEGMENTS: [&str; 3] = [r#"{"id":"#, r#","n":""#, r#""}"#];
pub(super) const PEOPLE: &[u8] = b"{\"id\":1,\"n\":\"bob\"}\n{\"id\":2,\"n\":\"eve\"}\n";

/// [`trades`] with a header line.
fn named<'a>() -> RowGroups<'a> {
    let modes = &[0, 1, 1, 1];
    let head = RowGroups::delimited(1, b",", modes).head;
    RowGroups { head, modes, verbatim: b"id,price,name", ..trades() }
}

/// Returns the streams of a table with two row groups and one text column, with the streams that
/// our writer adds (§6.5). The first group has these texts, the second none.
fn with_additions(table: &RowGroups<'_>, texts: &[&[u8]]) -> Vec<Stream> {
    let (bits, count) = (16, 2);
    let mut filter = 0_u16;
    for text in texts {
        let hash = hash(text);
        for nth in 0..count {
            let bit = ((hash & 0xFFFF_FFFF) + nth * ((hash >> 32) | 1)) % bits;
            filter |= 1 << bit;
        }
    }
    let bounds = [lp(b"Ada"), lp(b"Grace, H"), lp(b""), lp(b"")].concat();
    let index = [vec![3], bounds, vec![2], lp(&filter.to_le_bytes()), lp(b"")].concat();
    let sums = table.blocks.iter().flat_map(|(_, block)| crc32(block).to_le_bytes());
    let mut streams = table.streams("");
    let blocks = streams.len() - 1;
    streams.insert(blocks, Stream::new("hyp.index", &lp(&index)));
    let sums: Vec<u8> = [1].into_iter().chain(sums).collect();
    streams.insert(blocks + 1, Stream::new("hyp.sums", &sums));
    streams
}

/// Computes the hash of the spec: FNV-1a and three mixing steps.
fn hash(text: &[u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for &byte in text {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
    }
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53, 1] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash
}

/// Computes CRC-32 bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
    let byte = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), step);
    !bytes.iter().fold(!0, byte)
}

pub(super) fn add(cases: &mut Cases) {
    let file = |groups: &RowGroups<'_>| File::whole(7, &groups.streams(""));
    let trades_file = file(&trades()).hashed(TRADES);
    cases.good("qcolumnar/integers-decimals-text", &trades_file, TRADES);
    let modes = &[0, 1, 1, 0, 1, 0];
    let mixed = RowGroups {
        head: RowGroups::delimited(1, b",", modes).head,
        modes,
        verbatim: b"id,price,name\n\nend",
        ..trades()
    };
    cases.good("qcolumnar/verbatim-lines-between-groups", &file(&mixed), {
        b"id,price,name\n1,1.50,Ada\n2,-0.25,\"Grace, H.\"\n\n3,9.10,\nend\n"
    });
    let verbatim = RowGroups { verbatim: b"a\nb", ..RowGroups::delimited(0, b",", &[0, 0]) };
    cases.good("qcolumnar/verbatim-lines-alone", &file(&verbatim), b"a\nb");
    let crlf = RowGroups {
        types: &[0, 0],
        blocks: vec![zstd_block("a\n1"), zstd_block("b\r\n2\r")],
        ..RowGroups::delimited(1, b"; ", &[1, 1])
    };
    cases.good("qcolumnar/crlf-and-a-delimiter-of-two-bytes", &file(&crlf), b"a; b\r\n1; 2\r\n");
    let empty = RowGroups {
        types: &[0],
        blocks: vec![zstd_block("")],
        ..RowGroups::delimited(0, b",", &[1])
    };
    cases.good("qcolumnar/empty-original", &file(&empty), b"");
    let bare = RowGroups::delimited(1, b",", &[1, 1]);
    cases.good("qcolumnar/rows-without-columns", &file(&bare), b"\n\n");
    // Decoding ignores zones.
    let lies = RowGroups {
        types: &[1, 2],
        blocks: vec![
            zoned(&int_zone(9, -9), zstd_block("1")),
            zoned(&float_zone(f64::NAN, f64::INFINITY), zstd_block("x")),
        ],
        ..RowGroups::delimited(1, b",", &[1])
    };
    cases.good("qcolumnar/zones-that-say-nothing", &file(&lies), b"1,x\n");
    // Types above 2 are text, without a zone.
    let odd = RowGroups {
        types: &[3, 255],
        blocks: vec![zstd_block("1"), zstd_block("x")],
        ..RowGroups::delimited(1, b",", &[1])
    };
    cases.good("qcolumnar/unknown-types-are-text", &file(&odd), b"1,x\n");

    let original = [b"id,price,name\n", TRADES].concat();
    let added = with_additions(&named(), &[b"Ada", b"Grace, H."]);
    cases.good("qcolumnar/index-of-texts-and-checksums", &File::whole(7, &added), &original);

    let streams = people().template_streams("", &SEGMENTS, &["id", "n"]);
    cases.good("qjson/two-columns", &File::whole(8, &streams).hashed(PEOPLE), PEOPLE);
    let no_columns = RowGroups::template(0, &[1, 1]).template_streams("", &["{}"], &[]);
    cases.good("qjson/no-columns", &File::whole(8, &no_columns), b"{}\n{}");
    add_qjson2(cases);
    // These codecs have no deltas: a block is text, whatever its type.
    let padded = RowGroups {
        types: &[1],
        blocks: vec![zoned(&deltas(&[7, 7]), zstd_block("007"))],
        ..RowGroups::delimited(1, b",", &[1])
    };
    cases.good("qcolumnar/integers-are-text", &file(&padded), b"007\n");
}

fn add_qjson2(cases: &mut Cases) {
    let head = |lines: u8, trailing, templates, map: &[u8], verbatim: &[u8]| {
        stored(&[
            ("meta", &[lines, trailing, templates]),
            ("line_map", map),
            ("verbatim", verbatim),
        ])
    };
    let ids = RowGroups {
        types: &[1],
        blocks: vec![zoned(&int_zone(5, 6), zstd_block("5\n6"))],
        ..RowGroups::template(0, &[1, 1])
    };
    let t0 = people().template_streams("t0:", &SEGMENTS, &["id", "n"]);
    let t1 = ids.template_streams("t1:", &[r#"{"x":"#, "}"], &["x"]);
    let streams = [head(6, 1, 2, &[1, 2, 0, 2, 1, 0], b"# remark\n"), t0, t1].concat();
    let original = b"{\"id\":1,\"n\":\"bob\"}\n{\"x\":5}\n# remark\n{\"x\":6}\n\
        {\"id\":2,\"n\":\"eve\"}\n\n";
    cases.good("qjson2/two-templates", &File::whole(11, &streams).hashed(original), original);
    let none = head(0, 1, 0, b"", b"");
    cases.good("qjson2/no-lines-and-no-newline", &File::whole(11, &none), b"");
    let verbatim = head(2, 0, 0, &[0, 0], b"a\nb");
    cases.good("qjson2/no-templates", &File::whole(11, &verbatim), b"a\nb");
    // Unreferenced lines, in a stream set that has verbatim lines.
    let own = RowGroups { verbatim: b"v", ..RowGroups::template(1, &[1, 0, 1]) };
    let own = own.template_streams("t0:", &["{}"], &[]);
    let streams = [head(2, 1, 1, &[1, 1], b""), own].concat();
    cases.good("qjson2/verbatim-lines-of-a-template", &File::whole(11, &streams), b"{}\nv\n");
    let surplus = [
        head(1, 1, 1, &[1], b""),
        people().template_streams("t0:", &SEGMENTS, &["id", "n"]),
        vec![Stream::new("t1:meta", b"not looked at")],
    ];
    let file = File::whole(11, &surplus.concat());
    cases.good("qjson2/lines-that-nothing-asks-for", &file, b"{\"id\":1,\"n\":\"bob\"}\n");
}
