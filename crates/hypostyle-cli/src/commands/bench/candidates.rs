//! The list of candidates.

use hypostyle::formats::at1::{Choice, Codec, PackOptions};
use hypostyle::formats::{self, Format};

use super::restore_bytes::{EXTREME, GenericCompressor};
use crate::failure::{Failure, Result};

/// A format or compressor with its settings.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The name that users type and see.
    pub(super) name: String,
    pub(super) method: Method,
    /// Whether `--quick` leaves it out.
    slow: bool,
}

/// How a candidate stores the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Method {
    At1 {
        level: u8,
        choice: Choice,
    },
    /// A column file.
    Columns(&'static dyn Format),
    Parquet,
    Other(GenericCompressor),
}

/// What a candidate restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restores {
    /// Every byte of the file.
    Bytes,
    /// The rows of the table in the file.
    Rows,
}

impl Restores {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Rows => "rows",
        }
    }
}

impl Method {
    pub(super) fn gives(self) -> Restores {
        match self {
            Self::At1 { .. } | Self::Other(_) => Restores::Bytes,
            Self::Columns(_) | Self::Parquet => Restores::Rows,
        }
    }

    /// Returns whether it uses all threads; the others use one.
    pub(super) fn has_threads(self) -> bool {
        matches!(self, Self::At1 { .. } | Self::Columns(_))
    }
}

impl Candidate {
    fn new(name: impl Into<String>, method: Method) -> Self {
        Self { name: name.into(), method, slow: false }
    }

    fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Returns whether a word names it or its family, the part of its name before the `-`.
    fn is(&self, word: &str) -> bool {
        let family = self.name.split('-').next().unwrap_or_default();
        [self.name.as_str(), family].iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}

/// Returns the candidates that are measured by default.
fn default_candidates() -> Vec<Candidate> {
    let at1 = |level, choice| Method::At1 { level, choice };
    let mut all = vec![
        Candidate::new("at1-1", at1(1, Choice::Auto)),
        Candidate::new("at1-6", at1(PackOptions::DEFAULT_LEVEL, Choice::Auto)),
        Candidate::new("at1-9", at1(PackOptions::MAX_LEVEL, Choice::Auto)).slow(),
        Candidate::new("at1-query", at1(PackOptions::DEFAULT_LEVEL, Choice::Query)),
    ];
    let columns = formats::tables().map(|format| (format.id().name(), Method::Columns(format)));
    all.extend(columns.map(|(name, method)| Candidate::new(name, method)));
    all.extend([
        Candidate::new("parquet", Method::Parquet),
        Candidate::new("xz-6", Method::Other(GenericCompressor::Xz(6))),
        Candidate::new("xz-9e", Method::Other(GenericCompressor::Xz(9 | EXTREME))).slow(),
        Candidate::new("zstd-3", Method::Other(GenericCompressor::Zstd(3))),
        Candidate::new("zstd-19", Method::Other(GenericCompressor::Zstd(19))).slow(),
        Candidate::new("gzip-6", Method::Other(GenericCompressor::Gzip(6))),
        Candidate::new("gzip-9", Method::Other(GenericCompressor::Gzip(9))),
    ]);
    all
}

/// Returns AT-1 with each codec, at the default level.
fn codecs() -> impl Iterator<Item = Candidate> {
    // A bundle needs several files.
    let single = Codec::ALL.into_iter().filter(|&codec| codec != Codec::Bundle);
    single.map(|codec| {
        let (level, choice) = (PackOptions::DEFAULT_LEVEL, Choice::Only(codec));
        Candidate::new(format!("at1-{}", codec.name()), Method::At1 { level, choice })
    })
}

/// Returns the candidates that the user chose, in the order of the list.
pub(super) fn chosen(quick: bool, by_codec: bool, only: &[String]) -> Result<Vec<Candidate>> {
    let mut all = default_candidates();
    if by_codec {
        all.extend(codecs());
    } else {
        // A codec that is named in full needs no `--codecs`.
        let named = |it: &Candidate| only.iter().any(|word| word.eq_ignore_ascii_case(&it.name));
        all.extend(codecs().filter(named));
    }
    if let Some(word) = only.iter().find(|word| !all.iter().any(|it| it.is(word))) {
        let known: Vec<_> = default_candidates().into_iter().map(|it| it.name).collect();
        let why = format!("--only: unknown name `{word}`; the names are {}", known.join(", "));
        return Err(Failure::usage(why));
    }
    let wanted = |it: &Candidate| match only {
        [] => !(quick && it.slow),
        _ => only.iter().any(|word| it.is(word)),
    };
    all.retain(wanted);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn names(quick: bool, by_codec: bool, only: &str) -> Vec<String> {
        let only: Vec<String> = only.split_whitespace().map(str::to_owned).collect();
        chosen(quick, by_codec, &only).unwrap().into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn names_and_families_are_found() {
        assert_eq!(names(false, false, "xz"), ["xz-6", "xz-9e"]);
        assert_eq!(names(false, false, "XZ-9e at1-log"), ["xz-9e", "at1-log"]);
        assert_eq!(names(false, false, "at1").len(), 4);
        assert_eq!(names(false, true, "at1").len(), 17);
        assert_eq!(names(false, false, "").len() - names(true, false, "").len(), 3);
        assert!(chosen(false, false, &["at1-bundle".to_owned()]).is_err());
        assert!(chosen(false, false, &["z".to_owned()]).is_err());
    }

    #[test]
    fn the_help_names_every_candidate() {
        let mut cli = crate::commands::Cli::command();
        let bench = cli.find_subcommand_mut("bench").unwrap();
        let help = bench.render_long_help().to_string();
        for Candidate { name, .. } in default_candidates() {
            assert!(help.contains(&name), "{name}");
        }
    }
}
