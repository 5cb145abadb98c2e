//! osm: OpenStreetMap XML in its usual layout (§7.5).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | trailing u8 |
//! | `opcodes` | a byte per item: 0 verbatim, 1 node, 2 way, else relation |
//! | `verbatim` | lp per verbatim item |
//! | `tag_keys`, `roles` | strings uv, then each, ended by byte 0 |
//! | `n_id`, `w_id`, `r_id` | differences sv |
//! | `n_ver`, `w_ver`, `r_ver` | uv |
//! | `n_ts`, `w_ts`, `r_ts` | differences sv, Unix seconds |
//! | `n_lat`, `n_lon` | differences sv, 10^-7 degrees |
//! | `w_ndcnt`, `w_ndref` | nodes uv per way; differences sv for each, from way to way |
//! | `r_memcnt` | members uv per relation, and for each of them: |
//! | `r_memtype`, `r_memref`, `r_memrole` | uv; differences sv, from relation to relation; role uv |
//! | `n_tagcnt`, `w_tagcnt`, `r_tagcnt` | tags uv per element, and for each of them: |
//! | `n_tagkey`, `n_tagval`, ... | key uv; lp |

#![deny(clippy::arithmetic_side_effects)]

use memchr::memchr;

use super::context::DecodeContext;
use super::deltas::{Deltas, decimal, digits};
use super::entry::CodecEntry;
use super::line_flags::{Joiner, pick, trailing};
use crate::output::Output;
use crate::streams::{StreamCursor, Streams};
use hypostyle_core::error::Result;

const STREAMS: [&str; 31] = [
    "meta",
    "opcodes",
    "verbatim",
    "tag_keys",
    "roles",
    "n_id",
    "n_ver",
    "n_ts",
    "n_lat",
    "n_lon",
    "n_tagcnt",
    "n_tagkey",
    "n_tagval",
    "w_id",
    "w_ver",
    "w_ts",
    "w_ndcnt",
    "w_ndref",
    "w_tagcnt",
    "w_tagkey",
    "w_tagval",
    "r_id",
    "r_ver",
    "r_ts",
    "r_memcnt",
    "r_memtype",
    "r_memref",
    "r_memrole",
    "r_tagcnt",
    "r_tagkey",
    "r_tagval",
];

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the items of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let trailing = trailing(streams.read("meta").u8("trailing")?, true, context)?;
    for name in ["tag_keys", "roles"] {
        let count = memchr::memchr_iter(0, streams.bytes(name)).count();
        streams.charge::<&[u8]>(count, "strings")?;
    }
    let keys = strings(streams.read("tag_keys"), "tag key")?;
    let roles = strings(streams.read("roles"), "role")?;
    let mut verbatim = streams.read("verbatim");
    let mut nodes = Nodes::new(&streams);
    let mut ways = Ways::new(&streams);
    let mut relations = Relations::new(&streams);
    let mut joiner = Joiner::default();
    for &opcode in streams.bytes("opcodes") {
        joiner.next(out)?;
        match opcode {
            0 => out.put(verbatim.lp("verbatim block")?)?,
            1 => nodes.put(&keys, context, out)?,
            2 => ways.put(&keys, context, out)?,
            _ => relations.put(&keys, &roles, context, out)?,
        }
    }
    if trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

#[derive(Debug)]
struct Nodes<'a> {
    head: Head<'a>,
    lat: Deltas<'a>,
    lon: Deltas<'a>,
    tags: Tags<'a>,
}

impl<'a> Nodes<'a> {
    fn new(streams: &'a Streams) -> Self {
        Self {
            head: Head::new(streams, ["n_id", "n_ver", "n_ts"]),
            lat: Deltas::new(streams, "n_lat"),
            lon: Deltas::new(streams, "n_lon"),
            tags: Tags::new(streams, ["n_tagcnt", "n_tagkey", "n_tagval"]),
        }
    }

    fn put(
        &mut self,
        keys: &[&[u8]],
        context: &DecodeContext<'_>,
        out: &mut Output<'_>,
    ) -> Result<()> {
        self.head.put(b"  <node id=\"", context, out)?;
        out.put(b"\" lat=\"")?;
        coordinate(self.lat.next("latitude", context)?, out.buffer());
        out.put(b"\" lon=\"")?;
        coordinate(self.lon.next("longitude", context)?, out.buffer());
        let tags = self.tags.count()?;
        if tags == 0 {
            return out.put(b"\"/>");
        }
        out.put(b"\">")?;
        self.tags.put(tags, keys, out)?;
        out.put(b"\n  </node>")
    }
}

#[derive(Debug)]
struct Ways<'a> {
    head: Head<'a>,
    counts: StreamCursor<'a>,
    nodes: Deltas<'a>,
    tags: Tags<'a>,
}

impl<'a> Ways<'a> {
    fn new(streams: &'a Streams) -> Self {
        Self {
            head: Head::new(streams, ["w_id", "w_ver", "w_ts"]),
            counts: streams.read("w_ndcnt"),
            nodes: Deltas::new(streams, "w_ndref"),
            tags: Tags::new(streams, ["w_tagcnt", "w_tagkey", "w_tagval"]),
        }
    }

    fn put(
        &mut self,
        keys: &[&[u8]],
        context: &DecodeContext<'_>,
        out: &mut Output<'_>,
    ) -> Result<()> {
        self.head.put(b"  <way id=\"", context, out)?;
        let nodes = self.counts.uv("node count")?;
        let tags = self.tags.count()?;
        if nodes == 0 && tags == 0 {
            return out.put(b"\"/>");
        }
        out.put(b"\">")?;
        for _ in 0..nodes {
            out.put(b"\n    <nd ref=\"")?;
            decimal(self.nodes.next("node reference", context)?, out.buffer());
            out.put(b"\"/>")?;
        }
        self.tags.put(tags, keys, out)?;
        out.put(b"\n  </way>")
    }
}

#[derive(Debug)]
struct Relations<'a> {
    head: Head<'a>,
    counts: StreamCursor<'a>,
    member_types: StreamCursor<'a>,
    members: Deltas<'a>,
    roles: StreamCursor<'a>,
    tags: Tags<'a>,
}

impl<'a> Relations<'a> {
    fn new(streams: &'a Streams) -> Self {
        Self {
            head: Head::new(streams, ["r_id", "r_ver", "r_ts"]),
            counts: streams.read("r_memcnt"),
            member_types: streams.read("r_memtype"),
            members: Deltas::new(streams, "r_memref"),
            roles: streams.read("r_memrole"),
            tags: Tags::new(streams, ["r_tagcnt", "r_tagkey", "r_tagval"]),
        }
    }

    fn put(
        &mut self,
        keys: &[&[u8]],
        roles: &[&[u8]],
        context: &DecodeContext<'_>,
        out: &mut Output<'_>,
    ) -> Result<()> {
        const MEMBER_TYPES: [&[u8]; 3] = [b"node", b"way", b"relation"];
        self.head.put(b"  <relation id=\"", context, out)?;
        let members = self.counts.uv("member count")?;
        let tags = self.tags.count()?;
        if members == 0 && tags == 0 {
            return out.put(b"\"/>");
        }
        out.put(b"\">")?;
        for _ in 0..members {
            out.put(b"\n    <member type=\"")?;
            out.put(pick(&mut self.member_types, &MEMBER_TYPES, "member type")?)?;
            out.put(b"\" ref=\"")?;
            decimal(self.members.next("member reference", context)?, out.buffer());
            out.put(b"\" role=\"")?;
            out.put(pick(&mut self.roles, roles, "role")?)?;
            out.put(b"\"/>")?;
        }
        self.tags.put(tags, keys, out)?;
        out.put(b"\n  </relation>")
    }
}

/// The attributes that every element has.
#[derive(Debug)]
struct Head<'a> {
    ids: Deltas<'a>,
    versions: StreamCursor<'a>,
    times: Deltas<'a>,
}

impl<'a> Head<'a> {
    fn new(streams: &'a Streams, [id, version, time]: [&'static str; 3]) -> Self {
        Self {
            ids: Deltas::new(streams, id),
            versions: streams.read(version),
            times: Deltas::new(streams, time),
        }
    }

    /// Writes the element up to its timestamp, without the closing quote.
    fn put(
        &mut self,
        start: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Output<'_>,
    ) -> Result<()> {
        out.put(start)?;
        decimal(self.ids.next("id", context)?, out.buffer());
        out.put(b"\" version=\"")?;
        decimal(i128::from(self.versions.uv("version")?), out.buffer());
        out.put(b"\" timestamp=\"")?;
        let seconds = self.times.next("timestamp", context)?;
        if !timestamp(seconds, out.buffer()) {
            let why = format!("{seconds} is outside the years 0000 to 9999");
            return Err(self.times.malformed("timestamp", why));
        }
        Ok(())
    }
}

/// The tags of nodes, ways or relations.
#[derive(Debug)]
struct Tags<'a> {
    counts: StreamCursor<'a>,
    keys: StreamCursor<'a>,
    values: StreamCursor<'a>,
}

impl<'a> Tags<'a> {
    fn new(streams: &'a Streams, [count, key, value]: [&'static str; 3]) -> Self {
        Self { counts: streams.read(count), keys: streams.read(key), values: streams.read(value) }
    }

    /// Returns the number of tags of the next element.
    fn count(&mut self) -> Result<u64> {
        self.counts.uv("tag count")
    }

    fn put(&mut self, count: u64, keys: &[&[u8]], out: &mut Output<'_>) -> Result<()> {
        for _ in 0..count {
            out.put(b"\n    <tag k=\"")?;
            out.put(pick(&mut self.keys, keys, "tag key")?)?;
            out.put(b"\" v=\"")?;
            out.put(self.values.lp("tag value")?)?;
            out.put(b"\"/>")?;
        }
        Ok(())
    }
}

/// Reads a list of strings, each of which ends with a byte 0.
fn strings<'a>(mut stream: StreamCursor<'a>, what: &'static str) -> Result<Vec<&'a [u8]>> {
    let count = stream.count(1, "string count")?;
    let mut strings = Vec::new();
    for _ in 0..count {
        let Some(len) = memchr(0, stream.clone().rest()) else {
            return Err(stream.malformed(what, "has no byte 0 at its end"));
        };
        strings.push(stream.take(len, what)?);
        stream.u8(what)?;
    }
    Ok(strings)
}

/// Appends `YYYY-MM-DDTHH:MM:SSZ`; returns `false` if the year does not have four digits.
fn timestamp(seconds: i128, out: &mut Vec<u8>) -> bool {
    const DAY: i64 = 86_400;
    /// The seconds from the start of year 0 to the end of year 9999.
    const YEARS: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;
    let Some(seconds) = i64::try_from(seconds).ok().filter(|seconds| YEARS.contains(seconds))
    else {
        return false;
    };
    let second = seconds.rem_euclid(DAY);
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let mut put = |value: i64, width: usize, after: u8| {
        digits(u128::from(value.unsigned_abs()), width, out);
        out.push(after);
    };
    put(year, 4, b'-');
    put(month, 2, b'-');
    put(day, 2, b'T');
    put(second / 3600, 2, b':');
    put(second / 60 % 60, 2, b':');
    put(second % 60, 2, b'Z');
    true
}

/// Returns year, month and day of a day in the years 0 to 9999, counted from 1970.
#[expect(clippy::arithmetic_side_effects, reason = "days lie in the range of 10,000 years")]
fn date(day: i64) -> (i64, i64, i64) {
    /// Days from the first of March of year 0 to the start of 1970.
    const EPOCH: i64 = 719_468;
    /// Days in 400 years, after which the calendar repeats.
    const ERA: i64 = 146_097;
    // Years start in March here, so that a leap day is the last day of its year.
    let day = day + EPOCH;
    let (era, day) = (day.div_euclid(ERA), day.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let january = i64::from(month >= 10);
    (era * 400 + year + january, month + 3 - 12 * january, of_month)
}

/// Appends a number of 10^-7 degrees in degrees, without trailing zeros.
fn coordinate(value: i128, out: &mut Vec<u8>) {
    const ONE: u128 = 10_000_000;
    if value < 0 {
        out.push(b'-');
    }
    let value = value.unsigned_abs();
    digits(value / ONE, 1, out);
    let fraction = value % ONE;
    if fraction != 0 {
        out.push(b'.');
        digits(fraction, 7, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn timestamps_have_four_digits_of_year() {
        let stamp = |seconds| text(|out| assert_eq!(timestamp(seconds, out), !out.is_empty()));
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_704_164_646, "2024-01-02T03:04:06Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z"),
            (-62_162_121_600, "0000-02-29T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (-62_167_219_201, ""),
            (253_402_300_800, ""),
            (i128::MAX, ""),
            (i128::MIN, ""),
        ] {
            assert_eq!(stamp(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn every_day_of_ten_thousand_years_follows_the_one_before() {
        let (mut year, mut month, mut of_month) = (0, 1, 1);
        for day in -719_528..2_932_897 {
            assert_eq!(date(day), (year, month, of_month), "day {day}");
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            of_month += 1;
            if of_month > last {
                (month, of_month) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!(year, 10_000);
    }

    #[test]
    fn coordinates_end_without_zeros() {
        for (value, expected) in [
            (0, "0"),
            (525_000_000, "52.5"),
            (134_050_001, "13.4050001"),
            (-1, "-0.0000001"),
            (-1_800_000_000, "-180"),
            (10, "0.000001"),
            (i128::MIN, "-17014118346046923173168730371588.4105728"),
        ] {
            assert_eq!(text(|out| coordinate(value, out)), expected);
        }
    }
}
