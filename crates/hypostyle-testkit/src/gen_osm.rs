//! Generates OpenStreetMap XML the way the usual tools export it.
//!
//! Nodes lie along ways, which bend gently and often start at a node of another way. OsmNode IDs
//! ascend with gaps, versions are small, timestamps span years but cluster in editing sessions of
//! one user, and tags have a few common keys and many rare values.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use std::fmt::Write;

use crate::rng::{Rng, truncate};

/// The attributes of elements and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// ID, version and timestamp, in osmium's order.
    Plain,
    /// Those of `Plain` with user and changeset, in the order of osmium and planet files.
    Osmium,
    /// Those of `Osmium` with `visible`, in the order of the OSM API and Overpass.
    Api,
    /// ID and coordinates only.
    None,
}

/// Generates a map of at least `nodes` nodes.
pub fn osm(attributes: Attributes, nodes: usize, seed: u64) -> Vec<u8> {
    let mut generator = OsmGenerator {
        attributes,
        rng: Rng::new(seed),
        text: String::new(),
        session: Session { user: 0, change: 0, time: 0 },
        users: Vec::new(),
        streets: Vec::new(),
    };
    generator.write(nodes);
    generator.text.into_bytes()
}

/// An editing session: one user edits neighbouring elements in one changeset.
#[derive(Clone, Copy, Debug)]
struct Session {
    user: usize,
    change: u64,
    time: i64,
}

#[derive(Debug)]
struct OsmGenerator {
    attributes: Attributes,
    rng: Rng,
    text: String,
    session: Session,
    users: Vec<(u64, String)>,
    streets: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct OsmNode {
    id: i64,
    lat: i64,
    lon: i64,
    session: Session,
}

#[derive(Debug)]
struct OsmWay {
    id: i64,
    nodes: Vec<i64>,
    kind: usize,
    session: Session,
}

impl OsmGenerator {
    fn write(&mut self, nodes: usize) {
        self.users = (0..nodes / 400 + 5)
            .map(|_| (self.rng.next_u64() % 12_000_000, name(&mut self.rng, 2)))
            .collect();
        self.streets = (0..nodes / 60 + 5)
            .map(|_| {
                let name = name(&mut self.rng, 3);
                let kind =
                    *self.rng.choose(&["straße", "weg", " Street", " Road", "gasse", " Lane"]);
                format!("{name}{kind}")
            })
            .collect();
        let (points, ways) = self.elements(nodes);
        self.text += "<?xml version='1.0' encoding='UTF-8'?>\n";
        self.text += "<osm version=\"0.6\" generator=\"osmium/1.14.0\">\n";
        self.text +=
            "  <bounds minlat=\"52.43\" minlon=\"13.31\" maxlat=\"52.55\" maxlon=\"13.49\"/>\n";
        for node in &points {
            self.node(node);
        }
        for way in &ways {
            self.way(way);
        }
        self.relations(&ways);
        self.text += "</osm>\n";
    }

    /// Generates nodes and ways, both in the order of their IDs.
    fn elements(&mut self, nodes: usize) -> (Vec<OsmNode>, Vec<OsmWay>) {
        let mut points: Vec<OsmNode> = Vec::new();
        let mut ways: Vec<OsmWay> = Vec::new();
        // Sessions are in chronological order, so IDs ascend with time.
        let mut id = 172_500_i64;
        let mut way_id = 4_045_000_i64;
        let mut time = 1_140_000_000_i64;
        let years = 500_000_000.0 / (nodes as f64 / 90.0 + 1.0);
        while points.len() < nodes {
            time += i64::from(truncate(self.rng.exponential(years)));
            id += i64::from(truncate(self.rng.exponential(9e9 / (nodes as f64 / 90.0 + 1.0))));
            way_id += i64::from(truncate(self.rng.exponential(1e9 / (nodes as f64 / 90.0 + 1.0))));
            let change = u64::try_from(time - 1_100_000_000).unwrap_or(0) / 4;
            let user = self.rng.log_uniform(self.users.len());
            let mut session = Session { user, change, time };
            let (mut lat, mut lon) = (
                524_300_000 + self.rng.below(1_200_000) as i64,
                133_100_000 + self.rng.below(1_800_000) as i64,
            );
            for _ in 0..=self.rng.log_uniform(30) {
                session.time += i64::from(self.rng.poisson(20.0));
                let kind = self.rng.log_uniform(WAY_KINDS.len());
                let building = WAY_KINDS[kind].0 == "building";
                let (mut heading, pace) = (
                    self.rng.fraction() * std::f64::consts::TAU,
                    if building { 900.0 } else { 2500.0 },
                );
                let mut members = Vec::new();
                let count = if building {
                    4 + 2 * self.rng.log_uniform(5)
                } else {
                    2 + self.rng.log_uniform(40)
                };
                if !points.is_empty() && !building && self.rng.chance(0.7) {
                    let near = points.len() - 1 - self.rng.log_uniform(points.len().min(3000));
                    let node = points[near];
                    members.push(node.id);
                    (lat, lon) = (node.lat, node.lon);
                } else {
                    lat += truncate(self.rng.exponential(40_000.0)) as i64 - 20_000;
                    lon += truncate(self.rng.exponential(60_000.0)) as i64 - 30_000;
                }
                for _ in 0..count {
                    heading += if building {
                        std::f64::consts::FRAC_PI_2
                    } else {
                        self.rng.normal() * 0.25
                    };
                    let pace = self.rng.exponential(pace);
                    lat += round(heading.sin() * pace);
                    lon += round(heading.cos() * pace * 1.6);
                    id += 1 + self.rng.log_uniform(40) as i64 / 12;
                    members.push(id);
                    points.push(OsmNode { id, lat, lon, session: self.last_edit(session) });
                }
                if building {
                    members.push(members[0]);
                }
                way_id += 1 + self.rng.log_uniform(20) as i64 / 6;
                ways.push(OsmWay {
                    id: way_id,
                    nodes: members,
                    kind,
                    session: self.last_edit(session),
                });
            }
        }
        (points, ways)
    }

    /// Returns the session of an element's last edit: some were edited later, by other users.
    fn last_edit(&mut self, session: Session) -> Session {
        if self.rng.chance(0.8) {
            return session;
        }
        let left = 1_700_000_000 - session.time;
        let time = session.time + round(left as f64 * self.rng.fraction());
        let change = u64::try_from(time - 1_100_000_000).unwrap_or(0) / 4;
        Session { user: self.rng.log_uniform(self.users.len()), change, time }
    }

    fn head(&mut self, kind: &str, id: i64, session: Session, place: Option<(i64, i64)>) {
        let version =
            if session.change == self.session.change { 1 } else { 1 + self.rng.log_uniform(12) };
        self.session = session;
        let Session { user, change, time } = session;
        let time = timestamp(time);
        let (uid, user) = self.users[user].clone();
        let place = place.map_or(String::new(), |(lat, lon)| {
            format!(" lat=\"{}\" lon=\"{}\"", degrees(lat), degrees(lon))
        });
        let _ = match self.attributes {
            Attributes::Plain => {
                write!(
                    self.text,
                    "  <{kind} id=\"{id}\" version=\"{version}\" timestamp=\"{time}\"{place}"
                )
            }
            Attributes::Osmium => write!(
                self.text,
                "  <{kind} id=\"{id}\" version=\"{version}\" timestamp=\"{time}\" uid=\"{uid}\" user=\"{user}\" changeset=\"{change}\"{place}"
            ),
            Attributes::Api => write!(
                self.text,
                " <{kind} id=\"{id}\" visible=\"true\" version=\"{version}\" changeset=\"{change}\" timestamp=\"{time}\" user=\"{user}\" uid=\"{uid}\"{place}"
            ),
            Attributes::None => write!(self.text, "  <{kind} id=\"{id}\"{place}"),
        };
    }

    fn child(&mut self, text: &str) {
        self.text += if self.attributes == Attributes::Api { "  " } else { "    " };
        self.text += text;
        self.text.push('\n');
    }

    fn end(&mut self, kind: &str) {
        self.text += if self.attributes == Attributes::Api { " </" } else { "  </" };
        self.text += kind;
        self.text += ">\n";
    }

    fn tag(&mut self, key: &str, value: &str) {
        self.child(&format!("<tag k=\"{key}\" v=\"{value}\"/>"));
    }

    /// Writes a tag with one of these values; earlier values are more common.
    fn tag_one(&mut self, key: &str, values: &[&str]) {
        let rank = self.rng.log_uniform(values.len());
        self.tag(key, values[rank]);
    }

    fn node(&mut self, node: &OsmNode) {
        self.head("node", node.id, node.session, Some((node.lat, node.lon)));
        if !self.rng.chance(0.06) {
            self.text += "/>\n";
            return;
        }
        self.text += ">\n";
        match self.rng.below(6) {
            0 => self.tag("highway", "crossing"),
            1 => {
                self.tag("highway", "traffic_signals");
            }
            2 => {
                self.tag_one("barrier", &["gate", "bollard", "lift_gate"]);
                self.tag("access", "private");
            }
            3 => {
                self.tag("natural", "tree");
                self.tag("leaf_type", "broadleaved");
            }
            4 => {
                let kind =
                    ["restaurant", "cafe", "bench", "bank", "pharmacy"][self.rng.log_uniform(5)];
                self.tag("amenity", kind);
                let name = name(&mut self.rng, 3);
                self.tag("name", &name);
                let (opens, closes) = (7 + self.rng.below(5), 17 + self.rng.below(6));
                self.tag("opening_hours", &format!("Mo-Fr {opens:02}:00-{closes}:00"));
                let phone = format!("+49 30 {}", 1_000_000 + self.rng.below(80_000_000));
                self.tag("phone", &phone);
            }
            _ => self.address(),
        }
        self.end("node");
    }

    fn address(&mut self) {
        let rank = self.rng.log_uniform(self.streets.len());
        let (street, house) = (self.streets[rank].clone(), 1 + self.rng.log_uniform(200));
        self.tag("addr:city", "Berlin");
        self.tag("addr:country", "DE");
        self.tag("addr:housenumber", &house.to_string());
        self.tag("addr:postcode", &(10_115 + rank % 90 * 2).to_string());
        self.tag("addr:street", &street);
    }

    fn way(&mut self, way: &OsmWay) {
        self.head("way", way.id, way.session, None);
        self.text += ">\n";
        for node in &way.nodes {
            self.child(&format!("<nd ref=\"{node}\"/>"));
        }
        let (key, value) = WAY_KINDS[way.kind];
        if key == "building" && self.rng.chance(0.5) {
            self.address();
        }
        self.tag(key, value);
        if key == "building" && self.rng.chance(0.3) {
            let levels = 1 + self.rng.log_uniform(8);
            self.tag("building:levels", &levels.to_string());
        }
        if key == "highway" {
            if self.rng.chance(0.6) {
                let rank = self.rng.log_uniform(self.streets.len());
                self.tag("lit", "yes");
                self.tag_one("maxspeed", &["30", "50", "20", "100"]);
                let street = self.streets[rank].clone();
                self.tag("name", &street);
            }
            self.tag_one("surface", &["asphalt", "paving_stones", "gravel", "unpaved"]);
        }
        self.end("way");
    }

    fn relations(&mut self, ways: &[OsmWay]) {
        let mut id = 27_000_i64;
        for _ in 0..ways.len() / 80 + 1 {
            id += i64::from(truncate(self.rng.exponential(9000.0))) + 1;
            let from = self.rng.below(ways.len());
            self.head("relation", id, ways[from].session, None);
            self.text += ">\n";
            let route = self.rng.chance(0.4);
            for _ in 0..2 + self.rng.log_uniform(60) {
                let near = (from + self.rng.log_uniform(300)).min(ways.len() - 1);
                let (kind, reference) = match self.rng.below(9) {
                    0 => ("node", ways[near].nodes[0]),
                    _ => ("way", ways[near].id),
                };
                let role = match (route, kind) {
                    (true, "node") => "stop",
                    (true, _) => "",
                    _ => ["outer", "inner"][self.rng.log_uniform(2)],
                };
                self.child(&format!(
                    "<member type=\"{kind}\" ref=\"{reference}\" role=\"{role}\"/>"
                ));
            }
            if route {
                let line = (100 + self.rng.below(300)).to_string();
                self.tag("ref", &line);
                self.tag("route", "bus");
                self.tag("type", "route");
            } else {
                self.tag("type", "multipolygon");
            }
            self.end("relation");
        }
    }
}

const WAY_KINDS: [(&str, &str); 12] = [
    ("building", "yes"),
    ("highway", "residential"),
    ("highway", "footway"),
    ("highway", "service"),
    ("building", "apartments"),
    ("highway", "path"),
    ("landuse", "grass"),
    ("barrier", "fence"),
    ("highway", "secondary"),
    ("waterway", "stream"),
    ("natural", "water"),
    ("railway", "rail"),
];

/// Generates a name of one to `syllables` syllables, sometimes with a number appended.
fn name(rng: &mut Rng, syllables: usize) -> String {
    const SYLLABLES: [&str; 24] = [
        "ber", "lin", "an", "der", "stein", "wald", "gar", "ten", "lu", "ise", "kö", "nig", "mar",
        "ia", "schön", "hau", "ser", "tor", "brü", "cke", "ost", "see", "feld", "heim",
    ];
    let word: String = (0..1 + rng.below(syllables)).map(|_| *rng.choose(&SYLLABLES)).collect();
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let word = first + letters.as_str();
    match rng.below(12) {
        0 => format!("{word} &amp; {}", 1 + rng.below(40)),
        1 => format!("{word}_{}", rng.below(100)),
        _ => word,
    }
}

/// Formats a number of 10^-7 degrees in degrees, without trailing zeros.
fn degrees(value: i64) -> String {
    let text = format!("{}.{:07}", value / 10_000_000, value % 10_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn round(value: f64) -> i64 {
    value.round() as i64
}

/// Formats seconds since 1970 as an ISO 8601 timestamp.
fn timestamp(seconds: i64) -> String {
    let (mut day, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    while day >= 365 + i64::from(leap(year)) {
        day -= 365 + i64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for days in [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{:02}Z", day + 1, second % 60)
}
