//! JSON Lines in row groups, by template (§6.2, §6.3).
//!
//! A template is what a line says besides its strings, numbers, `true`, `false`
//! and `null`: keys, brackets and spaces. Lines of one template have their values
//! in the same places, and each place becomes a column.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::cell_syntax::Syntax;
use crate::codec::Codec;
use crate::json_scan::{Scan, paths};
use crate::pack::groups::{self, Grid, Table};
use crate::pack::lines::ended;
use crate::pack::options::PackOptions;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::options::resolve_threads;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Templates that an archive has at most.
const TEMPLATES: usize = 32;

/// A template of fewer bytes of text than this costs more than it saves.
const LEAST: usize = 2 << 10;

/// In a text of fewer bytes each template is asked whether it pays: blocks of few
/// rows cost more than they help.
const SMALL: usize = 16 << 20;

/// How much larger templates may make such a text, all told, by a quick compressor.
const PRICE: f64 = 0.03;

/// The lines of one template.
struct Lines<'a> {
    text: &'a [u8],
    /// A line that has it.
    example: &'a [u8],
    columns: usize,
    rows: usize,
    /// Bytes of its lines.
    bytes: usize,
    /// Where each value is in the text, row by row.
    holes: Vec<(u32, u32)>,
}

impl Grid for Lines<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn cell(&self, row: usize, column: usize) -> &[u8] {
        let hole = self.holes.get(row * self.columns + column).copied().unwrap_or_default();
        self.text.get(hole.0 as usize..hole.1 as usize).unwrap_or_default()
    }
}

/// The templates of a text, the most frequent first, and the template of each line.
struct Found<'a> {
    templates: Vec<Lines<'a>>,
    /// One more than the template of the line; 0 if it has none.
    map: Vec<u32>,
    verbatim: Vec<&'a [u8]>,
}

/// Whether most lines of a text are objects.
pub(in crate::pack) fn suits(text: &[u8]) -> bool {
    let (mut lines, mut objects) = (0, 0);
    let mut scan = Scan::default();
    for line in text.split(|&byte| byte == b'\n').take(1000).filter(|line| !line.is_empty()) {
        lines += 1;
        objects += usize::from(scan.line(line));
    }
    objects * 2 > lines
}

/// The streams of JSON Lines, and the codec that they are for; `None` if no line is
/// an object with a value.
pub(in crate::pack) fn streams(
    text: &[u8],
    codec: Option<Codec>,
    asked: bool,
    search: &SearchParams,
    options: &PackOptions,
) -> Result<Option<(Vec<Stream>, Codec)>> {
    let (lines, trailing) = ended(text);
    let most = if codec == Some(Codec::QJson) { 1 } else { TEMPLATES };
    let mut found = Found::new(lines);
    // Who asks for the codec gets it, whatever it costs.
    found.keep(found.longest(most, if asked { 0 } else { LEAST }));
    if !asked && lines.len() < SMALL && found.templates.len() > 1 {
        found.keep(found.cheap(lines, resolve_threads(options.threads))?);
    }
    found.verbatim = found.lines(lines, |id| id == 0).collect();
    if found.templates.is_empty() {
        return Ok(None);
    }
    let codec = codec.unwrap_or(match found.templates.len() {
        1 => Codec::QJson,
        _ => Codec::QJson2,
    });
    Ok(Some((found.streams(codec, trailing, search, options)?, codec)))
}

impl<'a> Found<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut templates: Vec<Lines<'a>> = Vec::new();
        let mut map = Vec::new();
        let mut scan = Scan::default();
        let mut start = 0_usize;
        for line in text.split(|&byte| byte == b'\n') {
            let at = u32::try_from(start).unwrap_or(u32::MAX);
            start += line.len() + 1;
            if !scan.line(line) || scan.holes.is_empty() {
                map.push(0);
                continue;
            }
            let id = match known.get(&scan.skeleton) {
                Some(&id) => id,
                None => {
                    let id = u32::try_from(templates.len() + 1).unwrap_or_default();
                    known.insert(scan.skeleton.clone(), id);
                    let columns = scan.holes.len();
                    let (rows, bytes, holes) = (0, 0, Vec::new());
                    templates.push(Lines { text, example: line, columns, rows, bytes, holes });
                    id
                }
            };
            map.push(id);
            if let Some(template) = templates.get_mut(id as usize - 1) {
                template.rows += 1;
                template.bytes += line.len() + 1;
                let place = |hole: &(u32, u32)| (at + hole.0, at + hole.1);
                template.holes.extend(scan.holes.iter().map(place));
            }
        }
        Self { templates, map, verbatim: Vec::new() }
    }

    /// The templates with most text, if that is worth a table.
    fn longest(&self, most: usize, least: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.templates.len()).collect();
        let bytes = |&index: &usize| self.templates.get(index).map_or(0, |it| it.bytes);
        order.sort_by_key(|index| Reverse(bytes(index)));
        // A short text has one template, if it has any.
        let least = if self.templates.len() == 1 { 0 } else { least };
        let example = |&index: &usize| self.templates.get(index).map(|it| it.example);
        order.retain(|index| bytes(index) >= least && example(index).and_then(paths).is_some());
        order.truncate(most);
        order
    }

    /// The templates that make the text little larger than it is as lines.
    fn cheap(&self, text: &[u8], threads: usize) -> Result<Vec<usize>> {
        let size = |text: &[u8]| {
            Ok::<_, hypostyle_core::error::Error>(zstd::compress_far(text, 3)?.len() as f64)
        };
        let whole = size(text)?;
        let mut prices = Vec::new();
        let work = |index: usize| {
            let Some(template) = self.templates.get(index) else { return Ok((0.0, 0.0)) };
            let others: Vec<&[u8]> = self.lines(text, |id| id as usize != index + 1).collect();
            let as_lines = whole - size(&others.join(&b'\n'))?;
            let mut as_columns = 0.0;
            for column in 0..template.columns {
                let cells = (0..template.rows).map(|row| template.cell(row, column));
                as_columns += size(&cells.collect::<Vec<_>>().join(&b'\n'))? + 10.0;
            }
            Ok((as_columns - as_lines, template.bytes as f64))
        };
        parallel::in_order(self.templates.len(), threads, work, |index, (price, bytes)| {
            prices.push((price / bytes, price, index));
            Ok(())
        })?;
        prices.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut left = whole * PRICE;
        let mut cheap: Vec<usize> = Vec::new();
        for (_, price, index) in prices {
            if price <= left || cheap.is_empty() {
                left -= price.max(0.0);
                cheap.push(index);
            }
        }
        cheap.sort_unstable();
        Ok(cheap)
    }

    /// The lines whose template, or 0 for none, is as wanted.
    fn lines(
        &self,
        text: &'a [u8],
        wanted: impl Fn(u32) -> bool,
    ) -> impl Iterator<Item = &'a [u8]> {
        let lines = text.split(|&byte| byte == b'\n').zip(&self.map);
        lines.filter(move |&(_, &id)| wanted(id)).map(|(line, _)| line)
    }

    /// Keeps these templates in this order; lines of others have none any more.
    fn keep(&mut self, order: Vec<usize>) {
        let mut numbers = vec![0; self.templates.len() + 1];
        for (number, &index) in (1..).zip(&order) {
            if let Some(place) = numbers.get_mut(index + 1) {
                *place = number;
            }
        }
        for id in &mut self.map {
            *id = numbers.get(*id as usize).copied().unwrap_or_default();
        }
        let all = std::mem::take(&mut self.templates);
        let mut all: Vec<Option<Lines<'a>>> = all.into_iter().map(Some).collect();
        self.templates = order.iter().filter_map(|&index| all.get_mut(index)?.take()).collect();
    }

    fn streams(
        &self,
        codec: Codec,
        trailing: bool,
        search: &SearchParams,
        options: &PackOptions,
    ) -> Result<Vec<Stream>> {
        let threads = resolve_threads(options.threads);
        let verbatim = self.verbatim.join(&b'\n');
        if let (Codec::QJson, [template]) = (codec, self.templates.as_slice()) {
            let modes: Vec<u8> = self.map.iter().map(|&id| u8::from(id != 0)).collect();
            let table = template.table("", &modes, verbatim, trailing);
            let written = table.write(search, options, threads)?;
            return groups::set(vec![written], Vec::new(), search, options);
        }
        let mut meta = Vec::new();
        put::uv(&mut meta, self.map.len() as u64);
        meta.push(trailing.into());
        put::uv(&mut meta, self.templates.len() as u64);
        let mut map = Vec::new();
        self.map.iter().for_each(|&id| put::uv(&mut map, id.into()));
        let mut first = Vec::new();
        for (name, content) in [("meta", meta), ("line_map", map), ("verbatim", verbatim)] {
            let body = Body::smallest(&content, search.layout)?;
            first.push(Stream { name: name.into(), body });
        }
        let mut written = Vec::with_capacity(self.templates.len());
        for (number, template) in self.templates.iter().enumerate() {
            let modes = vec![1; template.rows];
            let table = template.table(&format!("t{number}:"), &modes, Vec::new(), false);
            written.push(table.write(search, options, threads)?);
        }
        groups::set(written, first, search, options)
    }
}

impl Lines<'_> {
    fn table<'t>(
        &'t self,
        prefix: &str,
        modes: &'t [u8],
        verbatim: Vec<u8>,
        trailing: bool,
    ) -> Table<'t> {
        let mut scan = Scan::default();
        scan.line(self.example);
        let mut template = Vec::new();
        put::uv(&mut template, self.columns as u64 + 1);
        let mut start = 0;
        for &(from, to) in &scan.holes {
            put::lp(&mut template, self.example.get(start..from as usize).unwrap_or_default());
            start = to as usize;
        }
        put::lp(&mut template, self.example.get(start..).unwrap_or_default());
        let names = paths(self.example).unwrap_or_default();
        let mut paths = Vec::new();
        put::uv(&mut paths, names.len() as u64);
        names.iter().for_each(|name| put::lp(&mut paths, name.as_bytes()));
        Table {
            grid: self,
            syntax: Syntax::Json,
            prefix: prefix.to_owned(),
            delimiter: None,
            trailing,
            modes,
            verbatim,
            more: vec![("template", template), ("paths", paths)],
        }
    }
}
