//! What users of other tools type: `hyp -t` is `hyp verify`, and `hyp -d` is answered with the verb
//! that does it.

use std::ffi::OsString;

use crate::failure::Failure;

/// Words in place of a verb, and the verb that they stand for.
const VERBS: [(&str, &[&str]); 2] =
    [("verify", &["-t", "--test", "test", "check"]), ("inspect", &["-l", "--list"])];

/// Words in place of a verb, and what to type.
const ANSWERS: [(&str, &[&str]); 12] = [
    (
        "hyp unpack FILE",
        &[
            "-d",
            "--decompress",
            "--uncompress",
            "decompress",
            "uncompress",
            "extract",
            "unzip",
            "-x",
        ],
    ),
    ("hyp pack FILE", &["-z", "--compress", "compress", "zip", "archive", "-k", "-9", "-c"]),
    ("hyp cat FILE", &["view", "show", "print", "read", "open", "-dc"]),
    ("hyp cat FILE --columns NAMES", &["select", "cut"]),
    ("hyp cat FILE --where PREDICATE", &["filter", "search"]),
    ("hyp cat FILE --rows A..B", &["slice", "rows"]),
    ("hyp sql 'select ...'", &["query", "select-sql", "sqlp", "duckdb"]),
    ("hyp schema FILE", &["headers", "columns", "describe", "types", "fields"]),
    ("hyp stats FILE", &["summarize", "summary", "frequency", "freq", "profile"]),
    ("hyp convert INPUT OUTPUT", &["import", "export", "to", "fmt", "tojsonl"]),
    ("hyp count FILE", &["wc", "length", "len"]),
    ("hyp convert INPUT... OUTPUT", &["concat", "merge", "rowskey"]),
];

/// Replaces a word of another tool by the verb that it stands for; returns the arguments, and the
/// answer if no verb has that name.
pub(crate) fn understood(mut args: Vec<OsString>) -> (Vec<OsString>, Option<Failure>) {
    let Some(first) = args.get(1).and_then(|first| first.to_str()).map(str::to_owned) else {
        return (args, None);
    };
    if first == "help" && args.get(2).is_some_and(|topic| topic == "where") {
        args.remove(1);
        return (args, None);
    }
    let stands_for = |words: &&[&str]| words.contains(&first.as_str());
    if let Some((verb, _)) = VERBS.iter().find(|(_, words)| stands_for(words)) {
        args.iter_mut().skip(1).take(1).for_each(|word| *word = (*verb).into());
        return (args, None);
    }
    let answer = ANSWERS.iter().find(|(_, words)| stands_for(words));
    let answer = answer.map(|(instead, _)| {
        let verb = instead.split(' ').nth(1).unwrap_or_default();
        let why = format!("hyp has no `{first}`: type `{instead}`");
        Failure::usage(why).with_hint(Some(format!("`hyp help {verb}` explains it")))
    });
    (args, answer)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_answer_names_a_verb_and_no_word_is_one() {
        let hyp = crate::commands::Cli::command();
        let is_verb = |name: &str| hyp.find_subcommand(name).is_some();
        for (instead, words) in ANSWERS {
            assert!(is_verb(instead.split(' ').nth(1).unwrap()), "{instead}");
            words.iter().for_each(|word| assert!(!is_verb(word), "{word}"));
        }
        for (verb, words) in VERBS {
            assert!(is_verb(verb));
            words.iter().for_each(|word| assert!(!is_verb(word), "{word}"));
        }
    }
}
