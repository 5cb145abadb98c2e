//! Quotes around cells, and doubled quotes inside of them.

use memchr::memchr;

/// Returns whether a byte makes quotes necessary.
pub(super) fn is_special(delimiter: u8) -> impl Fn(&u8) -> bool {
    move |&byte| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r')
}

/// Appends a cell, in quotes if it contains the delimiter, a quote or a line end.
pub fn put_cell(cell: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    if cell.iter().any(is_special(delimiter)) {
        put_quoted(cell, out);
    } else {
        out.extend_from_slice(cell);
    }
}

/// Appends a cell in quotes, with the quotes inside of it doubled.
pub fn put_quoted(cell: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for part in cell.split_inclusive(|&byte| byte == b'"') {
        out.extend_from_slice(part);
        if part.last() == Some(&b'"') {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// Appends the text between the quotes of a cell, with each doubled quote as one.
pub fn put_unquoted(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(quote) = memchr(b'"', text) {
        let (head, tail) = text.split_at_checked(quote + 1).unwrap_or((text, &[]));
        out.extend_from_slice(head);
        text = tail.strip_prefix(b"\"").unwrap_or(tail);
    }
    out.extend_from_slice(text);
}
