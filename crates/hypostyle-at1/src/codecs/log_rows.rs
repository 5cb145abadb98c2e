//! The lines of a log as JSON objects, for the table view of the log codecs (§11).

use super::context::DecodeContext;
use super::entry::Decode;
use crate::output::Output;
use hypostyle_core::error::Result;
use hypostyle_core::number;
use hypostyle_core::text::stamp;

/// Writes one object; variables that are integers become JSON numbers.
pub(super) fn put_row(
    template: Option<usize>,
    line: &[u8],
    vars: &[&[u8]],
    out: &mut Output<'_>,
) -> Result<()> {
    let buffer = out.buffer();
    buffer.extend_from_slice(b"{\"template\":");
    match template {
        Some(template) => buffer.extend_from_slice(template.to_string().as_bytes()),
        None => buffer.extend_from_slice(b"null"),
    }
    buffer.extend_from_slice(b",\"time\":");
    match stamp::find(line) {
        Some(time) => put_string(time.as_bytes(), buffer),
        None => buffer.extend_from_slice(b"null"),
    }
    buffer.extend_from_slice(b",\"line\":");
    put_string(line, buffer);
    for (index, var) in vars.iter().enumerate() {
        let number = index.saturating_add(1);
        buffer.extend_from_slice(format!(",\"var_{number}\":").as_bytes());
        if number::exact_int(var).is_some() {
            buffer.extend_from_slice(var);
        } else {
            put_string(var, buffer);
        }
    }
    buffer.extend_from_slice(b"}\n");
    out.flush_if_full()
}

/// Writes an object without a template for each line of a raw frame.
pub(crate) fn put_plain_lines(text: &[u8], out: &mut Output<'_>) -> Result<()> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n').try_for_each(|line| put_row(None, line, &[], out))
}

/// Decodes a frame into memory; returns its lines without the newline at the end.
pub(super) fn decoded_lines(decode: Decode, context: &DecodeContext<'_>) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut lines = Output::new(&mut text, false, context.limits);
    decode(context, &mut lines)?;
    lines.finish(None)?;
    if text.ends_with(b"\n") {
        text.pop();
    }
    Ok(text)
}

/// Appends a JSON string; bytes that are not UTF-8 become U+FFFD.
fn put_string(text: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, &*text);
}
