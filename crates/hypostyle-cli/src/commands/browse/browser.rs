//! The browser without a terminal: its state, and what keys and answers do to it.
//!
//! `screen` gives it the size of the terminal, keys and the answers of tasks, and carries out the
//! [`Effect`]s that it asks for. `draw` shows it.

use std::sync::Arc;

use arrow_array::{Array, StringArray};
use hypostyle::predicate::Predicate;
use unicode_width::UnicodeWidthStr;

use super::arrange::{Arranged, Matches, Sort};
use super::cells::{CellCache, MAX_WHOLE_CHARS};
use super::columns::{Placed, ShownColumns};
use super::find::Needle;
use super::job::{Answer, Purpose, Task};
use super::page::{Body, Page, clip};
use super::prompt::{Problem, Prompt, Question};
use super::source::{Rows, Source};
use super::thousands;
use super::ticket::Ticket;
use crate::failure::{Failure, Result};

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    FirstRow,
    LastRow,
    Enter,
    Esc,
    Backspace,
    Delete,
}

/// What the browser asks its terminal to do.
#[derive(Debug)]
pub(super) enum Effect {
    Start { id: u64, task: Task, ticket: Arc<Ticket> },
    Copy(String),
    Redraw,
    Suspend,
    Quit,
}

/// What covers the grid, or takes the keys.
#[derive(Debug)]
pub(super) enum Mode {
    Grid,
    Prompt(Prompt),
    Page(Page),
    /// The list of columns, and the selected place in it.
    Columns {
        selected: usize,
        top: usize,
    },
}

/// The last line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// A task that was started.
#[derive(Debug)]
struct Running {
    id: u64,
    ticket: Arc<Ticket>,
    what: &'static str,
}

/// Cells that are being read.
#[derive(Debug)]
struct Loading {
    running: Running,
    start: u64,
    columns: Vec<usize>,
}

/// A filter, and what it found.
#[derive(Debug)]
struct Filter {
    text: String,
    predicate: Predicate,
    matches: Matches,
}

/// Lines above and below the rows.
const FRAME_LINES: u16 = 3;

/// The state of the browser.
#[derive(Debug)]
pub(super) struct Browser {
    source: Arc<Source>,
    pub(super) columns: ShownColumns,
    rows: Rows,
    filter: Option<Filter>,
    /// The filter that is being evaluated.
    wanted: Option<(String, Predicate)>,
    sort: Option<Sort>,
    position: u64,
    top: u64,
    width: u16,
    height: u16,
    placed: Vec<Placed>,
    cells: CellCache,
    needle: Option<Needle>,
    mode: Mode,
    message: Option<Message>,
    loading: Option<Loading>,
    /// A window that could not be read: its columns are read one by one.
    suspect: Option<u64>,
    work: Option<Running>,
    effects: Vec<Effect>,
    next_id: u64,
}

impl Browser {
    pub(super) fn new(source: Arc<Source>) -> Self {
        let mut columns = ShownColumns::new(source.columns());
        for column in 0..source.columns() {
            columns.fit(column, clip(source.column_name(column), MAX_TITLE).width() + 1);
        }
        let text = "? help   / find   & filter   q quit".to_owned();
        Self {
            rows: Rows::All(source.rows()),
            source,
            columns,
            filter: None,
            wanted: None,
            sort: None,
            position: 0,
            top: 0,
            width: 0,
            height: 0,
            placed: Vec::new(),
            cells: CellCache::default(),
            needle: None,
            mode: Mode::Grid,
            message: Some(Message { text, is_error: false }),
            loading: None,
            suspect: None,
            work: None,
            effects: Vec::new(),
            next_id: 0,
        }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn mode(&self) -> &Mode {
        &self.mode
    }

    pub(super) fn placed(&self) -> &[Placed] {
        &self.placed
    }

    pub(super) fn needle(&self) -> Option<&Needle> {
        self.needle.as_ref()
    }

    pub(super) fn sort(&self) -> Option<Sort> {
        self.sort
    }

    /// Returns the position of the current row, and of the first one on the screen.
    pub(super) fn positions(&self) -> (u64, u64) {
        (self.position, self.top)
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the text of the filter, if there is one.
    pub(super) fn filter(&self) -> Option<&str> {
        self.filter.as_ref().map(|filter| filter.text.as_str())
    }

    pub(super) fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// Returns what is running, with its percentage.
    pub(super) fn progress(&self) -> Option<(&'static str, u64)> {
        self.work.as_ref().map(|work| (work.what, work.ticket.percent()))
    }

    /// Returns whether something is running on another thread.
    pub(super) fn is_busy(&self) -> bool {
        self.work.is_some() || self.loading.is_some()
    }

    /// Returns how many rows fit on the screen.
    pub(super) fn body_rows(&self) -> u16 {
        self.height.saturating_sub(FRAME_LINES)
    }

    /// Returns the width of the row numbers; 0 where there is no room for them.
    pub(super) fn gutter(&self) -> u16 {
        let digits = u16::try_from(self.source.rows().max(1).ilog10()).unwrap_or(0);
        let width = digits.saturating_add(2);
        if self.width >= width.saturating_mul(3) { width } else { 0 }
    }

    /// Takes what is to be done.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Makes everything ready to be drawn on a screen of this size, and asks for missing cells.
    pub(super) fn prepare(&mut self, width: u16, height: u16) {
        (self.width, self.height) = (width, height);
        let rows = u64::from(self.body_rows().max(1));
        self.position = self.position.min(self.rows.len().saturating_sub(1));
        self.top = self.top.min(self.position).max(self.position.saturating_sub(rows - 1));
        // The last row is at the bottom.
        self.top = self.top.min(self.rows.len().saturating_sub(rows));
        self.fit_columns();
        self.placed = self.columns.place(self.gutter().min(width), width);
        self.load();
        match &mut self.mode {
            Mode::Page(page) => {
                page.lay_out(&self.source, width, height.saturating_sub(2));
            }
            Mode::Columns { selected, top } => {
                let lines = usize::from(height.saturating_sub(FRAME_LINES).max(1));
                *selected = (*selected).min(self.columns.order().len().saturating_sub(1));
                *top = (*top).min(*selected).max(selected.saturating_sub(lines - 1));
            }
            Mode::Grid | Mode::Prompt(_) => {}
        }
    }

    /// Makes columns as wide as the cells on the screen.
    fn fit_columns(&mut self) {
        let placed = std::mem::take(&mut self.placed);
        for position in self.top..self.top.saturating_add(u64::from(self.body_rows())) {
            for &Placed { column, .. } in &placed {
                if let Some(Cell::Text(text)) = self.cell(position, column) {
                    self.columns.fit(column, clip(&text, MAX_TITLE).width());
                }
            }
        }
        self.placed = placed;
    }

    /// Asks for cells on the screen that are not there.
    fn load(&mut self) {
        let end = self.top.saturating_add(u64::from(self.body_rows())).min(self.rows.len());
        let mut position = self.top;
        while position < end {
            let window = self.source.window(&self.rows, position);
            let placed = self.placed.iter().map(|placed| placed.column);
            let mut missing: Vec<usize> =
                placed.filter(|&column| self.cells.get(window.start, column).is_none()).collect();
            if missing.is_empty() || window.end <= position {
                position = window.end.max(position.saturating_add(1));
                continue;
            }
            if let Some(loading) = &self.loading {
                // What is being read but no longer on the screen need not be read to its end.
                if loading.start != window.start {
                    loading.running.ticket.cancel();
                }
                return;
            }
            let start = window.start;
            if self.suspect == Some(start) {
                missing.truncate(1);
            }
            let columns = missing.clone();
            let task = Task::Cells { rows: self.rows.clone(), window, columns: missing };
            let running = self.start("reading", task);
            self.loading = Some(Loading { running, start, columns });
            return;
        }
    }

    fn start(&mut self, what: &'static str, task: Task) -> Running {
        let (id, ticket) = (self.next_id, Arc::new(Ticket::default()));
        self.next_id = self.next_id.saturating_add(1);
        self.effects.push(Effect::Start { id, task, ticket: ticket.clone() });
        Running { id, ticket, what }
    }

    /// Starts work of which there is one at a time.
    fn work(&mut self, what: &'static str, task: Task) {
        self.stop();
        let running = self.start(what, task);
        self.work = Some(running);
    }

    /// Stops the work. Returns whether there was any.
    pub(super) fn stop(&mut self) -> bool {
        let work = self.work.take();
        work.as_ref().inspect(|work| work.ticket.cancel());
        self.wanted = None;
        work.is_some()
    }

    fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: false });
    }

    fn complain(&mut self, failure: &Failure) {
        self.message = Some(Message { text: failure.message().to_owned(), is_error: true });
    }

    /// Takes the answer of a task; `None` if it was cancelled.
    pub(super) fn answer(&mut self, id: u64, answer: Result<Option<Answer>>) {
        if self.loading.as_ref().is_some_and(|loading| loading.running.id == id) {
            self.answer_cells(answer);
        } else if self.work.as_ref().is_some_and(|running| running.id == id) {
            self.work = None;
            match answer {
                Ok(Some(answer)) => self.answer_work(answer),
                Ok(None) => {}
                Err(failure) => {
                    self.wanted = None;
                    self.complain(&failure);
                }
            }
        }
    }

    fn answer_cells(&mut self, answer: Result<Option<Answer>>) {
        let Some(Loading { start, columns: asked, .. }) = self.loading.take() else { return };
        match answer {
            Ok(Some(Answer::Cells { window, columns })) => {
                for (column, texts) in columns {
                    self.cells.put(window.start, column, Some(texts));
                }
            }
            Ok(_) => {}
            Err(failure) => {
                match asked.as_slice() {
                    [column] => self.cells.put(start, *column, None),
                    _ => self.suspect = Some(start),
                }
                self.complain(&failure);
            }
        }
    }

    fn answer_work(&mut self, answer: Answer) {
        match answer {
            Answer::Cells { .. } => {}
            Answer::Arranged(arranged) => self.arrange(arranged),
            Answer::Found(None) => {
                let needle = self.needle.as_ref().map_or("", Needle::text);
                self.say(format!("no shown column has {needle}"));
            }
            Answer::Found(Some(found)) => {
                self.position = found.position;
                self.columns.go_to(found.column);
                self.message = None;
                if found.wrapped {
                    self.say("the search went on at the other end");
                }
            }
            Answer::Profiled { column, profile } => {
                let title = format!("Statistics of {}", self.source.column_name(column));
                let of_filtered = self.filter.is_some();
                let body = Body::Profile { column, profile, of_filtered };
                self.mode = Mode::Page(Page::new(title, body));
            }
            Answer::Row { row, cells, why } => self.answer_row(row, cells, why),
        }
    }

    fn answer_row(&mut self, row: u64, mut cells: Vec<Option<String>>, why: Purpose) {
        let mut take =
            |column: usize| cells.get_mut(column).and_then(Option::take).unwrap_or_default();
        let text = match why {
            Purpose::CopyCell(column) => take(column),
            Purpose::CopyRow => {
                let shown = self.columns.shown();
                shown.into_iter().map(take).collect::<Vec<_>>().join("\t")
            }
            Purpose::Show => {
                let order = self.columns.shown();
                let mut cell = |column| (column, cells.get_mut(column).and_then(Option::take));
                let cells = order.into_iter().map(&mut cell).collect();
                let body = Body::Record { position: self.position, cells };
                let page = Page::new(format!("Row {}", thousands(row)), body);
                self.mode = Mode::Page(page);
                return;
            }
        };
        if text.len() > MAX_WHOLE_CHARS {
            let text = format!("{} bytes are too many to copy", thousands(text.len() as u64));
            self.message = Some(Message { text, is_error: true });
            return;
        }
        self.say(format!("copied {} characters", thousands(text.chars().count() as u64)));
        self.effects.push(Effect::Copy(text));
    }

    /// Shows rows that were filtered and sorted, and stays on the current one if it is there.
    fn arrange(&mut self, arranged: Arranged) {
        let row = self.rows.at(self.position);
        let Arranged { matches, sort, rows } = arranged;
        let wanted = self.wanted.take();
        let was_filtered = self.filter.take();
        (self.rows, self.sort) = (rows, sort);
        self.cells.clear();
        (self.loading, self.suspect) = (None, None);
        self.position = match (row, self.sort) {
            (Some(row), None) => self.rows.first_from(row),
            _ => 0,
        };
        let of = self.source.rows();
        match (matches, wanted) {
            (Some(matches), Some((text, predicate))) => {
                let more = if matches.has_more { "the first " } else { "" };
                let found = matches.rows.len() as u64;
                let pruned = match matches.groups_pruned {
                    0 => String::new(),
                    pruned => format!(
                        "; statistics excluded {pruned} of {} row groups",
                        self.source.row_groups()
                    ),
                };
                self.say(format!(
                    "{more}{} of {} rows match{pruned}",
                    thousands(found),
                    thousands(of)
                ));
                self.filter = Some(Filter { text, predicate, matches });
            }
            _ => {
                self.message = None;
                if was_filtered.is_some() {
                    self.say(format!("all {} rows", thousands(of)));
                }
            }
        }
    }

    /// Returns a cell as it is shown; `None` beyond the end.
    pub(super) fn cell(&self, position: u64, column: usize) -> Option<Cell> {
        self.rows.at(position)?;
        let start = self.source.window(&self.rows, position).start;
        Some(match self.cells.get(start, column) {
            None => Cell::Missing,
            Some(None) => Cell::Damaged,
            Some(Some(texts)) => match usize::try_from(position.saturating_sub(start)) {
                Ok(place) if place < texts.len() => cell(&texts, place),
                _ => Cell::Damaged,
            },
        })
    }

    /// Takes text that was pasted.
    pub(super) fn paste(&mut self, text: &str) {
        if let Mode::Prompt(prompt) = &mut self.mode {
            prompt.insert(text);
        }
    }

    /// Does what a key means.
    pub(super) fn key(&mut self, key: Key) {
        match key {
            Key::Ctrl('c') if self.stop() => return self.say("stopped"),
            Key::Ctrl('c') => return self.effects.push(Effect::Quit),
            Key::Ctrl('l') => return self.effects.push(Effect::Redraw),
            Key::Ctrl('z') => return self.effects.push(Effect::Suspend),
            Key::Esc if self.stop() => return self.say("stopped"),
            _ => {}
        }
        match std::mem::replace(&mut self.mode, Mode::Grid) {
            Mode::Grid => {
                self.message = None;
                self.key_in_grid(key);
            }
            Mode::Prompt(prompt) => self.key_in_prompt(prompt, key),
            Mode::Page(page) => self.key_in_page(page, key),
            Mode::Columns { selected, top } => self.key_in_columns(selected, top, key),
        }
    }

    fn key_in_grid(&mut self, key: Key) {
        let screen = u64::from(self.body_rows().max(1));
        let current = self.columns.current();
        match key {
            Key::Up | Key::Char('k') => self.position = self.position.saturating_sub(1),
            Key::Down | Key::Char('j') => self.move_to(self.position.saturating_add(1)),
            Key::PageUp | Key::Char('b') | Key::Ctrl('b') => {
                self.top = self.top.saturating_sub(screen);
                self.position = self.position.saturating_sub(screen);
            }
            Key::PageDown | Key::Char(' ') | Key::Ctrl('f') => {
                self.top = self.top.saturating_add(screen);
                self.move_to(self.position.saturating_add(screen));
            }
            Key::FirstRow | Key::Char('g') => self.position = 0,
            Key::LastRow | Key::Char('G') => self.move_to(u64::MAX),
            Key::Left | Key::Char('h') => self.columns.step(-1),
            Key::Right | Key::Char('l') => self.columns.step(1),
            Key::Home | Key::Char('0') => self.columns.step(isize::MIN),
            Key::End | Key::Char('$') => self.columns.step(isize::MAX),
            Key::Char('[') => self.step_group(false),
            Key::Char(']') => self.step_group(true),
            Key::Char(':') => self.ask(Question::Row, ""),
            Key::Char(digit @ '1'..='9') => self.ask(Question::Row, &digit.to_string()),
            Key::Char('/') => self.ask(Question::Find, ""),
            Key::Char('&') => {
                let text = self.filter().unwrap_or_default().to_owned();
                self.ask(Question::Filter, &text);
            }
            Key::Char('n') => self.find(true, false),
            Key::Char('N') => self.find(false, false),
            Key::Char('s') => self.sort_next(),
            Key::Char('-') => current.into_iter().for_each(|column| self.columns.toggle(column)),
            Key::Char('+') => self.columns.show_all(),
            Key::Char('f') => self.columns.freeze(),
            Key::Char('<') => self.columns.shift(-1),
            Key::Char('>') => self.columns.shift(1),
            Key::Char('o') => {
                let source = &self.source;
                self.columns.sort(|column| source.column_name(column).to_lowercase());
            }
            Key::Char('w') => self.columns.widen(),
            Key::Char('c') => {
                let place = self.columns.order().iter().position(|&it| Some(it) == current);
                self.mode = Mode::Columns { selected: place.unwrap_or(0), top: 0 };
            }
            Key::Char('i') => {
                if let Some(column) = current {
                    self.work("statistics", Task::Profile { rows: self.base(), column });
                }
            }
            Key::Enter => self.read_row(Purpose::Show),
            Key::Char('y') => {
                current.into_iter().for_each(|column| self.read_row(Purpose::CopyCell(column)));
            }
            Key::Char('Y') => self.read_row(Purpose::CopyRow),
            Key::Char('?') => {
                self.mode = Mode::Page(Page::new("Help".to_owned(), Body::Help));
            }
            Key::Char('q') => self.effects.push(Effect::Quit),
            Key::Esc => self.needle = None,
            _ => {}
        }
    }

    fn move_to(&mut self, position: u64) {
        self.position = position.min(self.rows.len().saturating_sub(1));
    }

    /// Moves to the start of the next row group, or of this one and then the one before.
    fn step_group(&mut self, forward: bool) {
        let Rows::All(_) = self.rows else {
            return self.say("row groups are those of the file: without filter and order");
        };
        let group = self.source.group_of(self.position);
        let start = self.source.group_rows(group).start;
        let target = match forward {
            true => group.saturating_add(1).min(self.source.row_groups().saturating_sub(1)),
            false if self.position > start => group,
            false => group.saturating_sub(1),
        };
        let rows = self.source.group_rows(target);
        self.move_to(rows.start);
        self.top = self.position;
        self.say(format!(
            "row group {} of {}, {} rows",
            thousands(target as u64 + 1),
            thousands(self.source.row_groups() as u64),
            thousands(rows.end.saturating_sub(rows.start))
        ));
    }

    fn ask(&mut self, question: Question, text: &str) {
        self.mode = Mode::Prompt(Prompt::new(question, text));
    }

    /// Returns the shown rows in the order of the file.
    fn base(&self) -> Rows {
        match &self.filter {
            Some(filter) => Rows::Listed(filter.matches.rows.clone()),
            None => Rows::All(self.source.rows()),
        }
    }

    /// Finds the next row with the text, from this one on or behind it.
    fn find(&mut self, forward: bool, from_here: bool) {
        let Some(needle) = self.needle.clone() else {
            return self.ask(Question::Find, "");
        };
        let from = match forward {
            true => self.position.saturating_add(u64::from(!from_here)),
            false => self.position,
        };
        let (rows, base) = (self.rows.clone(), self.base());
        let columns = self.columns.shown();
        self.work("finding", Task::Find { needle, columns, rows, base, from, forward });
    }

    fn sort_next(&mut self) {
        let Some(column) = self.columns.current() else { return };
        let sort = match self.sort {
            Some(Sort { column: by, descending: false }) if by == column => {
                Some(Sort { column, descending: true })
            }
            Some(Sort { column: by, descending: true }) if by == column => None,
            _ => Some(Sort { column, descending: false }),
        };
        let filter = self
            .filter
            .as_ref()
            .map(|filter| (filter.text.clone(), filter.predicate.clone(), filter.matches.clone()));
        let (wanted, filter) = match filter {
            Some((text, predicate, matches)) => {
                (Some((text, predicate.clone())), Some((predicate, Some(matches))))
            }
            None => (None, None),
        };
        self.work("sorting", Task::Arrange { filter, sort });
        self.wanted = wanted;
    }

    fn read_row(&mut self, why: Purpose) {
        if let Some(row) = self.rows.at(self.position) {
            self.work("reading the row", Task::Row { row, why });
        }
    }

    fn key_in_prompt(&mut self, mut prompt: Prompt, key: Key) {
        match key {
            Key::Esc => return,
            Key::Enter => return self.submit(prompt),
            Key::Backspace if !prompt.backspace() => return,
            Key::Delete | Key::Ctrl('d') => prompt.delete(),
            Key::Left | Key::Ctrl('b') => prompt.step(-1),
            Key::Right | Key::Ctrl('f') => prompt.step(1),
            Key::Home | Key::Ctrl('a') => prompt.go_to(0),
            Key::End | Key::Ctrl('e') => prompt.go_to(usize::MAX),
            Key::Ctrl('u') => prompt.clear(),
            Key::Ctrl('w') => prompt.delete_word(),
            Key::Char(c) => prompt.insert(c.encode_utf8(&mut [0; 4])),
            _ => {}
        }
        self.mode = Mode::Prompt(prompt);
    }

    /// Does what a prompt is for, or shows what is wrong with its line.
    fn submit(&mut self, mut prompt: Prompt) {
        let text = prompt.text();
        let done = match prompt.question {
            Question::Find => {
                if !text.is_empty() {
                    self.needle = Some(Needle::new(&text));
                }
                if self.needle.is_some() {
                    self.find(true, !text.is_empty());
                }
                Ok(())
            }
            Question::Filter => self.filter_by(&text),
            Question::Row => self.go_to_row(text.trim()),
        };
        if let Err(problem) = done {
            prompt.problem = Some(problem);
            self.mode = Mode::Prompt(prompt);
        }
    }

    fn filter_by(&mut self, text: &str) -> Result<(), Problem> {
        let sort = self.sort;
        if text.trim().is_empty() {
            if self.filter.is_some() {
                self.work("filtering", Task::Arrange { filter: None, sort });
            }
            return Ok(());
        }
        let parsed = Predicate::parse(text)
            .and_then(|predicate| predicate.bind(self.source.schema()).map(|_| predicate));
        let predicate = parsed.map_err(|err| Problem {
            place: hypostyle_view::place(text, &err),
            message: err.to_string(),
        })?;
        let filter = Some((predicate.clone(), None));
        self.work("filtering", Task::Arrange { filter, sort });
        self.wanted = Some((text.to_owned(), predicate));
        Ok(())
    }

    fn go_to_row(&mut self, text: &str) -> Result<(), Problem> {
        if text.is_empty() {
            return Ok(());
        }
        let problem = |message: String| Problem { message, place: None };
        let digits = |text: &str| text.replace([',', '_'], "").parse::<u64>().ok();
        if let Some(share) = text.strip_suffix('%').and_then(digits) {
            let rows = u128::from(self.rows.len()) * u128::from(share.min(100)) / 100;
            self.move_to(u64::try_from(rows).unwrap_or(u64::MAX));
            return Ok(());
        }
        let row = digits(text)
            .ok_or_else(|| problem(format!("`{text}` is not a row number, such as 1000 or 50%")))?;
        if row >= self.source.rows() {
            let last = thousands(self.source.rows().saturating_sub(1));
            return Err(problem(format!("the last row is {last}")));
        }
        let position = match self.sort {
            None => Some(self.rows.first_from(row)).filter(|&at| self.rows.at(at) == Some(row)),
            Some(_) => self.rows.position_of(row),
        };
        self.position = position
            .ok_or_else(|| problem(format!("row {} does not match the filter", thousands(row))))?;
        Ok(())
    }

    fn key_in_page(&mut self, mut page: Page, key: Key) {
        let screen = usize::from(self.height.saturating_sub(2).max(1));
        match key {
            Key::Esc | Key::Char('q' | '?' | 'i') => return,
            Key::Enter if matches!(page.body, Body::Record { .. }) => return,
            Key::Up | Key::Char('k') => page.top = page.top.saturating_sub(1),
            Key::Down | Key::Char('j') | Key::Enter => page.top = page.top.saturating_add(1),
            Key::PageUp | Key::Char('b') => page.top = page.top.saturating_sub(screen),
            Key::PageDown | Key::Char(' ') => page.top = page.top.saturating_add(screen),
            Key::FirstRow | Key::Home | Key::Char('g') => page.top = 0,
            Key::LastRow | Key::End | Key::Char('G') => page.top = usize::MAX,
            Key::Char('Y') => self.read_row(Purpose::CopyRow),
            Key::Left | Key::Right | Key::Char('h' | 'l' | 'n' | 'p') => {
                if let Body::Record { position, .. } = page.body {
                    let back = matches!(key, Key::Left | Key::Char('h' | 'p'));
                    match back {
                        true => self.position = position.saturating_sub(1),
                        false => self.move_to(position.saturating_add(1)),
                    }
                    self.read_row(Purpose::Show);
                }
            }
            _ => {}
        }
        self.mode = Mode::Page(page);
    }

    fn key_in_columns(&mut self, mut selected: usize, top: usize, key: Key) {
        let screen = usize::from(self.body_rows().max(1));
        let last = self.columns.order().len().saturating_sub(1);
        let column = self.columns.order().get(selected).copied();
        match key {
            Key::Esc | Key::Char('q' | 'c') => return,
            Key::Up | Key::Char('k') => selected = selected.saturating_sub(1),
            Key::Down | Key::Char('j') => selected = selected.saturating_add(1).min(last),
            Key::PageUp | Key::Char('b') => selected = selected.saturating_sub(screen),
            Key::PageDown => selected = selected.saturating_add(screen).min(last),
            Key::FirstRow | Key::Home | Key::Char('g') => selected = 0,
            Key::LastRow | Key::End | Key::Char('G') => selected = last,
            Key::Char(' ' | '-') => {
                column.into_iter().for_each(|column| self.columns.toggle(column));
            }
            Key::Char('+') => self.columns.show_all(),
            Key::Enter => {
                return column.into_iter().for_each(|column| self.columns.go_to(column));
            }
            _ => {}
        }
        self.mode = Mode::Columns { selected, top };
    }
}

/// Widest title and widest cell that widen a column.
const MAX_TITLE: usize = 400;

/// A cell of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Text(String),
    Null,
    /// It is being read.
    Missing,
    /// It cannot be read.
    Damaged,
}

fn cell(texts: &StringArray, place: usize) -> Cell {
    if texts.is_null(place) { Cell::Null } else { Cell::Text(texts.value(place).to_owned()) }
}
