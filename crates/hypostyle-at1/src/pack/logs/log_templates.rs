//! Lines of a log into templates and what fills their holes.
//!
//! Nothing is known of the log. What has digits in it is taken for a value, all else
//! for the words of the message; lines with the same words in the same places have
//! one template. Lines that are alike but for a few words share one as well: there
//! those words are values too.

use hashbrown::HashMap;

/// A template that fewer lines have is none.
const LEAST: u32 = 10;

/// A template that fewer lines have is tried together with others.
const RARE: u32 = 16;

/// Words that a line may have for it to be compared with others.
const WORDS: usize = 200;

/// Templates that one is compared with.
const COMPARED: usize = 40;

/// A run of letters and digits with so many runs of digits is one value.
const MIXED: usize = 3;

/// The shortest run of hexadecimal digits and letters that is one value.
const HEX: usize = 4;

/// What lines have in common.
#[derive(Clone, Debug)]
pub(in crate::pack) struct Template {
    /// The text between the holes: one more than there are holes.
    pub(in crate::pack) parts: Vec<Vec<u8>>,
    /// Words that are holes, whatever they are.
    wild: Vec<usize>,
}

/// The templates of a text.
#[derive(Debug)]
pub(in crate::pack) struct Mined {
    pub(in crate::pack) templates: Vec<Template>,
    /// For each line its template.
    pub(in crate::pack) ids: Vec<Option<u32>>,
}

/// Where a hole is in a line.
pub(in crate::pack) type Hole = (usize, usize);

/// The same text but for values, and how often it is there.
struct Shape<'a> {
    example: &'a [u8],
    lines: u32,
    template: Option<u32>,
}

impl Mined {
    /// Finds the templates of some lines. A line with a NUL has none.
    pub(in crate::pack) fn new<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut shapes: Vec<Shape<'a>> = Vec::new();
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut of_lines = Vec::new();
        let (mut holes, mut skeleton) = (Vec::new(), Vec::new());
        for line in lines {
            if memchr::memchr(0, line).is_some() {
                of_lines.push(None);
                continue;
            }
            values(line, &mut holes);
            skeleton.clear();
            let mut start = 0;
            for &(from, to) in &holes {
                skeleton.extend_from_slice(line.get(start..from).unwrap_or_default());
                skeleton.push(0);
                start = to;
            }
            skeleton.extend_from_slice(line.get(start..).unwrap_or_default());
            let shape = match known.get(&skeleton) {
                Some(&shape) => shape,
                None => {
                    let shape = u32::try_from(shapes.len()).unwrap_or(u32::MAX);
                    known.insert(skeleton.clone(), shape);
                    shapes.push(Shape { example: line, lines: 0, template: None });
                    shape
                }
            };
            of_lines.push(Some(shape));
            if let Some(shape) = shapes.get_mut(shape as usize) {
                shape.lines += 1;
            }
        }
        let templates = templates(&mut shapes);
        let template = |shape: u32| shapes.get(shape as usize)?.template;
        let ids = of_lines.into_iter().map(|shape| shape.and_then(template)).collect();
        Self { templates, ids }
    }
}

impl Template {
    /// The holes of a line that has this template.
    pub(in crate::pack) fn holes(&self, line: &[u8], out: &mut Vec<Hole>) {
        values(line, out);
        if self.wild.is_empty() {
            return;
        }
        let values = std::mem::take(out);
        let mut values = values.into_iter().peekable();
        let mut wild = self.wild.iter().peekable();
        for (index, (from, to)) in words(line).enumerate() {
            let is_wild = wild.next_if(|&&wild| wild == index).is_some();
            while let Some(value) = values.next_if(|value| value.0 < to) {
                if !is_wild {
                    out.push(value);
                }
            }
            if is_wild {
                out.push((from, to));
            }
        }
    }

    fn new(example: &[u8], wild: Vec<usize>) -> Self {
        let mut template = Self { parts: Vec::new(), wild };
        let mut holes = Vec::new();
        template.holes(example, &mut holes);
        let mut start = 0;
        for (from, to) in holes {
            template.parts.push(example.get(start..from).unwrap_or_default().to_vec());
            start = to;
        }
        template.parts.push(example.get(start..).unwrap_or_default().to_vec());
        template
    }
}

/// The templates of some shapes: of those that are frequent one each, of those that
/// are rare one for several that are alike.
fn templates(shapes: &mut [Shape<'_>]) -> Vec<Template> {
    let mut templates = Vec::new();
    let mut alike: Vec<Alike<'_>> = Vec::new();
    // Templates with as many words and the same first one.
    let mut near: HashMap<(usize, &[u8]), Vec<usize>> = HashMap::new();
    let mut waiting: Vec<(usize, usize)> = Vec::new();
    for (index, shape) in shapes.iter_mut().enumerate() {
        if shape.lines >= RARE {
            shape.template = Some(number(templates.len()));
            templates.push(Template::new(shape.example, Vec::new()));
            continue;
        }
        let words: Vec<&[u8]> = words(shape.example)
            .map(|(from, to)| shape.example.get(from..to).unwrap_or_default())
            .take(WORDS + 1)
            .collect();
        if words.len() > WORDS {
            continue;
        }
        let places = near.entry((words.len(), key(&words))).or_default();
        let found = places.iter().rev().take(COMPARED).copied();
        let found =
            found.filter_map(|place| Some((alike.get(place)?.differences(&words)?, place))).min();
        let place = match found {
            Some((_, place)) => place,
            None => {
                places.push(alike.len());
                let (lines, wild) = (0, vec![false; words.len()]);
                alike.push(Alike { example: shape.example, words: words.clone(), wild, lines });
                alike.len() - 1
            }
        };
        if let Some(alike) = alike.get_mut(place) {
            alike.add(&words, shape.lines);
        }
        waiting.push((index, place));
    }
    let mut numbers: Vec<Option<u32>> = Vec::new();
    for alike in alike {
        let wild = alike.wild.iter().enumerate().filter(|&(_, &wild)| wild).map(|(at, _)| at);
        numbers.push((alike.lines >= LEAST).then(|| number(templates.len())));
        if alike.lines >= LEAST {
            templates.push(Template::new(alike.example, wild.collect()));
        }
    }
    for (shape, place) in waiting {
        if let Some(shape) = shapes.get_mut(shape) {
            shape.template = numbers.get(place).copied().flatten();
        }
    }
    templates
}

/// Shapes that differ in some words.
struct Alike<'a> {
    example: &'a [u8],
    words: Vec<&'a [u8]>,
    wild: Vec<bool>,
    lines: u32,
}

impl Alike<'_> {
    /// The words that are new differences; `None` if too many differ.
    fn differences(&self, words: &[&[u8]]) -> Option<usize> {
        let pairs = self.words.iter().zip(words).zip(&self.wild);
        let (mut wild, mut fresh) = (0, 0);
        for ((one, other), &is_wild) in pairs {
            if is_wild {
                wild += 1;
            } else if !same(one, other) {
                fresh += 1;
            }
        }
        ((wild + fresh) * 5 <= words.len() * 2).then_some(fresh)
    }

    fn add(&mut self, words: &[&[u8]], lines: u32) {
        for ((one, other), wild) in self.words.iter().zip(words).zip(&mut self.wild) {
            *wild |= !same(one, other);
        }
        self.lines += lines;
    }
}

/// Whether two words differ in values only.
fn same(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    values(one, &mut left);
    values(other, &mut right);
    left.len() == right.len() && between(one, &left).eq(between(other, &right))
}

/// The parts of a word that are no values.
fn between<'a>(word: &'a [u8], holes: &'a [Hole]) -> impl Iterator<Item = &'a [u8]> {
    let starts = std::iter::once(0).chain(holes.iter().map(|hole| hole.1));
    let ends = holes.iter().map(|hole| hole.0).chain([word.len()]);
    starts.zip(ends).map(|(from, to)| word.get(from..to).unwrap_or_default())
}

/// What lines must share to be compared: the first word without digits.
fn key<'a>(words: &[&'a [u8]]) -> &'a [u8] {
    let plain = |word: &&&[u8]| !word.is_empty() && !word.iter().any(u8::is_ascii_digit);
    words.iter().find(plain).copied().unwrap_or_default()
}

/// The words between spaces.
fn words(line: &[u8]) -> impl Iterator<Item = Hole> {
    let mut start = 0;
    line.split(|&byte| byte == b' ').map(move |word| {
        let from = start;
        start += word.len() + 1;
        (from, from + word.len())
    })
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Finds what has digits in a line: numbers, hexadecimal numbers, identifiers.
pub(in crate::pack) fn values(line: &[u8], out: &mut Vec<Hole>) {
    out.clear();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
    let mut at = 0;
    while let Some(skip) = line.get(at..).and_then(|rest| rest.iter().position(is_part)) {
        let start = at + skip;
        let rest = line.get(start..).unwrap_or_default();
        let len = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        at = start + len;
        run(line, start, rest.get(..len).unwrap_or_default(), out);
    }
}

/// Finds the values in a run of letters and digits.
fn run(line: &[u8], start: usize, run: &[u8], out: &mut Vec<Hole>) {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return;
    }
    let end = start + run.len();
    if digits == run.len() {
        // A minus is part of the number unless something stands before it.
        let before = |back: usize| start.checked_sub(back).and_then(|at| line.get(at)).copied();
        let is_sign = before(1) == Some(b'-')
            && before(2).is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte < 0x80)
            && before(2) != Some(b'-')
            && out.last().is_none_or(|last| last.1 < start - 1);
        out.push((start - usize::from(is_sign), end));
        return;
    }
    if run.strip_prefix(b"0x").is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
        out.push((start + 2, end));
        return;
    }
    let hex = |range: std::ops::RangeInclusive<u8>| {
        run.iter().all(|byte| byte.is_ascii_digit() || range.contains(byte))
    };
    let starts = || {
        let before = std::iter::once(&b' ').chain(run);
        run.iter()
            .zip(before)
            .enumerate()
            .filter(|(_, (byte, before))| byte.is_ascii_digit() && !before.is_ascii_digit())
    };
    let is_hex = run.len() >= HEX && (hex(b'a'..=b'f') || hex(b'A'..=b'F'));
    if is_hex || starts().count() >= MIXED {
        out.push((start, end));
        return;
    }
    for (from, _) in starts() {
        let rest = run.get(from..).unwrap_or_default();
        let len = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        out.push((start + from, start + from + len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str) -> String {
        let mut holes = Vec::new();
        values(line.as_bytes(), &mut holes);
        let mut out = String::new();
        let mut start = 0;
        for (from, to) in holes {
            out += &line[start..from];
            out += &format!("<{}>", &line[from..to]);
            start = to;
        }
        out + &line[start..]
    }

    #[test]
    fn values_are_what_has_digits() {
        for (line, want) in [
            ("", ""),
            ("no value", "no value"),
            ("2015-10-18 18:01:47,978", "<2015>-<10>-<18> <18>:<01>:<47>,<978>"),
            ("blk_-16089 at test-1", "blk_<-16089> at test-<1>"),
            ("-5 (-6) --7 a-8", "<-5> (<-6>) --<7> a-<8>"),
            ("0x0b85eee0 deadbeef12 DEADBEEF12", "0x<0b85eee0> <deadbeef12> <DEADBEEF12>"),
            ("Cvf4XX17hSAgX9dGEd kafka2 a1b2", "<Cvf4XX17hSAgX9dGEd> kafka<2> <a1b2>"),
            ("R02-M1-N0-C:J12", "R<02>-M<1>-N<0>-C:J<12>"),
            ("größe7", "größe<7>"),
        ] {
            assert_eq!(marked(line), want);
        }
    }

    #[test]
    fn lines_that_differ_in_words_share_a_template() {
        let users = ["root", "admin", "webmaster", "oracle", "guest", "x"];
        let text: Vec<String> = (0..60)
            .map(|i| format!("sshd[{i}]: Invalid user {} from 10.0.0.{i} port 22", users[i % 6]))
            .chain([String::from("something else")])
            .collect();
        let mined = Mined::new(text.iter().map(|line| line.as_bytes()));
        assert_eq!(mined.ids.last(), Some(&None));
        assert!(mined.ids.iter().take(60).all(Option::is_some));
        for (line, id) in text.iter().zip(&mined.ids) {
            let Some(id) = id else { continue };
            let template = &mined.templates[*id as usize];
            let mut holes = Vec::new();
            template.holes(line.as_bytes(), &mut holes);
            assert_eq!(holes.len() + 1, template.parts.len());
            let parts: Vec<&[u8]> = between(line.as_bytes(), &holes).collect();
            assert_eq!(parts, template.parts);
        }
    }
}
