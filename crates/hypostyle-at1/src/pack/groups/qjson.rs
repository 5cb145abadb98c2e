//! Encodes JSON Lines in row groups, one table per template (§6.2, §6.3).
//!
//! The template of a line is the line without its string, number, `true`, `false` and
//! `null` values: keys, brackets and spaces. All lines of a template have the same number
//! of values, and each of them becomes a column.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::cell_syntax::Syntax;
use crate::codec::Codec;
use crate::json_scan::{TemplateScan, paths};
use crate::pack::groups::writer::{CellGrid, RowGroupTable, stream_set};
use crate::pack::lines::split_final_newline;
use crate::pack::options::PackOptions;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::Stream;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::options::resolve_threads;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Maximum number of templates of an archive.
const MAX_TEMPLATES: usize = 32;

/// A template with fewer bytes of text costs more than it saves.
const MIN_TEMPLATE_BYTES: usize = 2 << 10;

/// In a shorter text, templates are dropped if they make it larger: blocks of few rows
/// cost more than they save.
const MAX_MEASURED_BYTES: usize = 16 << 20;

/// How much larger all templates together may make the output of zstd, as a fraction.
const MAX_ZSTD_OVERHEAD: f64 = 0.03;

/// The lines of one template.
struct TemplateLines<'a> {
    text: &'a [u8],
    /// The first line of the template.
    example: &'a [u8],
    columns: usize,
    rows: usize,
    /// Bytes of the lines.
    bytes: usize,
    /// The start and the end of each value in the text, row by row.
    holes: Vec<(u32, u32)>,
}

impl CellGrid for TemplateLines<'_> {
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

/// The templates of a text, and the template of each line.
struct TemplateSet<'a> {
    templates: Vec<TemplateLines<'a>>,
    /// One more than the template of each line; 0 for lines without one.
    line_map: Vec<u32>,
    /// The lines without a template.
    verbatim: Vec<&'a [u8]>,
}

/// Returns the streams of JSON Lines and their codec; `None` if no line is an object with a
/// value.
///
/// `codec` is the codec to use, if it is settled. If the caller `asked` for it, all
/// templates are used, even if they make the archive larger.
pub(in crate::pack) fn streams(
    text: &[u8],
    codec: Option<Codec>,
    asked: bool,
    search: &SearchParams,
    options: &PackOptions,
) -> Result<Option<(Vec<Stream>, Codec)>> {
    let (lines, trailing) = split_final_newline(text);
    let max_templates = if codec == Some(Codec::QJson) { 1 } else { MAX_TEMPLATES };
    let min_bytes = if asked { 0 } else { MIN_TEMPLATE_BYTES };
    let mut set = TemplateSet::new(lines);
    set.keep(set.largest(max_templates, min_bytes));
    if !asked && lines.len() < MAX_MEASURED_BYTES && set.templates.len() > 1 {
        set.keep(set.cheap(lines, resolve_threads(options.threads))?);
    }
    set.verbatim = set.lines(lines, |id| id == 0).collect();
    if set.templates.is_empty() {
        return Ok(None);
    }
    let codec = codec.unwrap_or(match set.templates.len() {
        1 => Codec::QJson,
        _ => Codec::QJson2,
    });
    Ok(Some((set.streams(codec, trailing, search, options)?, codec)))
}

impl<'a> TemplateSet<'a> {
    /// Finds the templates of a text.
    fn new(text: &'a [u8]) -> Self {
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut templates: Vec<TemplateLines<'a>> = Vec::new();
        let mut line_map = Vec::new();
        let mut scan = TemplateScan::default();
        let mut start = 0_usize;
        for line in text.split(|&byte| byte == b'\n') {
            let at = u32::try_from(start).unwrap_or(u32::MAX);
            start += line.len() + 1;
            if !scan.line(line) || scan.holes.is_empty() {
                line_map.push(0);
                continue;
            }
            let id = match known.get(&scan.skeleton) {
                Some(&id) => id,
                None => {
                    let id = u32::try_from(templates.len() + 1).unwrap_or_default();
                    known.insert(scan.skeleton.clone(), id);
                    let columns = scan.holes.len();
                    let (rows, bytes, holes) = (0, 0, Vec::new());
                    templates.push(TemplateLines {
                        text,
                        example: line,
                        columns,
                        rows,
                        bytes,
                        holes,
                    });
                    id
                }
            };
            line_map.push(id);
            if let Some(template) = templates.get_mut(id as usize - 1) {
                template.rows += 1;
                template.bytes += line.len() + 1;
                let place = |hole: &(u32, u32)| (at + hole.0, at + hole.1);
                template.holes.extend(scan.holes.iter().map(place));
            }
        }
        Self { templates, line_map, verbatim: Vec::new() }
    }

    /// Returns at most `max_count` templates, those with most text first, that have at least
    /// `min_bytes` bytes and whose paths can be named.
    fn largest(&self, max_count: usize, min_bytes: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.templates.len()).collect();
        let bytes = |&index: &usize| self.templates.get(index).map_or(0, |it| it.bytes);
        order.sort_by_key(|index| Reverse(bytes(index)));
        // The only template of a text may be small.
        let min_bytes = if self.templates.len() == 1 { 0 } else { min_bytes };
        let example = |&index: &usize| self.templates.get(index).map(|it| it.example);
        order.retain(|index| bytes(index) >= min_bytes && example(index).and_then(paths).is_some());
        order.truncate(max_count);
        order
    }

    /// Returns the templates that together make the text only a little larger than it is as
    /// lines, by the size that zstd compresses it to.
    fn cheap(&self, text: &[u8], threads: usize) -> Result<Vec<usize>> {
        let size = |text: &[u8]| Ok::<_, Error>(zstd::compress_far(text, 3)?.len() as f64);
        let whole = size(text)?;
        let numbered: Vec<_> = self.templates.iter().enumerate().collect();
        let mut costs = parallel::map(&numbered, threads, |&(index, template)| {
            let others: Vec<&[u8]> = self.lines(text, |id| id as usize != index + 1).collect();
            let as_lines = whole - size(&others.join(&b'\n'))?;
            let mut as_columns = 0.0;
            for column in 0..template.columns {
                let cells = (0..template.rows).map(|row| template.cell(row, column));
                as_columns += size(&cells.collect::<Vec<_>>().join(&b'\n'))? + 10.0;
            }
            let cost = as_columns - as_lines;
            Ok((cost / template.bytes as f64, cost, index))
        })?;
        costs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut budget = whole * MAX_ZSTD_OVERHEAD;
        let mut cheap: Vec<usize> = Vec::new();
        for (_, cost, index) in costs {
            if cost <= budget || cheap.is_empty() {
                budget -= cost.max(0.0);
                cheap.push(index);
            }
        }
        cheap.sort_unstable();
        Ok(cheap)
    }

    /// Returns the lines whose entry of the line map satisfies `wanted`.
    fn lines(
        &self,
        text: &'a [u8],
        wanted: impl Fn(u32) -> bool,
    ) -> impl Iterator<Item = &'a [u8]> {
        let lines = text.split(|&byte| byte == b'\n').zip(&self.line_map);
        lines.filter(move |&(_, &id)| wanted(id)).map(|(line, _)| line)
    }

    /// Keeps these templates in this order, and drops the others.
    fn keep(&mut self, order: Vec<usize>) {
        let mut numbers = vec![0; self.templates.len() + 1];
        for (number, &index) in (1..).zip(&order) {
            if let Some(place) = numbers.get_mut(index + 1) {
                *place = number;
            }
        }
        for id in &mut self.line_map {
            *id = numbers.get(*id as usize).copied().unwrap_or_default();
        }
        let all = std::mem::take(&mut self.templates);
        let mut all: Vec<Option<TemplateLines<'a>>> = all.into_iter().map(Some).collect();
        self.templates = order.iter().filter_map(|&index| all.get_mut(index)?.take()).collect();
    }

    /// Returns the streams of all templates for a codec.
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
            let modes: Vec<u8> = self.line_map.iter().map(|&id| u8::from(id != 0)).collect();
            let table = template.table("", &modes, verbatim, trailing);
            let encoded = table.encode(search, options, threads)?;
            return stream_set(vec![encoded], Vec::new(), search);
        }
        let mut meta = Vec::new();
        put::uv(&mut meta, self.line_map.len() as u64);
        meta.push(trailing.into());
        put::uv(&mut meta, self.templates.len() as u64);
        let mut line_map = Vec::new();
        self.line_map.iter().for_each(|&id| put::uv(&mut line_map, id.into()));
        let first = vec![
            Stream::small("meta", &meta, search.layout)?,
            Stream::small("line_map", &line_map, search.layout)?,
            Stream::small("verbatim", &verbatim, search.layout)?,
        ];
        let mut encoded = Vec::with_capacity(self.templates.len());
        for (number, template) in self.templates.iter().enumerate() {
            let modes = vec![1; template.rows];
            let table = template.table(&format!("t{number}:"), &modes, Vec::new(), false);
            encoded.push(table.encode(search, options, threads)?);
        }
        stream_set(encoded, first, search)
    }
}

impl TemplateLines<'_> {
    /// Returns the table of the values of the lines.
    fn table<'t>(
        &'t self,
        prefix: &str,
        modes: &'t [u8],
        verbatim: Vec<u8>,
        trailing: bool,
    ) -> RowGroupTable<'t> {
        let mut scan = TemplateScan::default();
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
        RowGroupTable {
            grid: self,
            syntax: Syntax::Json,
            prefix: prefix.to_owned(),
            delimiter: None,
            trailing,
            modes,
            verbatim,
            extra_streams: vec![("template", template), ("paths", paths)],
        }
    }
}
