//! Finds the templates that lines of a log share.
//!
//! Nothing is known of the log in advance. Tokens with digits are values, and all other text
//! is literal; lines with the same literals have the same template. Rare lines that differ in
//! a few words only share a template too, in which those words are values.

use hashbrown::HashMap;

/// Lines that must share a template.
const MIN_TEMPLATE_LINES: u32 = 10;

/// Lines with the same literals that get a template without comparing words.
const MIN_EXACT_LINES: u32 = 16;

/// Words of a line that may be compared with other lines; longer lines stay verbatim.
const MAX_WORDS: usize = 200;

/// Groups of similar lines that a line is compared with.
const MAX_COMPARED_GROUPS: usize = 40;

/// A run of letters and digits with this many runs of digits is one value.
const MIN_DIGIT_RUNS: usize = 3;

/// A run of hexadecimal digits of this length is one value.
const MIN_HEX_CHARS: usize = 4;

/// The literals that lines have in common.
#[derive(Clone, Debug)]
pub(in crate::pack) struct LogTemplate {
    /// The text around the values: one literal more than there are values.
    pub(in crate::pack) literals: Vec<Vec<u8>>,
    /// Indexes of words that are values, whatever they contain.
    wild_words: Vec<usize>,
}

/// The templates of a text.
#[derive(Debug)]
pub(in crate::pack) struct LogTemplates {
    pub(in crate::pack) templates: Vec<LogTemplate>,
    /// The template of each line, if it has one.
    pub(in crate::pack) ids: Vec<Option<u32>>,
}

/// The start and the end of a value in a line.
pub(in crate::pack) type ValueRange = (usize, usize);

/// Lines that have the same literals.
struct LineShape<'a> {
    example: &'a [u8],
    lines: u32,
    template: Option<u32>,
}

impl LogTemplates {
    /// Finds the templates of some lines. A line with a byte 0 has none.
    pub(in crate::pack) fn find<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut shapes: Vec<LineShape<'a>> = Vec::new();
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut shape_of_line = Vec::new();
        let (mut values, mut skeleton) = (Vec::new(), Vec::new());
        for line in lines {
            if memchr::memchr(0, line).is_some() {
                shape_of_line.push(None);
                continue;
            }
            find_values(line, &mut values);
            skeleton.clear();
            let mut start = 0;
            for &(from, to) in &values {
                skeleton.extend_from_slice(line.get(start..from).unwrap_or_default());
                skeleton.push(0);
                start = to;
            }
            skeleton.extend_from_slice(line.get(start..).unwrap_or_default());
            let shape = match known.get(&skeleton) {
                Some(&shape) => shape,
                None => {
                    let shape = as_u32(shapes.len());
                    known.insert(skeleton.clone(), shape);
                    shapes.push(LineShape { example: line, lines: 0, template: None });
                    shape
                }
            };
            shape_of_line.push(Some(shape));
            if let Some(shape) = shapes.get_mut(shape as usize) {
                shape.lines += 1;
            }
        }
        let templates = assign_templates(&mut shapes);
        let template = |shape: u32| shapes.get(shape as usize)?.template;
        let ids = shape_of_line.into_iter().map(|shape| shape.and_then(template)).collect();
        Self { templates, ids }
    }

    /// Returns a template with its number.
    pub(in crate::pack) fn get(&self, id: Option<u32>) -> Option<(u32, &LogTemplate)> {
        let id = id?;
        Some((id, self.templates.get(id as usize)?))
    }
}

impl LogTemplate {
    /// Finds the values of a line that has this template.
    pub(in crate::pack) fn values(&self, line: &[u8], out: &mut Vec<ValueRange>) {
        find_values(line, out);
        if self.wild_words.is_empty() {
            return;
        }
        let mut values = std::mem::take(out).into_iter().peekable();
        let mut wild = self.wild_words.iter().peekable();
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

    fn new(example: &[u8], wild_words: Vec<usize>) -> Self {
        let mut template = Self { literals: Vec::new(), wild_words };
        let mut values = Vec::new();
        template.values(example, &mut values);
        template.literals = literals(example, &values).map(<[u8]>::to_vec).collect();
        template
    }
}

/// Makes a template for each frequent shape, and one for each group of similar rare shapes.
/// Sets the template of each shape.
fn assign_templates(shapes: &mut [LineShape<'_>]) -> Vec<LogTemplate> {
    let mut templates = Vec::new();
    let mut groups: Vec<SimilarLines<'_>> = Vec::new();
    // Groups by number of words and first word without digits.
    let mut groups_by_key: HashMap<(usize, &[u8]), Vec<usize>> = HashMap::new();
    let mut grouped: Vec<(usize, usize)> = Vec::new();
    for (index, shape) in shapes.iter_mut().enumerate() {
        if shape.lines >= MIN_EXACT_LINES {
            shape.template = Some(as_u32(templates.len()));
            templates.push(LogTemplate::new(shape.example, Vec::new()));
            continue;
        }
        let words: Vec<&[u8]> = words(shape.example)
            .map(|(from, to)| shape.example.get(from..to).unwrap_or_default())
            .take(MAX_WORDS + 1)
            .collect();
        if words.len() > MAX_WORDS {
            continue;
        }
        let candidates = groups_by_key.entry((words.len(), group_key(&words))).or_default();
        let closest = candidates
            .iter()
            .rev()
            .take(MAX_COMPARED_GROUPS)
            .filter_map(|&group| Some((groups.get(group)?.new_differences(&words)?, group)))
            .min();
        let group = match closest {
            Some((_, group)) => group,
            None => {
                candidates.push(groups.len());
                groups.push(SimilarLines::new(shape.example, &words));
                groups.len() - 1
            }
        };
        if let Some(group) = groups.get_mut(group) {
            group.add(&words, shape.lines);
        }
        grouped.push((index, group));
    }
    let mut template_of_group: Vec<Option<u32>> = Vec::new();
    for group in groups {
        let is_frequent = group.lines >= MIN_TEMPLATE_LINES;
        template_of_group.push(is_frequent.then(|| as_u32(templates.len())));
        if is_frequent {
            let wild = group.wild.iter().enumerate().filter(|&(_, &wild)| wild);
            let wild_words = wild.map(|(index, _)| index).collect();
            templates.push(LogTemplate::new(group.example, wild_words));
        }
    }
    for (shape, group) in grouped {
        if let Some(shape) = shapes.get_mut(shape) {
            shape.template = template_of_group.get(group).copied().flatten();
        }
    }
    templates
}

/// Shapes with equally many words that differ in some of them.
struct SimilarLines<'a> {
    example: &'a [u8],
    words: Vec<&'a [u8]>,
    /// For each word whether the shapes differ in it.
    wild: Vec<bool>,
    lines: u32,
}

impl<'a> SimilarLines<'a> {
    fn new(example: &'a [u8], words: &[&'a [u8]]) -> Self {
        Self { example, words: words.to_vec(), wild: vec![false; words.len()], lines: 0 }
    }

    /// Counts the words that would become wild; returns `None` if over two in five would be.
    fn new_differences(&self, words: &[&[u8]]) -> Option<usize> {
        let pairs = self.words.iter().zip(words).zip(&self.wild);
        let (mut wild, mut new) = (0, 0);
        for ((one, other), &is_wild) in pairs {
            if is_wild {
                wild += 1;
            } else if !have_equal_literals(one, other) {
                new += 1;
            }
        }
        ((wild + new) * 5 <= words.len() * 2).then_some(new)
    }

    fn add(&mut self, words: &[&[u8]], lines: u32) {
        for ((one, other), wild) in self.words.iter().zip(words).zip(&mut self.wild) {
            *wild |= !have_equal_literals(one, other);
        }
        self.lines += lines;
    }
}

/// Returns whether two words differ in their values only.
fn have_equal_literals(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    find_values(one, &mut left);
    find_values(other, &mut right);
    left.len() == right.len() && literals(one, &left).eq(literals(other, &right))
}

/// Returns the text around values, one literal more than there are values.
fn literals<'a>(text: &'a [u8], values: &'a [ValueRange]) -> impl Iterator<Item = &'a [u8]> {
    let starts = std::iter::once(0).chain(values.iter().map(|value| value.1));
    let ends = values.iter().map(|value| value.0).chain([text.len()]);
    starts.zip(ends).map(|(from, to)| text.get(from..to).unwrap_or_default())
}

/// Returns the first word without digits, which similar lines must have in common.
fn group_key<'a>(words: &[&'a [u8]]) -> &'a [u8] {
    let is_plain = |word: &&&[u8]| !word.is_empty() && !word.iter().any(u8::is_ascii_digit);
    words.iter().find(is_plain).copied().unwrap_or_default()
}

/// Returns the ranges of the words between spaces.
fn words(line: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    line.split(|&byte| byte == b' ').map(move |word| {
        let from = start;
        start += word.len() + 1;
        (from, from + word.len())
    })
}

fn as_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Finds the tokens with digits in a line: numbers, hexadecimal numbers and identifiers.
fn find_values(line: &[u8], out: &mut Vec<ValueRange>) {
    out.clear();
    let is_alphanumeric = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
    let mut at = 0;
    while let Some(skip) = line.get(at..).and_then(|rest| rest.iter().position(is_alphanumeric)) {
        let start = at + skip;
        let rest = line.get(start..).unwrap_or_default();
        let len = rest.iter().position(|byte| !is_alphanumeric(byte)).unwrap_or(rest.len());
        at = start + len;
        find_values_in_run(line, start, rest.get(..len).unwrap_or_default(), out);
    }
}

/// Finds the values in a run of letters and digits.
fn find_values_in_run(line: &[u8], start: usize, run: &[u8], out: &mut Vec<ValueRange>) {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return;
    }
    let end = start + run.len();
    if digits == run.len() {
        // A minus is a sign unless a letter, a digit or another minus precedes it.
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
    let all_hex = |letters: std::ops::RangeInclusive<u8>| {
        run.iter().all(|byte| byte.is_ascii_digit() || letters.contains(byte))
    };
    let digit_runs = || {
        let before = std::iter::once(&b' ').chain(run);
        run.iter()
            .zip(before)
            .enumerate()
            .filter(|(_, (byte, before))| byte.is_ascii_digit() && !before.is_ascii_digit())
    };
    let is_hex = run.len() >= MIN_HEX_CHARS && (all_hex(b'a'..=b'f') || all_hex(b'A'..=b'F'));
    if is_hex || digit_runs().count() >= MIN_DIGIT_RUNS {
        out.push((start, end));
        return;
    }
    for (from, _) in digit_runs() {
        let rest = run.get(from..).unwrap_or_default();
        let len = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        out.push((start + from, start + from + len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str) -> String {
        let mut values = Vec::new();
        find_values(line.as_bytes(), &mut values);
        let mut out = String::new();
        let mut start = 0;
        for (from, to) in values {
            out += &line[start..from];
            out += &format!("<{}>", &line[from..to]);
            start = to;
        }
        out + &line[start..]
    }

    #[test]
    fn tokens_with_digits_are_values() {
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
        let found = LogTemplates::find(text.iter().map(|line| line.as_bytes()));
        assert_eq!(found.ids.last(), Some(&None));
        assert!(found.ids.iter().take(60).all(Option::is_some));
        for (line, id) in text.iter().zip(&found.ids) {
            let Some(id) = id else { continue };
            let template = &found.templates[*id as usize];
            let mut values = Vec::new();
            template.values(line.as_bytes(), &mut values);
            assert_eq!(values.len() + 1, template.literals.len());
            let texts: Vec<&[u8]> = literals(line.as_bytes(), &values).collect();
            assert_eq!(texts, template.literals);
        }
    }
}
