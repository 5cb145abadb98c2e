//! `hyp grep`: prints the lines of files and archives that match a pattern.
//!
//! [`arguments`] says what is searched for, [`files`] where; [`open`] makes a text of each file;
//! [`printer`] and [`json`] print the lines that `hypostyle::line_search` finds.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use hypostyle::line_search::{LineMatcher, LineSearcher, LineSink, PartBlocks};
use hypostyle::text::LineBlock;

use super::Status;
use crate::failure::{Failure, InFile, Result};
use crate::output::{Out, plain_lines};

mod arguments;
mod files;
mod json;
mod open;
mod printer;
mod totals;

pub(crate) use arguments::Args;
use arguments::Mode;
use files::SearchFile;
use json::JsonPrinter;
use open::Opened;
use printer::Printer;
use totals::Totals;

/// The first bytes of a text, in which a zero byte says that it is not a text.
const BINARY_HEAD_BYTES: usize = 32 << 10;

/// Searches all files; problems with one of them do not keep it from the others.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let start = Instant::now();
    let (matcher, words) = args.matcher()?;
    let (files, problems) = files::list(words, args)?;
    let mut search = Search {
        args,
        matcher,
        names: args.shows_names(files.len() > 1 || files.iter().any(|file| file.is_in_folder)),
        totals: Totals::default(),
        problems: 0,
        is_over: false,
        has_printed: false,
    };
    for problem in problems {
        search.report(&problem);
    }
    for file in &files {
        match search.file(file, out) {
            Err(failure) if failure.is_of_output() => return Err(failure),
            Err(failure) => search.report(&failure),
            Ok(()) => {}
        }
        if search.is_over {
            break;
        }
    }
    let Search { totals, problems, .. } = search;
    if args.is_json() {
        totals.print_json(start.elapsed(), out)?;
    } else if args.stats {
        out.flush()?;
        totals.print(start.elapsed(), &mut io::stderr().lock())?;
    }
    Ok(match (totals.files_with_lines, problems) {
        (1.., _) if args.mode() == Mode::Quiet => Status::Fine,
        (_, 1..) => Status::NotSearched,
        (0, _) => Status::NotFound,
        _ => Status::Fine,
    })
}

/// A search through all files.
struct Search<'a> {
    args: &'a Args,
    matcher: LineMatcher,
    /// Whether lines are printed with the name of their file.
    names: bool,
    totals: Totals,
    /// Files that could not be searched.
    problems: u64,
    is_over: bool,
    /// Whether a line was printed before.
    has_printed: bool,
}

impl Search<'_> {
    fn report(&mut self, failure: &Failure) {
        self.problems = self.problems.saturating_add(1);
        if !self.args.is_silent() {
            let _ = writeln!(io::stderr(), "error: {}", plain_lines(&failure.report_text()));
        }
    }

    /// Searches a file, or the members of a bundle.
    fn file(&mut self, file: &SearchFile, out: &mut dyn Out) -> Result<()> {
        match open::open(file, &self.matcher, self.args)? {
            Opened::Text(text) => self.text(&file.name, text, out),
            Opened::Bundle(members) => {
                self.names = self.args.shows_names(true);
                for (name, member) in members {
                    let text = open::archive(&member, &self.matcher, self.args);
                    let searched = text.in_file(&name).and_then(|text| self.text(&name, text, out));
                    match searched {
                        Err(failure) if failure.is_of_output() => return Err(failure),
                        Err(failure) => self.report(&failure),
                        Ok(()) => {}
                    }
                    if self.is_over {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Searches one text.
    fn text(&mut self, name: &str, text: PartBlocks, out: &mut dyn Out) -> Result<()> {
        let args = self.args;
        self.totals.files = self.totals.files.saturating_add(1);
        let mut text = TextSearch {
            searcher: LineSearcher::new(&self.matcher)
                .with_context(args.before(), args.after())
                .with_max_lines(args.max_lines()),
            text,
            bytes: 0,
        };
        let shown_name = self.names.then_some(name);
        let result = match args.mode() {
            Mode::Json => {
                let mut printer = JsonPrinter::new(name, &self.matcher, out);
                let result = text.lines(&mut printer);
                let end = printer.end(text.searcher.selected(), text.bytes);
                result.and(end)
            }
            Mode::Lines => {
                let mut printer =
                    Printer::new(shown_name, &self.matcher, args, self.has_printed, out);
                let result = text.lines(&mut printer);
                self.has_printed = printer.has_printed();
                let end = printer.end(name);
                result.and(end)
            }
            Mode::Count | Mode::Names | Mode::NamesWithout | Mode::Quiet => text.count(),
        };
        self.totals.add(&text.searcher, text.bytes, text.text.skipped_bytes());
        result.map_err(|failure| failure.in_file(name))?;
        let selected = text.searcher.selected();
        let is_found = selected > 0;
        match args.mode() {
            Mode::Count => {
                if let Some(name) = shown_name {
                    printer::print_name(name, args, out).map_err(of_output)?;
                    out.write_all(b":").map_err(of_output)?;
                }
                writeln!(out, "{selected}").map_err(of_output)?;
            }
            Mode::Names | Mode::NamesWithout if is_found == (args.mode() == Mode::Names) => {
                printer::print_name(name, args, out).map_err(of_output)?;
                out.write_all(b"\n").map_err(of_output)?;
            }
            Mode::Quiet => self.is_over = is_found,
            _ => {}
        }
        Ok(())
    }
}

/// Prints the lines of one text.
trait PrintLines: LineSink {
    /// Is told the first bytes of the text.
    fn start(&mut self, head: &[u8]);

    /// Returns whether no further line will be printed.
    fn is_done(&self) -> bool;

    /// Takes the failure of the output, if it failed.
    fn failure(&mut self) -> Option<Failure>;
}

fn of_output(cause: io::Error) -> Failure {
    Failure::of_output("standard output", &cause)
}

/// A search through one text.
struct TextSearch<'a> {
    searcher: LineSearcher<'a>,
    text: PartBlocks,
    /// Bytes that were searched.
    bytes: u64,
}

impl TextSearch<'_> {
    fn count(&mut self) -> Result<()> {
        self.each(|searcher, block| Ok(searcher.count(block)))
    }

    /// Prints the lines that are found.
    fn lines(&mut self, printer: &mut dyn PrintLines) -> Result<()> {
        let mut is_first = true;
        let searched = self.each(|searcher, block| {
            // A text whose start is left out has no zero byte (at1.md, §11.3).
            if std::mem::take(&mut is_first) && block.start.offset == 0 {
                printer.start(block.text.get(..BINARY_HEAD_BYTES).unwrap_or(&block.text));
            }
            let flow = searcher.search(block, printer)?;
            Ok(if printer.is_done() { ControlFlow::Break(()) } else { flow })
        });
        match printer.failure() {
            Some(failure) => Err(failure),
            None => searched,
        }
    }

    fn each(
        &mut self,
        mut search: impl FnMut(&mut LineSearcher<'_>, &LineBlock) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut block = LineBlock::default();
        while let Some(next) = self.text.next(block)? {
            self.bytes = self.bytes.saturating_add(next.text.len() as u64);
            if search(&mut self.searcher, &next)?.is_break() {
                break;
            }
            block = next;
        }
        Ok(())
    }
}
