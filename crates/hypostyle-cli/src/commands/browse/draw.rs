//! Draws the browser.
//!
//! Every text goes through `plain`, so that no cell and no name controls the terminal.

use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::style::{Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::browser::{Browser, Cell, Mode};
use super::columns::Placed;
use super::page::{Page, Tone, clip};
use super::prompt::Prompt;
use super::source::Source;
use super::thousands;
use crate::output::plain;

/// Draws everything.
pub(super) fn draw(browser: &Browser, frame: &mut Frame<'_>) {
    let mut canvas = Canvas::new(frame);
    match browser.mode() {
        Mode::Page(page) => draw_page(page, &mut canvas),
        Mode::Columns { selected, top } => draw_columns(browser, *selected, *top, &mut canvas),
        Mode::Grid | Mode::Prompt(_) => draw_grid(browser, &mut canvas),
    }
    match browser.mode() {
        Mode::Prompt(prompt) => draw_prompt(prompt, &mut canvas),
        _ => draw_status(browser, &mut canvas),
    }
}

/// The screen.
struct Canvas<'c, 'f> {
    frame: &'c mut Frame<'f>,
    width: u16,
    height: u16,
}

impl<'c, 'f> Canvas<'c, 'f> {
    fn new(frame: &'c mut Frame<'f>) -> Self {
        let area = frame.area();
        Self { frame, width: area.width, height: area.height }
    }

    /// Writes a text in at most `width` cells, and returns where it ends.
    fn put(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
        if x >= self.width || y >= self.height || width == 0 {
            return x;
        }
        let text = plain(text);
        self.frame.buffer_mut().set_stringn(x, y, text, usize::from(width), style).0
    }

    /// Fills a line with a style.
    fn line(&mut self, y: u16, style: Style) {
        if y < self.height {
            let area = ratatui::layout::Rect::new(0, y, self.width, 1);
            self.frame.buffer_mut().set_style(area, style);
        }
    }

    fn clear_line(&mut self, y: u16) {
        let spaces = " ".repeat(usize::from(self.width));
        self.put(0, y, self.width, &spaces, Style::new());
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BAR: Style = Style::new().add_modifier(Modifier::REVERSED);

fn title(canvas: &mut Canvas<'_, '_>, text: &str) {
    if canvas.height > 1 {
        canvas.put(0, 0, canvas.width, text, BAR);
        canvas.line(0, BAR);
    }
}

fn draw_grid(browser: &Browser, canvas: &mut Canvas<'_, '_>) {
    let source = browser.source();
    let (position, top) = browser.positions();
    let rows = match browser.filter() {
        None => format!("{} rows", thousands(source.rows())),
        Some(filter) => format!(
            "{} of {} rows where {filter}",
            thousands(browser.rows().len()),
            thousands(source.rows())
        ),
    };
    title(canvas, &format!(" {}   {}   {rows}", source.name(), source.kind()));
    if canvas.height < 3 {
        return;
    }
    let gutter = browser.gutter();
    for placed in browser.placed() {
        draw_title(browser, *placed, canvas);
    }
    for line in 0..browser.body_rows() {
        let at = top.saturating_add(u64::from(line));
        let Some(row) = browser.rows().at(at) else { break };
        let y = line.saturating_add(2);
        let is_current = at == position;
        if gutter > 0 {
            let width = usize::from(gutter.saturating_sub(2));
            let style = if is_current { BOLD } else { DIM };
            canvas.put(0, y, gutter, &format!("{row:>width$}"), style);
        }
        for placed in browser.placed() {
            draw_cell(browser, at, *placed, y, is_current, canvas);
        }
    }
    if browser.rows().len() == 0 && canvas.height > 3 {
        canvas.put(gutter, 2, canvas.width, "no rows", DIM);
    }
}

fn draw_title(browser: &Browser, placed: Placed, canvas: &mut Canvas<'_, '_>) {
    let mark = match browser.sort() {
        Some(sort) if sort.column == placed.column => {
            if sort.descending {
                "▼"
            } else {
                "▲"
            }
        }
        _ => "",
    };
    let width = usize::from(placed.width);
    let name = clip(browser.source().column_name(placed.column), width - mark.width().min(width));
    let mut style = BOLD.add_modifier(Modifier::UNDERLINED);
    if placed.is_frozen {
        style = style.add_modifier(Modifier::ITALIC);
    }
    if placed.is_current {
        style = style.add_modifier(Modifier::REVERSED);
    }
    let text = format!("{name}{mark}");
    let gap = width.saturating_sub(text.width());
    let text = match is_right(browser.source(), placed.column) {
        true => format!("{}{text}", " ".repeat(gap)),
        false => format!("{text}{}", " ".repeat(gap)),
    };
    canvas.put(placed.x, 1, placed.width, &text, style);
}

fn is_right(source: &Source, column: usize) -> bool {
    source.field(column).is_some_and(|field| field.data_type().is_numeric())
}

fn draw_cell(
    browser: &Browser,
    at: u64,
    placed: Placed,
    y: u16,
    is_current_row: bool,
    canvas: &mut Canvas<'_, '_>,
) {
    let width = usize::from(placed.width);
    let (text, mut style) = match browser.cell(at, placed.column) {
        None => return,
        Some(Cell::Text(text)) => {
            let is_found = browser.needle().is_some_and(|needle| needle.is_in(&text));
            let found = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
            (clip(&text, width), if is_found { found } else { Style::new() })
        }
        Some(Cell::Null) => (clip("NULL", width), DIM),
        Some(Cell::Missing) => ("…".to_owned(), DIM),
        Some(Cell::Damaged) => ("✗".to_owned(), BOLD),
    };
    let gap = width.saturating_sub(text.width());
    let text = match is_right(browser.source(), placed.column) {
        true => format!("{}{text}", " ".repeat(gap)),
        false => format!("{text}{}", " ".repeat(gap)),
    };
    if is_current_row && placed.is_current {
        style = style.add_modifier(Modifier::REVERSED);
    } else if is_current_row {
        style = style.add_modifier(Modifier::BOLD);
    }
    canvas.put(placed.x, y, placed.width, &text, style);
}

fn draw_page(page: &Page, canvas: &mut Canvas<'_, '_>) {
    title(canvas, &format!(" {}   Esc closes", page.title));
    let height = usize::from(canvas.height.saturating_sub(2));
    for (y, line) in (1..).zip(page.lines().iter().skip(page.top).take(height)) {
        let mut x = 0;
        for (tone, text) in line {
            let style = match tone {
                Tone::Normal => Style::new(),
                Tone::Dim => DIM,
                Tone::Strong => BOLD,
            };
            x = canvas.put(x, y, canvas.width.saturating_sub(x), text, style);
        }
    }
}

fn draw_columns(browser: &Browser, selected: usize, top: usize, canvas: &mut Canvas<'_, '_>) {
    let order = browser.columns.order();
    let hidden = browser.columns.hidden();
    title(canvas, &format!(" {} columns, {hidden} hidden   Esc closes", order.len()));
    let source = browser.source();
    let names = order.iter().map(|&column| plain(source.column_name(column)).width());
    let widest = names.max().unwrap_or(0).min(30);
    let height = usize::from(canvas.height.saturating_sub(3));
    for (line, (place, &column)) in (1..).zip(order.iter().enumerate().skip(top).take(height)) {
        let Some(field) = source.field(column) else { continue };
        let name = clip(field.name(), widest);
        let gap = " ".repeat(widest.saturating_sub(name.width()));
        let known = source.reader().column_statistics(column);
        let nulls = known.null_count.map(|nulls| format!("{} nulls", thousands(nulls)));
        let bounds = match (known.min, known.max) {
            (Some(min), Some(max)) => {
                let text = |value| super::cells::value_text(value, field).unwrap_or_default();
                Some(format!("{} to {}", text(&min), text(&max)))
            }
            _ => None,
        };
        let facts: Vec<String> = nulls.into_iter().chain(bounds).collect();
        let mark = if browser.columns.is_hidden(column) { " " } else { "x" };
        let type_name = hypostyle_view::type_name(field.data_type());
        let text = format!("[{mark}] {name}{gap}  {type_name:<12}  {}", facts.join(", "));
        let style = if place == selected { BAR } else { Style::new() };
        canvas.put(0, line, canvas.width, &text, style);
    }
}

fn draw_status(browser: &Browser, canvas: &mut Canvas<'_, '_>) {
    let y = canvas.height.saturating_sub(1);
    if let Some((what, percent)) = browser.progress() {
        let text = format!("{what}: {percent} %   Esc stops");
        canvas.put(0, y, canvas.width, &text, BOLD);
        return;
    }
    if let Some(message) = browser.message() {
        let (start, style) = if message.is_error { ("error: ", BOLD) } else { ("", Style::new()) };
        canvas.put(0, y, canvas.width, &format!("{start}{}", message.text), style);
        return;
    }
    let (position, _) = browser.positions();
    let source = browser.source();
    let column = browser.columns.current().and_then(|column| source.field(column));
    let column = column
        .map(|field| format!("{}: {}", field.name(), hypostyle_view::type_name(field.data_type())));
    let of = thousands(browser.rows().len());
    let row = browser.rows().at(position).map_or_else(
        || "no rows".to_owned(),
        |row| match browser.rows().len() == source.rows() && browser.sort().is_none() {
            true => format!("row {} of {of}", thousands(row)),
            false => format!("row {}, {} of {of}", thousands(row), thousands(position + 1)),
        },
    );
    let text = format!("{row}   {}", column.unwrap_or_default());
    canvas.put(0, y, canvas.width, &text, DIM);
}

/// Draws the line at the bottom; with a problem, the problem below the word.
fn draw_prompt(prompt: &Prompt, canvas: &mut Canvas<'_, '_>) {
    let below = match prompt.problem {
        Some(_) => 2.min(canvas.height.saturating_sub(1)),
        None => 0,
    };
    let y = canvas.height.saturating_sub(1 + below);
    (y..canvas.height).for_each(|y| canvas.clear_line(y));
    let label = prompt.question.label();
    let start = u16::try_from(label.width()).unwrap_or(0).min(canvas.width / 2);
    canvas.put(0, y, start, label, BOLD);
    let room = usize::from(canvas.width.saturating_sub(start).saturating_sub(1));
    let wide = |c: &char| c.width().unwrap_or(0);
    // Scroll until the cursor is on the screen.
    let before = prompt.line().get(..prompt.cursor()).unwrap_or_default();
    let (mut first, mut used) = (0, before.iter().map(wide).sum::<usize>());
    for c in before {
        if used <= room {
            break;
        }
        used -= wide(c);
        first += 1;
    }
    let shown: String = prompt.line().iter().skip(first).collect();
    canvas.put(start, y, canvas.width.saturating_sub(start), &shown, Style::new());
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let cursor = start.saturating_add(cells(used)).min(canvas.width.saturating_sub(1));
    canvas.frame.set_cursor_position(Position::new(cursor, y));
    let Some(problem) = &prompt.problem else { return };
    if let (Some((place, len)), 2) = (problem.place, below) {
        let line = prompt.line();
        let skipped = line.get(first..place.max(first)).unwrap_or_default();
        let word = line.get(place..place.saturating_add(len)).unwrap_or_default();
        let x = start.saturating_add(cells(skipped.iter().map(wide).sum()));
        let marks = "^".repeat(word.iter().map(wide).sum::<usize>().max(1));
        canvas.put(x, y + 1, canvas.width.saturating_sub(x), &marks, BOLD);
    }
    if below > 0 {
        let last = canvas.height.saturating_sub(1);
        canvas.put(0, last, canvas.width, &problem.message, BOLD);
    }
}
