//! A page that shows the layout of a file: self-contained, to mail or to keep.
//!
//! The page has no scripts and asks no server for anything. Its picture is SVG, whose titles a
//! browser shows when one points at a part.

use std::fmt::{self, Display, Write as _};

use hypostyle::ByteSource;
use hypostyle_view::Session;
use serde_json::Value;

use crate::failure::{Failure, Result};

/// The width of the byte map in units of its own.
const WIDTH: f64 = 1200.0;

/// The height of a lane of the byte map.
const LANE: f64 = 34.0;

/// Rows of a column that its histogram is made of.
const PROFILE_ROWS: u64 = 20_000;

/// Columns that have a histogram.
const MAX_PROFILES: usize = 200;

const STYLE: &str = "\
:root{--paper:#fbfaf7;--ink:#1f2328;--soft:#5b6168;--line:#e2dfd7;--accent:#8a4b14;--bad:#a3201d;--good:#1f6b3a;--l:82%}
@media(prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e7e5df;--soft:#a3a8ae;--line:#33373d;--accent:#e6a15c;--bad:#ff8f86;--good:#7fcf9a;--l:30%}}
body{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 16px}
h1{font-size:22px;overflow-wrap:anywhere}h2{font-size:17px;margin-top:2em}p,li{overflow-wrap:anywhere}
.soft{color:var(--soft)}.bad{color:var(--bad)}.good{color:var(--good)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:14px;min-width:100%}
th,td{text-align:left;padding:3px 14px 3px 0;border-bottom:1px solid var(--line);vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums}svg{display:block;width:100%;height:auto}
.map rect{fill:hsl(var(--h) 46% var(--l));stroke:var(--paper)}.map text{fill:var(--ink);font-size:12px}
.bins{width:160px;height:32px}.bins rect{fill:var(--accent)}";

/// Returns the page about a file.
pub(super) fn page(name: &str, content: &dyn ByteSource) -> Result<String> {
    let mut session = Session::new(name, content.size());
    let mut ask = |request: &str| -> std::result::Result<Value, String> {
        let (answers, _) = session.run_on(content, request);
        let answer = answers.last().map(String::as_str).unwrap_or_default();
        let mut answer: Value = serde_json::from_str(answer).unwrap_or_default();
        match answer.pointer("/error/message").and_then(Value::as_str) {
            Some(message) => Err(message.to_owned()),
            None => Ok(answer.get_mut("done").map(Value::take).unwrap_or_default()),
        }
    };
    let file = ask(r#"{"op":"describe"}"#).map_err(Failure::input)?;
    let map = ask(r#"{"op":"map"}"#);
    let table = ask(r#"{"op":"table"}"#);
    let columns = table.as_ref().ok().and_then(|table| table["columns"].as_array().cloned());
    let columns = columns.unwrap_or_default();
    let mut profiles = Vec::new();
    for column in 0..columns.len().min(MAX_PROFILES) {
        let request = format!(r#"{{"op":"profile","column":{column},"rows":{PROFILE_ROWS}}}"#);
        profiles.push(ask(&request).unwrap_or_default());
    }
    let mut page = Page(String::new());
    let written = page.write(name, &file, &map, &table, &columns, &profiles);
    written.map_err(|_| Failure::input("the page cannot be written"))?;
    Ok(page.0)
}

type Asked = std::result::Result<Value, String>;

struct Page(String);

impl Page {
    fn write(
        &mut self,
        name: &str,
        file: &Value,
        map: &Asked,
        table: &Asked,
        columns: &[Value],
        profiles: &[Value],
    ) -> fmt::Result {
        let out = &mut self.0;
        write!(out, "<!doctype html><html lang=en><meta charset=utf-8>")?;
        write!(out, "<meta name=viewport content=\"width=device-width\">")?;
        write!(out, "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; ")?;
        write!(out, "style-src 'unsafe-inline'\">")?;
        write!(out, "<title>{}</title><style>{STYLE}</style><h1>{0}</h1>", Text(name))?;
        write!(out, "<p class=soft>{}, {} bytes", shown(&file["kind"]), shown(&file["bytes"]))?;
        if let Some(archive) = file.get("archive") {
            let (container, codec) = (shown(&archive["container"]), shown(&archive["codec"]));
            write!(out, ", {container} container, codec {codec}")?;
        }
        match table {
            Ok(table) => {
                let (rows, groups) = (shown(&table["rows"]), shown(&table["row_groups"]));
                write!(out, ", {rows} rows, {} columns, {groups} row groups</p>", columns.len())?;
            }
            Err(why) => write!(out, "</p><p class=bad>{}</p>", Text(why))?,
        }
        self.deviations(map, table)?;
        match map {
            Ok(map) => self.map(map)?,
            Err(why) => write!(self.0, "<p class=bad>{}</p>", Text(why))?,
        }
        self.columns(columns, profiles)?;
        if let Ok(map) = map {
            self.parts(map)?;
        }
        write!(self.0, "</html>")
    }

    fn deviations(&mut self, map: &Asked, table: &Asked) -> fmt::Result {
        let list = |asked: &Asked| {
            let found =
                asked.as_ref().ok().and_then(|found| found["deviations"].as_array().cloned());
            found.unwrap_or_default()
        };
        let mut found = list(map);
        found.extend(list(table).into_iter().filter(|it| !list(map).contains(it)));
        if found.is_empty() {
            if map.is_ok() && table.is_ok() {
                write!(self.0, "<p class=good>No deviations from the spec in what was read.</p>")?;
            }
            return Ok(());
        }
        write!(self.0, "<h2>Deviations</h2><ul>")?;
        for it in &found {
            let (code, offset) = (shown(&it["code"]), shown(&it["offset"]));
            write!(self.0, "<li><b>{code}</b> at byte {offset}: {}", shown(&it["message"]))?;
        }
        write!(self.0, "</ul>")
    }

    fn map(&mut self, map: &Value) -> fmt::Result {
        let nodes = map["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
        if nodes.is_empty() {
            return Ok(());
        }
        let has_children = nodes.iter().any(|node| node.get("children").is_some());
        let height = if has_children { 2.0 * LANE } else { LANE };
        write!(self.0, "<h2>Bytes</h2><svg class=map role=img aria-label=\"Byte map\" ")?;
        write!(self.0, "viewBox=\"0 0 {WIDTH} {height}\">")?;
        let whole = map["bytes"].as_f64().unwrap_or(1.0).max(1.0);
        for (index, node) in nodes.iter().enumerate() {
            self.node(node, index, 0.0, whole)?;
            let children = node["children"].as_array().map(Vec::as_slice).unwrap_or_default();
            for (inside, child) in children.iter().enumerate() {
                self.node(child, index + inside, LANE, whole)?;
            }
        }
        write!(self.0, "</svg>")
    }

    fn node(&mut self, node: &Value, index: usize, y: f64, whole: f64) -> fmt::Result {
        let number = |key: &str| node[key].as_f64().unwrap_or(0.0);
        let (x, width) = (number("offset") / whole * WIDTH, number("stored") / whole * WIDTH);
        let hue = node["column"].as_u64().unwrap_or(index as u64).wrapping_mul(67) % 360;
        let label = label(node);
        write!(
            self.0,
            "<g style=\"--h:{hue}\"><title>{}, byte {}",
            Text(&label),
            number("offset")
        )?;
        write!(self.0, ", {} bytes</title>", number("stored"))?;
        let (width, height) = (width.max(0.7), LANE - 2.0);
        write!(self.0, "<rect x={x:.2} y={y} width={width:.2} height={height} />")?;
        if width > 60.0 {
            let short: String = label.chars().take(narrow(width / 7.0)).collect();
            write!(self.0, "<text x={:.2} y={:.2}>{}</text>", x + 6.0, y + 21.0, Text(&short))?;
        }
        write!(self.0, "</g>")
    }

    fn columns(&mut self, columns: &[Value], profiles: &[Value]) -> fmt::Result {
        if columns.is_empty() {
            return Ok(());
        }
        write!(
            self.0,
            "<h2>Columns</h2><div class=wide tabindex=0><table><thead><tr><th>#<th>name"
        )?;
        write!(self.0, "<th>type<th>nulls<th>min<th>max<th>distinct<th>values</thead><tbody>")?;
        let none = Value::Null;
        for (index, column) in columns.iter().enumerate() {
            let profile = profiles.get(index).unwrap_or(&none);
            let either = |key: &str| match &column[key] {
                Value::Null => shown(&profile[key]),
                known => shown(known),
            };
            write!(self.0, "<tr><td class=n>{}<td>{}", index + 1, shown(&column["name"]))?;
            write!(self.0, "<td>{}<td class=n>{}", shown(&column["type"]), either("nulls"))?;
            write!(self.0, "<td>{}<td>{}", either("min"), either("max"))?;
            let more = if profile["has_more"] == true { "over " } else { "" };
            write!(self.0, "<td class=n>{more}{}<td>", shown(&profile["distinct"]))?;
            self.bins(profile)?;
        }
        write!(
            self.0,
            "</table></div><p class=soft>Distinct values and histograms are of the first "
        )?;
        write!(self.0, "{PROFILE_ROWS} rows.</p>")
    }

    fn bins(&mut self, profile: &Value) -> fmt::Result {
        let bins: Vec<f64> =
            profile["bins"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let most = bins.iter().copied().fold(1.0, f64::max);
        if bins.is_empty() {
            let top = profile["top"].as_array().map(Vec::as_slice).unwrap_or_default();
            let top: Vec<String> =
                top.iter().take(3).map(|it| shown(&it["value"]).to_string()).collect();
            return write!(self.0, "{}", top.join(", "));
        }
        write!(self.0, "<svg class=bins role=img aria-label=histogram viewBox=\"0 0 160 32\">")?;
        let step = 160.0 / bins.len() as f64;
        for (index, count) in bins.iter().enumerate() {
            let height = count / most * 32.0;
            let (x, y) = (index as f64 * step, 32.0 - height);
            write!(
                self.0,
                "<rect x={x:.1} y={y:.1} width={:.1} height={height:.1} />",
                step - 1.0
            )?;
        }
        write!(self.0, "</svg>")
    }

    fn parts(&mut self, map: &Value) -> fmt::Result {
        let nodes = map["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
        if nodes.is_empty() {
            return Ok(());
        }
        write!(self.0, "<h2>Parts</h2><div class=wide tabindex=0><table><thead><tr>")?;
        write!(self.0, "<th class=n>offset<th>part<th class=n>stored<th class=n>decompressed")?;
        write!(self.0, "</thead><tbody>")?;
        for node in nodes {
            self.part(node, "")?;
            for child in node["children"].as_array().into_iter().flatten() {
                self.part(child, "\u{2003}")?;
            }
        }
        write!(self.0, "</table></div>")
    }

    fn part(&mut self, node: &Value, indent: &str) -> fmt::Result {
        let (offset, stored) = (shown(&node["offset"]), shown(&node["stored"]));
        write!(self.0, "<tr><td class=n>{offset}<td>{indent}{}", Text(&label(node)))?;
        write!(self.0, "<td class=n>{stored}<td class=n>{}", shown(&node["raw"]))
    }
}

fn label(node: &Value) -> String {
    let label = node["label"].as_str().unwrap_or_default();
    match node["name"].as_str() {
        Some(name) => format!("{label} {name}"),
        None => label.to_owned(),
    }
}

/// Returns how many characters fit; `chars` is small and not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn narrow(chars: f64) -> usize {
    chars as usize
}

/// Returns a value as a text of the page; nothing for null.
fn shown(value: &Value) -> Text<String> {
    Text(match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// A text that is no markup.
struct Text<T>(T);

impl<T: AsRef<str>> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.as_ref().chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // Control characters have no place in a page, and could hide others.
                c if c.is_control() && c != '\n' => f.write_char('\u{FFFD}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
