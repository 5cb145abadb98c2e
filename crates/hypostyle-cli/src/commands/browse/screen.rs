//! The terminal: set up, restored, and its events given to the browser.

use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hypostyle::Error;
use ratatui::Terminal;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;

use super::browser::{Browser, Effect, Key};
use super::draw;
use super::job::{Answer, Task};
use super::signals::Signals;
use super::source::Source;
use super::ticket::Ticket;
use crate::failure::{Failure, Result};
use crate::output::Out;

/// How long the terminal is waited for while a task may answer.
const BUSY_WAIT: Duration = Duration::from_millis(20);

/// The same if nothing else can happen but a signal.
const IDLE_WAIT: Duration = Duration::from_millis(200);

/// The answer of a task; `None` if it panicked.
type Answered = (u64, Option<Result<Option<Answer>>>);

/// Panics are kept until the terminal is restored, and those of decoders are not shown.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Shows the table until the user quits, or a signal ends the process.
///
/// The terminal is as it was when this returns, whatever happens.
///
/// # Errors
///
/// Fails if the terminal cannot be used, and for bugs.
pub(super) fn run(source: Source, out: &mut dyn Out) -> Result<()> {
    let signals = Signals::catch()?;
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    // Nothing of the browser is used after a panic.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut screen = Screen::open(out)?;
        show(Arc::new(source), &mut screen, &signals)
    }));
    std::panic::set_hook(hook);
    signals.obey();
    ran.unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> Failure {
    let why = PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Error::internal(why).into()
}

/// The terminal, in the state for full-screen programs until it is dropped.
struct Screen<'o> {
    terminal: Terminal<CrosstermBackend<&'o mut dyn Out>>,
}

impl<'o> Screen<'o> {
    fn open(out: &'o mut dyn Out) -> Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(out)).map_err(|err| unusable(&err))?;
        let mut screen = Self { terminal };
        screen.set_up().map_err(|err| unusable(&err))?;
        Ok(screen)
    }

    fn set_up(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        let out = self.terminal.backend_mut();
        execute!(out, EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        self.redraw()
    }

    /// Clears the screen, so that all of it is drawn again.
    ///
    /// `Terminal::clear` would ask the terminal for its cursor, and not all terminals answer.
    fn redraw(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.backend_mut().clear()?;
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }

    fn restore(&mut self) {
        // Whoever reads this is gone if it fails.
        let out = self.terminal.backend_mut();
        let _ = execute!(out, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }

    /// Asks the terminal to put a text into the clipboard.
    fn copy(&mut self, text: &str) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        write!(out, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(text))?;
        io::Write::flush(out)
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.restore();
    }
}

fn unusable(err: &io::Error) -> Failure {
    Failure::io("cannot use the terminal", err)
}

fn show(source: Arc<Source>, screen: &mut Screen<'_>, signals: &Signals) -> Result<()> {
    let (sender, answers) = mpsc::channel();
    // From the first poll on, changes of the size are noticed; before it they would be lost.
    let polled = event::poll(Duration::ZERO);
    polled.map_err(|err| unusable(&err))?;
    let mut browser = Browser::new(source.clone());
    loop {
        let size = screen.terminal.size().map_err(|err| unusable(&err))?;
        browser.prepare(size.width, size.height);
        for effect in browser.take_effects() {
            let done = match effect {
                Effect::Start { id, task, ticket } => {
                    start(id, task, ticket, &source, &sender);
                    Ok(())
                }
                Effect::Copy(text) => screen.copy(&text),
                Effect::Redraw => screen.redraw(),
                Effect::Suspend => {
                    screen.restore();
                    Signals::suspend();
                    screen.set_up()
                }
                Effect::Quit => return Ok(()),
            };
            done.map_err(|err| unusable(&err))?;
        }
        let drawn = screen.terminal.draw(|frame| draw::draw(&browser, frame));
        drawn.map_err(|err| unusable(&err))?;
        if !wait(&mut browser, &answers, signals)? {
            return Ok(());
        }
    }
}

/// Waits until something has changed. Returns `false` after a signal to end.
fn wait(browser: &mut Browser, answers: &Receiver<Answered>, signals: &Signals) -> Result<bool> {
    let mut last_percent = browser.progress();
    loop {
        if signals.is_ending() {
            return Ok(false);
        }
        let mut has_changed = false;
        for (id, answer) in answers.try_iter() {
            browser.answer(id, answer.ok_or_else(panicked)?);
            has_changed = true;
        }
        let wait = match () {
            () if has_changed => Duration::ZERO,
            () if browser.is_busy() => BUSY_WAIT,
            () => IDLE_WAIT,
        };
        let failed = |err: io::Error| unusable(&err);
        let mut timeout = wait;
        while event::poll(timeout).map_err(failed)? {
            match event::read().map_err(failed)? {
                Event::Key(key) => keys_of(key).into_iter().for_each(|key| browser.key(key)),
                Event::Paste(text) => browser.paste(&text),
                _ => {}
            }
            // What was typed meanwhile is drawn at once.
            (has_changed, timeout) = (true, Duration::ZERO);
        }
        let percent = browser.progress();
        if has_changed || percent != last_percent {
            return Ok(true);
        }
        last_percent = percent;
    }
}

fn start(id: u64, task: Task, ticket: Arc<Ticket>, source: &Arc<Source>, to: &Sender<Answered>) {
    let (source, sender) = (source.clone(), to.clone());
    let spawned = thread::Builder::new().spawn(move || {
        let ran = catch_unwind(AssertUnwindSafe(|| task.run(&source, &ticket)));
        // Nobody waits for the answer after the end.
        let _ = sender.send((id, ran.ok()));
    });
    if let Err(err) = spawned {
        let failure = Failure::io("cannot start a thread", &err);
        let _ = to.send((id, Some(Err(failure))));
    }
}

/// Returns the keys of an event. A key that follows Escape at once looks like one with Alt.
fn keys_of(event: KeyEvent) -> Vec<Key> {
    if event.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let escape = event.modifiers.contains(KeyModifiers::ALT).then_some(Key::Esc);
    escape.into_iter().chain(key_of(event)).collect()
}

fn key_of(event: KeyEvent) -> Option<Key> {
    let has_ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char(c) if has_ctrl => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home if has_ctrl => Key::FirstRow,
        KeyCode::End if has_ctrl => Key::LastRow,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        _ => return None,
    })
}
