//! Who takes part.

use hypostyle::formats::at1::{Choice, Codec, PackOptions};
use hypostyle::formats::{self, Format};

use super::bytes::{EXTREME, Rival};
use crate::failure::{Failure, Result};

/// One way to make a file small.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    /// The name that users type and see.
    pub(super) name: String,
    pub(super) way: Way,
    /// Whether it takes so long that someone in a hurry does without.
    slow: bool,
}

/// What a contender does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    At1 {
        level: u8,
        choice: Choice,
    },
    /// A column file of ours.
    Columns(&'static dyn Format),
    Parquet,
    Other(Rival),
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    /// Every byte of the file.
    Bytes,
    /// The rows of the table in it.
    Rows,
}

impl Gives {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Rows => "rows",
        }
    }
}

impl Way {
    pub(super) fn gives(self) -> Gives {
        match self {
            Self::At1 { .. } | Self::Other(_) => Gives::Bytes,
            Self::Columns(_) | Self::Parquet => Gives::Rows,
        }
    }

    /// Whether it works with as many threads as it is given; the others have one.
    pub(super) fn has_threads(self) -> bool {
        matches!(self, Self::At1 { .. } | Self::Columns(_))
    }
}

impl Contender {
    fn new(name: impl Into<String>, way: Way) -> Self {
        Self { name: name.into(), way, slow: false }
    }

    fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Whether a word means it: its name, or what stands before the `-` in it.
    fn is(&self, word: &str) -> bool {
        let family = self.name.split('-').next().unwrap_or_default();
        [self.name.as_str(), family].iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}

/// Those that take part unless told otherwise.
fn usual() -> Vec<Contender> {
    let at1 = |level, choice| Way::At1 { level, choice };
    let mut all = vec![
        Contender::new("at1-1", at1(1, Choice::Auto)),
        Contender::new("at1-6", at1(PackOptions::DEFAULT_LEVEL, Choice::Auto)),
        Contender::new("at1-9", at1(PackOptions::MAX_LEVEL, Choice::Auto)).slow(),
        Contender::new("at1-query", at1(PackOptions::DEFAULT_LEVEL, Choice::Query)),
    ];
    let columns = formats::tables().map(|format| (format.id().name(), Way::Columns(format)));
    all.extend(columns.map(|(name, way)| Contender::new(name, way)));
    all.extend([
        Contender::new("parquet", Way::Parquet),
        Contender::new("xz-6", Way::Other(Rival::Xz(6))),
        Contender::new("xz-9e", Way::Other(Rival::Xz(9 | EXTREME))).slow(),
        Contender::new("zstd-3", Way::Other(Rival::Zstd(3))),
        Contender::new("zstd-19", Way::Other(Rival::Zstd(19))).slow(),
        Contender::new("gzip-6", Way::Other(Rival::Gzip(6))),
        Contender::new("gzip-9", Way::Other(Rival::Gzip(9))),
    ]);
    all
}

/// AT-1 with one codec each, at the default level.
fn codecs() -> impl Iterator<Item = Contender> {
    // A bundle is made of several files.
    let single = Codec::ALL.into_iter().filter(|&codec| codec != Codec::Bundle);
    single.map(|codec| {
        let (level, choice) = (PackOptions::DEFAULT_LEVEL, Choice::Only(codec));
        Contender::new(format!("at1-{}", codec.name()), Way::At1 { level, choice })
    })
}

/// Those that were asked for, in the order of the list.
pub(super) fn chosen(quick: bool, by_codec: bool, only: &[String]) -> Result<Vec<Contender>> {
    let mut all = usual();
    if by_codec {
        all.extend(codecs());
    } else {
        // A codec that is named in full needs no other flag.
        let named = |it: &Contender| only.iter().any(|word| word.eq_ignore_ascii_case(&it.name));
        all.extend(codecs().filter(named));
    }
    if let Some(word) = only.iter().find(|word| !all.iter().any(|it| it.is(word))) {
        let known: Vec<_> = usual().into_iter().map(|it| it.name).collect();
        let why = format!("--only: `{word}` is none of {}", known.join(", "));
        return Err(Failure::usage(why));
    }
    let wanted = |it: &Contender| match only {
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
    fn the_help_names_everyone() {
        let mut cli = crate::cli::Cli::command();
        let bench = cli.find_subcommand_mut("bench").unwrap();
        let help = bench.render_long_help().to_string();
        for Contender { name, .. } in usual() {
            assert!(help.contains(&name), "{name}");
        }
    }
}
