//! The line that the user types.

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Find,
    Filter,
    Row,
}

impl Question {
    /// Returns what stands before the line.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Find => "find: ",
            Self::Filter => "filter: ",
            Self::Row => "row: ",
        }
    }
}

/// A line that is edited.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) question: Question,
    line: Vec<char>,
    cursor: usize,
    pub(super) problem: Option<Problem>,
}

/// What is wrong with a line, and which of its characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) place: Option<(usize, usize)>,
}

impl Prompt {
    pub(super) fn new(question: Question, text: &str) -> Self {
        let mut prompt = Self { question, line: Vec::new(), cursor: 0, problem: None };
        prompt.insert(text);
        prompt
    }

    pub(super) fn text(&self) -> String {
        self.line.iter().collect()
    }

    pub(super) fn line(&self) -> &[char] {
        &self.line
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Inserts text at the cursor, without ends of lines and the like.
    pub(super) fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| !c.is_control()) {
            self.line.insert(self.cursor.min(self.line.len()), c);
            self.cursor += 1;
        }
        self.problem = None;
    }

    /// Removes the character before the cursor. Returns `false` if the line was empty.
    pub(super) fn backspace(&mut self) -> bool {
        if self.line.is_empty() {
            return false;
        }
        if self.cursor > 0 {
            self.cursor -= 1;
            self.delete();
        }
        true
    }

    /// Removes the character at the cursor.
    pub(super) fn delete(&mut self) {
        if self.cursor < self.line.len() {
            self.line.remove(self.cursor);
        }
        self.problem = None;
    }

    /// Removes the word before the cursor.
    pub(super) fn delete_word(&mut self) {
        let before = self.line.get(..self.cursor).unwrap_or_default();
        let word = before.iter().rposition(|c| !c.is_whitespace()).unwrap_or(0);
        let kept = before.get(..word).unwrap_or_default();
        let start = kept.iter().rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1);
        self.line.drain(start..self.cursor);
        (self.cursor, self.problem) = (start, None);
    }

    pub(super) fn clear(&mut self) {
        self.line.clear();
        (self.cursor, self.problem) = (0, None);
    }

    pub(super) fn step(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.line.len());
    }

    pub(super) fn go_to(&mut self, cursor: usize) {
        self.cursor = cursor.min(self.line.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_edited() {
        let mut prompt = Prompt::new(Question::Filter, "a = 1\u{1b}\n");
        assert_eq!(prompt.text(), "a = 1");
        prompt.step(-1);
        prompt.insert("名");
        assert_eq!((prompt.text().as_str(), prompt.cursor()), ("a = 名1", 5));
        assert!(prompt.backspace());
        prompt.delete();
        assert_eq!(prompt.text(), "a = ");
        prompt.delete_word();
        assert_eq!(prompt.text(), "a ");
        prompt.go_to(99);
        prompt.delete_word();
        assert!(!prompt.backspace());
    }
}
