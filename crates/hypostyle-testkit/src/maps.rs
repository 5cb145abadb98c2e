//! Maps (OpenStreetMap XML) as the usual tools export them.
//!
//! Nodes lie along ways, which turn little and end where others start; numbers of
//! nodes go up with gaps, versions are small, times are spread over years but come in
//! sessions of one user, and tags have a few common keys and many rare values.

#![expect(clippy::indexing_slicing, reason = "tests panic when a law is broken")]

use std::fmt::Write;

use crate::dice::{Dice, whole};

/// Which attributes elements have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// Number, version and time, in the order of osmium.
    Plain,
    /// Who made it as well, in the order of osmium and of planet files.
    Osmium,
    /// The same in the order of the API and of Overpass, with what is visible.
    Api,
    /// Number and place alone.
    None,
}

/// A map of about so many nodes.
pub fn osm(attributes: Attributes, nodes: usize, seed: u64) -> Vec<u8> {
    let mut map = Map {
        attributes,
        dice: Dice::new(seed),
        text: String::new(),
        session: Session { user: 0, change: 0, time: 0 },
        users: Vec::new(),
        streets: Vec::new(),
    };
    map.write(nodes);
    map.text.into_bytes()
}

/// One sitting of one user, in which neighbours are edited.
#[derive(Clone, Copy, Debug)]
struct Session {
    user: usize,
    change: u64,
    time: i64,
}

#[derive(Debug)]
struct Map {
    attributes: Attributes,
    dice: Dice,
    text: String,
    session: Session,
    users: Vec<(u64, String)>,
    streets: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    id: i64,
    lat: i64,
    lon: i64,
    session: Session,
}

#[derive(Debug)]
struct Way {
    id: i64,
    nodes: Vec<i64>,
    kind: usize,
    session: Session,
}

impl Map {
    fn write(&mut self, nodes: usize) {
        self.users = (0..nodes / 400 + 5)
            .map(|_| (self.dice.any() % 12_000_000, name(&mut self.dice, 2)))
            .collect();
        self.streets = (0..nodes / 60 + 5)
            .map(|_| {
                let name = name(&mut self.dice, 3);
                let kind =
                    *self.dice.pick(&["straße", "weg", " Street", " Road", "gasse", " Lane"]);
                format!("{name}{kind}")
            })
            .collect();
        let (points, ways) = self.shape(nodes);
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

    /// Where everything is, in the order of numbers.
    fn shape(&mut self, nodes: usize) -> (Vec<Node>, Vec<Way>) {
        let mut points: Vec<Node> = Vec::new();
        let mut ways: Vec<Way> = Vec::new();
        // Sessions in the order of time: numbers go up with it.
        let mut id = 172_500_i64;
        let mut way_id = 4_045_000_i64;
        let mut time = 1_140_000_000_i64;
        let years = 500_000_000.0 / (nodes as f64 / 90.0 + 1.0);
        while points.len() < nodes {
            time += i64::from(whole(self.dice.wait(years)));
            id += i64::from(whole(self.dice.wait(9e9 / (nodes as f64 / 90.0 + 1.0))));
            way_id += i64::from(whole(self.dice.wait(1e9 / (nodes as f64 / 90.0 + 1.0))));
            let change = u64::try_from(time - 1_100_000_000).unwrap_or(0) / 4;
            let user = self.dice.rank(self.users.len());
            let mut session = Session { user, change, time };
            let (mut lat, mut lon) = (
                524_300_000 + self.dice.below(1_200_000) as i64,
                133_100_000 + self.dice.below(1_800_000) as i64,
            );
            for _ in 0..=self.dice.rank(30) {
                session.time += i64::from(self.dice.count(20.0));
                let kind = self.dice.rank(KINDS.len());
                let building = KINDS[kind].0 == "building";
                let (mut heading, pace) = (
                    self.dice.share() * std::f64::consts::TAU,
                    if building { 900.0 } else { 2500.0 },
                );
                let mut members = Vec::new();
                let count =
                    if building { 4 + 2 * self.dice.rank(5) } else { 2 + self.dice.rank(40) };
                if !points.is_empty() && !building && self.dice.chance(0.7) {
                    let near = points.len() - 1 - self.dice.rank(points.len().min(3000));
                    let node = points[near];
                    members.push(node.id);
                    (lat, lon) = (node.lat, node.lon);
                } else {
                    lat += whole(self.dice.wait(40_000.0)) as i64 - 20_000;
                    lon += whole(self.dice.wait(60_000.0)) as i64 - 30_000;
                }
                for _ in 0..count {
                    heading += if building {
                        std::f64::consts::FRAC_PI_2
                    } else {
                        self.dice.bell() * 0.25
                    };
                    let pace = self.dice.wait(pace);
                    lat += round(heading.sin() * pace);
                    lon += round(heading.cos() * pace * 1.6);
                    id += 1 + self.dice.rank(40) as i64 / 12;
                    members.push(id);
                    points.push(Node { id, lat, lon, session: self.touched(session) });
                }
                if building {
                    members.push(members[0]);
                }
                way_id += 1 + self.dice.rank(20) as i64 / 6;
                ways.push(Way { id: way_id, nodes: members, kind, session: self.touched(session) });
            }
        }
        (points, ways)
    }

    /// Some elements were edited later, by others.
    fn touched(&mut self, session: Session) -> Session {
        if self.dice.chance(0.8) {
            return session;
        }
        let left = 1_700_000_000 - session.time;
        let time = session.time + round(left as f64 * self.dice.share());
        let change = u64::try_from(time - 1_100_000_000).unwrap_or(0) / 4;
        Session { user: self.dice.rank(self.users.len()), change, time }
    }

    fn head(&mut self, kind: &str, id: i64, session: Session, place: Option<(i64, i64)>) {
        let version =
            if session.change == self.session.change { 1 } else { 1 + self.dice.rank(12) };
        self.session = session;
        let Session { user, change, time } = session;
        let time = stamp(time);
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

    /// A tag of one of these values, the first ones most often.
    fn tag_one(&mut self, key: &str, values: &[&str]) {
        let rank = self.dice.rank(values.len());
        self.tag(key, values[rank]);
    }

    fn node(&mut self, node: &Node) {
        self.head("node", node.id, node.session, Some((node.lat, node.lon)));
        if !self.dice.chance(0.06) {
            self.text += "/>\n";
            return;
        }
        self.text += ">\n";
        match self.dice.below(6) {
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
                let kind = ["restaurant", "cafe", "bench", "bank", "pharmacy"][self.dice.rank(5)];
                self.tag("amenity", kind);
                let name = name(&mut self.dice, 3);
                self.tag("name", &name);
                let (opens, closes) = (7 + self.dice.below(5), 17 + self.dice.below(6));
                self.tag("opening_hours", &format!("Mo-Fr {opens:02}:00-{closes}:00"));
                let phone = format!("+49 30 {}", 1_000_000 + self.dice.below(80_000_000));
                self.tag("phone", &phone);
            }
            _ => self.address(),
        }
        self.end("node");
    }

    fn address(&mut self) {
        let rank = self.dice.rank(self.streets.len());
        let (street, house) = (self.streets[rank].clone(), 1 + self.dice.rank(200));
        self.tag("addr:city", "Berlin");
        self.tag("addr:country", "DE");
        self.tag("addr:housenumber", &house.to_string());
        self.tag("addr:postcode", &(10_115 + rank % 90 * 2).to_string());
        self.tag("addr:street", &street);
    }

    fn way(&mut self, way: &Way) {
        self.head("way", way.id, way.session, None);
        self.text += ">\n";
        for node in &way.nodes {
            self.child(&format!("<nd ref=\"{node}\"/>"));
        }
        let (key, value) = KINDS[way.kind];
        if key == "building" && self.dice.chance(0.5) {
            self.address();
        }
        self.tag(key, value);
        if key == "building" && self.dice.chance(0.3) {
            let levels = 1 + self.dice.rank(8);
            self.tag("building:levels", &levels.to_string());
        }
        if key == "highway" {
            if self.dice.chance(0.6) {
                let rank = self.dice.rank(self.streets.len());
                self.tag("lit", "yes");
                self.tag_one("maxspeed", &["30", "50", "20", "100"]);
                let street = self.streets[rank].clone();
                self.tag("name", &street);
            }
            self.tag_one("surface", &["asphalt", "paving_stones", "gravel", "unpaved"]);
        }
        self.end("way");
    }

    fn relations(&mut self, ways: &[Way]) {
        let mut id = 27_000_i64;
        for _ in 0..ways.len() / 80 + 1 {
            id += i64::from(whole(self.dice.wait(9000.0))) + 1;
            let from = self.dice.below(ways.len());
            self.head("relation", id, ways[from].session, None);
            self.text += ">\n";
            let route = self.dice.chance(0.4);
            for _ in 0..2 + self.dice.rank(60) {
                let near = (from + self.dice.rank(300)).min(ways.len() - 1);
                let (kind, reference) = match self.dice.below(9) {
                    0 => ("node", ways[near].nodes[0]),
                    _ => ("way", ways[near].id),
                };
                let role = match (route, kind) {
                    (true, "node") => "stop",
                    (true, _) => "",
                    _ => ["outer", "inner"][self.dice.rank(2)],
                };
                self.child(&format!(
                    "<member type=\"{kind}\" ref=\"{reference}\" role=\"{role}\"/>"
                ));
            }
            match route {
                true => {
                    let line = (100 + self.dice.below(300)).to_string();
                    self.tag("ref", &line);
                    self.tag("route", "bus");
                    self.tag("type", "route");
                }
                false => self.tag("type", "multipolygon"),
            }
            self.end("relation");
        }
    }
}

const KINDS: [(&str, &str); 12] = [
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

/// A word of so many syllables, or two.
fn name(dice: &mut Dice, syllables: usize) -> String {
    const SYLLABLES: [&str; 24] = [
        "ber", "lin", "an", "der", "stein", "wald", "gar", "ten", "lu", "ise", "kö", "nig", "mar",
        "ia", "schön", "hau", "ser", "tor", "brü", "cke", "ost", "see", "feld", "heim",
    ];
    let word: String = (0..1 + dice.below(syllables)).map(|_| *dice.pick(&SYLLABLES)).collect();
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let word = first + letters.as_str();
    match dice.below(12) {
        0 => format!("{word} &amp; {}", 1 + dice.below(40)),
        1 => format!("{word}_{}", dice.below(100)),
        _ => word,
    }
}

/// A number of 10^-7 degrees in degrees, without zeros at the end.
fn degrees(value: i64) -> String {
    let text = format!("{}.{:07}", value / 10_000_000, value % 10_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn round(value: f64) -> i64 {
    value.round() as i64
}

/// Seconds since 1970 as date and time.
fn stamp(seconds: i64) -> String {
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
