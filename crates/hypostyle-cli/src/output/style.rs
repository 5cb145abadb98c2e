//! Colours on a terminal.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Adds colour to text if colours are on.
///
/// Coloured text also says in words what its colour means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Turns colours on for a terminal, unless `NO_COLOR` is set and not empty.
    pub(crate) fn new(terminal: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { on: terminal && !no_color }
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.on { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    pub(crate) fn dim(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    pub(crate) fn good(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn warn(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    pub(crate) fn bad(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }
}
