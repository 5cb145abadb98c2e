//! Archives that tests are about.

use hypostyle::formats::at1::{self, PackOptions};

/// Packs a text as a whole, or in frames of so many lines.
pub(crate) fn packed(text: &str, options: &PackOptions, frames: Option<u64>) -> Vec<u8> {
    match frames {
        None => at1::pack(text.as_bytes(), options).unwrap().0,
        Some(lines) => {
            let mut archive = Vec::new();
            let options = options.clone().with_chunk_lines(lines);
            at1::pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
            archive
        }
    }
}
