//! Rules that build a string from earlier tokens (§7.3): `"https://x/7"` beside `7`.

/// Builds a string out of literal text and the latest tokens of other paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::pack) struct StringRule {
    /// The literal before the first source.
    pub(in crate::pack) first: Vec<u8>,
    /// The path of each source, and the literal after it.
    pub(in crate::pack) rest: Vec<(u32, Vec<u8>)>,
}

impl StringRule {
    /// Returns whether the rule builds exactly `string` from the latest tokens.
    pub(in crate::pack) fn builds(&self, string: &[u8], latest: &LatestTokens<'_>) -> bool {
        let mut left = string.strip_prefix(self.first.as_slice());
        for (path, literal) in &self.rest {
            left = left
                .and_then(|left| left.strip_prefix(latest.get(*path)))
                .and_then(|left| left.strip_prefix(literal.as_slice()));
        }
        left.is_some_and(<[u8]>::is_empty)
    }
}

/// The latest token of each path, without quotes; derived strings are left out.
#[derive(Debug)]
pub(in crate::pack) struct LatestTokens<'a>(Vec<&'a [u8]>);

impl<'a> LatestTokens<'a> {
    /// Starts with an empty token for each of `paths` paths.
    pub(in crate::pack) fn new(paths: usize) -> Self {
        Self(vec![&[]; paths])
    }

    /// Returns the latest token of a path.
    pub(in crate::pack) fn get(&self, path: u32) -> &'a [u8] {
        self.0.get(path as usize).copied().unwrap_or_default()
    }

    /// Replaces the latest token of a path.
    pub(in crate::pack) fn set(&mut self, path: u32, token: &'a [u8]) {
        if let Some(latest) = self.0.get_mut(path as usize) {
            *latest = without_quotes(token);
        }
    }
}

/// Returns a token as rules insert it: the decoder drops the quotes of a source.
fn without_quotes(token: &[u8]) -> &[u8] {
    match token {
        [b'"', inner @ .., _] => inner,
        _ => token,
    }
}

/// Returns the bytes between the quotes of a string token; `None` for other tokens.
pub(in crate::pack) fn string_content(token: &[u8]) -> Option<&[u8]> {
    match token {
        [b'"', inner @ .., b'"'] => Some(inner),
        _ => None,
    }
}

/// The rules of all paths.
#[derive(Debug, Default)]
pub(in crate::pack) struct StringRules {
    pub(in crate::pack) all: Vec<StringRule>,
    /// For each path the indexes of its rules in `all`, the most frequent rule first.
    pub(in crate::pack) by_path: Vec<Vec<u32>>,
}

impl StringRules {
    /// Returns the index of the first rule of `path` that builds `token`.
    pub(in crate::pack) fn find(
        &self,
        path: u32,
        token: &[u8],
        latest: &LatestTokens<'_>,
    ) -> Option<u32> {
        let rules = self.by_path.get(path as usize).filter(|rules| !rules.is_empty())?;
        let string = string_content(token)?;
        let builds = |&rule: &u32| {
            self.all.get(rule as usize).is_some_and(|rule| rule.builds(string, latest))
        };
        rules.iter().copied().find(builds)
    }
}
