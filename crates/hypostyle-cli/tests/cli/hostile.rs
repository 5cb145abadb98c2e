//! Files of others: names that control terminals, links, and modes.

use crate::{Folder, Ran};

/// An escape sequence, and a mark that reverses the direction of text.
const SEQUENCE: &str = "\u{1b}]0;owned\u{7}\u{202e}";

#[track_caller]
fn is_plain(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(is_unsafe), "{text:?}");
    }
}

#[test]
fn names_of_files_and_columns_do_not_control_the_terminal() {
    let name = format!("a{SEQUENCE}.csv");
    let folder = Folder::new().with(&name, format!("id{SEQUENCE},b\n1,2\n"));
    let archive = format!("a{SEQUENCE}.at1");
    let pack = ["pack", "--query", &name, "-o", &archive];
    is_plain(&folder.hyp_words(&pack));
    for (words, code) in [
        (vec!["pack", "--query", &name, "-o", &archive], 2),
        (vec!["cat", &archive, "--columns", "c"], 2),
        (vec!["cat", &archive, "--where", "c = 1"], 2),
        (vec!["cat", "--format", "table", &archive], 0),
        (vec!["cat", &format!("{archive}x")], 3),
        (vec!["verify", &archive], 0),
        (vec!["inspect", &archive], 0),
        (vec!["schema", &archive], 0),
        (vec!["append", &archive, &name], 0),
        (vec!["convert", &name, &format!("b{SEQUENCE}.colf")], 0),
        (vec!["unpack", "-f", &archive, "-o", &format!("c{SEQUENCE}")], 0),
    ] {
        let ran = folder.hyp_words(&words);
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.out, ran.err);
        is_plain(&ran);
    }
}

/// A deviation quotes the name of a stream.
#[test]
fn names_of_streams_do_not_control_the_terminal() {
    let name = format!("x{SEQUENCE}");
    let stream = |name: &str| {
        let len = u8::try_from(name.len()).unwrap();
        [&[len], name.as_bytes(), &[2, 0]].concat()
    };
    let file = [&b"AT1\x02\x03\x03\x04meta\x02\x02\x00\x00"[..], &stream(&name), &stream(&name)];
    let folder = Folder::new().with("twice.at1", file.concat());
    for line in ["inspect twice.at1", "verify twice.at1"] {
        let ran = folder.hyp(line);
        assert!(ran.out.contains("second stream"), "{}{}", ran.out, ran.err);
        is_plain(&ran);
    }
}
