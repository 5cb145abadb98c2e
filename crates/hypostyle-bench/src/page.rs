//! The report of a bench: a Markdown page, plots, and JSON.

use std::fmt::{Display, Write};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::plot::{Bars, short};
use crate::table::{ReportTable, Target};
use crate::{Result, machine};

/// A report page. Each paragraph is printed when it is added.
#[derive(Debug)]
pub(crate) struct ReportPage {
    /// The name of the page and of its files.
    name: &'static str,
    quick: bool,
    /// The text before the targets, and the text after them.
    intro: String,
    sections: String,
    in_sections: bool,
    tables: Map<String, Value>,
    plots: Vec<(String, String)>,
    targets: Vec<TargetResult>,
    /// Nothing was measured, so the page on disk must stay.
    is_void: bool,
}

/// A figure and its target.
#[derive(Debug)]
struct TargetResult {
    what: String,
    figure: f64,
    target: Target,
}

impl ReportPage {
    /// Creates a page with its title, the machine and the command that makes it.
    pub(crate) fn new(name: &'static str, title: &str, quick: bool) -> Self {
        let mut page = Self {
            name,
            quick,
            intro: String::new(),
            sections: String::new(),
            in_sections: false,
            tables: Map::new(),
            plots: Vec::new(),
            targets: Vec::new(),
            is_void: false,
        };
        page.add(format!("# {title}"));
        page.add(format!("Measured on {} with", machine::describe()));
        page.add(format!("```sh\n{}\n```", page.command()));
        page
    }

    fn command(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        format!("cargo xtask bench {} --write{quick}", self.name)
    }

    /// Starts a section.
    pub(crate) fn heading(&mut self, title: &str) {
        self.in_sections = true;
        self.add(format!("## {title}"));
    }

    pub(crate) fn add(&mut self, paragraph: impl Display) {
        let text = if self.in_sections { &mut self.sections } else { &mut self.intro };
        put(text, paragraph);
    }

    /// Adds a table to the JSON only.
    pub(crate) fn data(&mut self, name: &str, table: &ReportTable) {
        self.tables.insert(name.to_owned(), table.to_json());
    }

    /// Adds a table; `name` is its key in the JSON.
    pub(crate) fn table(&mut self, name: &str, table: &ReportTable) {
        self.data(name, table);
        self.add(table);
    }

    pub(crate) fn plot(&mut self, bars: &Bars) {
        let between = if bars.name.is_empty() { "" } else { "-" };
        let file = format!("{}{between}{}.svg", self.name, bars.name);
        let text = if self.in_sections { &mut self.sections } else { &mut self.intro };
        let _ = writeln!(text, "\n![{}]({file})", bars.title);
        self.plots.push((file, bars.to_svg()));
    }

    /// Records that nothing could be measured and why; the page on disk stays.
    pub(crate) fn skip(&mut self, why: impl Display) {
        self.is_void = true;
        self.add(why);
    }

    /// Adds a figure and its target.
    pub(crate) fn target(&mut self, what: impl Into<String>, figure: Option<f64>, target: Target) {
        if let Some(figure) = figure {
            self.targets.push(TargetResult { what: what.into(), figure, target });
        }
    }

    /// Returns the page as Markdown.
    fn text(&self) -> String {
        let mut text = self.intro.clone();
        if !self.targets.is_empty() {
            put_quietly(&mut text, "## Targets");
            put_quietly(&mut text, self.verdicts());
        }
        text.push('\n');
        text.push_str(&self.sections);
        text
    }

    fn verdicts(&self) -> ReportTable {
        let mut table = ReportTable::new(["What", "Figure", "Target", "Verdict"]);
        for result in &self.targets {
            let [target, verdict] = result.target.cells(result.figure);
            table.row([result.what.clone(), short(result.figure), target, verdict]);
        }
        table
    }

    fn json(&self) -> Value {
        let target = |result: &TargetResult| {
            json!({
                "what": result.what,
                "figure": result.figure,
                "target": result.target.to_string(),
                "met": result.target.is_met_by(result.figure),
            })
        };
        json!({
            "bench": self.name,
            "machine": machine::describe(),
            "command": self.command(),
            "targets": self.targets.iter().map(target).collect::<Vec<_>>(),
            "tables": self.tables,
        })
    }

    /// Prints the verdicts, which are complete only at the end.
    pub(crate) fn close(&self) {
        if !self.targets.is_empty() {
            print!("\n## Targets\n\n{}", self.verdicts());
        }
    }

    /// Writes the page, its plots and its JSON.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        if self.is_void {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        fs::write(folder.join(format!("{}.md", self.name)), self.text())?;
        let json = serde_json::to_string_pretty(&self.json())?;
        fs::write(folder.join(format!("{}.json", self.name)), json + "\n")?;
        for (file, svg) in &self.plots {
            fs::write(folder.join(file), svg)?;
        }
        Ok(())
    }
}

/// Appends a paragraph and prints it.
fn put(text: &mut String, paragraph: impl Display) {
    let start = text.len();
    put_quietly(text, paragraph);
    print!("{}", &text[start..]);
}

fn put_quietly(text: &mut String, paragraph: impl Display) {
    if !text.is_empty() {
        text.push('\n');
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", paragraph.to_string().trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_its_picture_and_its_figures() {
        let mut page = ReportPage::new("sample", "A sample", true);
        page.heading("Sizes");
        let mut table = ReportTable::new(["file", "bytes"]);
        table.row(["a".to_owned(), "7".to_owned()]);
        page.table("sizes", &table);
        page.plot(&Bars {
            name: "",
            title: "Bytes".to_owned(),
            series: vec!["ours".to_owned()],
            groups: vec![("a".to_owned(), vec![Some(7.0)])],
            mark: None,
            is_log: false,
        });
        page.target("bytes", Some(7.0), Target::AtMost(6.0));
        page.target("not measured", None, Target::AtMost(6.0));
        let folder = tempfile::tempdir().unwrap();
        page.write(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let text = read("sample.md");
        assert!(text.contains("cargo xtask bench sample --write --quick"));
        assert!(text.find("## Targets") < text.find("## Sizes"), "{text}");
        assert!(text.contains("| bytes | 7      | ≤ 6    | NOT MET |"), "{text}");
        assert!(text.contains("![Bytes](sample.svg)"));
        assert!(read("sample.svg").starts_with("<svg"));
        let json: Value = serde_json::from_str(&read("sample.json")).unwrap();
        assert_eq!(json["tables"]["sizes"][0]["bytes"], 7);
        assert_eq!(json["targets"][0]["met"], false);
        assert_eq!(json["targets"].as_array().unwrap().len(), 1);
    }
}
