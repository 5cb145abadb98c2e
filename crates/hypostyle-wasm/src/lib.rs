//! The reading half of Hypostyle in WebAssembly.
//!
//! [`File`] wraps a [`Session`]: JavaScript starts requests, fetches the byte ranges that they miss
//! with `File.slice` or HTTP requests, and steps on. `web/` has the types of the answers.

use bytes::Bytes;
use hypostyle_view::Session;
use wasm_bindgen::prelude::wasm_bindgen;

/// A file whose bytes come from JavaScript.
#[wasm_bindgen]
#[derive(Debug)]
pub struct File(Session);

#[wasm_bindgen]
impl File {
    /// Opens a file of this name and size; its bytes are asked for when they are needed.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, size: f64) -> Self {
        Self(Session::new(name, offset(size)))
    }

    /// Adds bytes of the file.
    pub fn supply(&self, start: f64, end: f64, bytes: Vec<u8>) {
        self.0.supply(offset(start)..offset(end), Bytes::from(bytes));
    }

    /// Starts a request, which is JSON, and returns its number.
    pub fn start(&mut self, request: &str) -> u32 {
        self.0.start(request)
    }

    /// Goes on with a request, and returns JSON: what is missing, a part, the end or an error.
    pub fn step(&mut self, id: u32) -> String {
        self.0.step(id)
    }

    /// Takes the bytes that a request has written since the last call.
    pub fn take_bytes(&mut self, id: u32) -> Vec<u8> {
        self.0.take_bytes(id)
    }

    /// Forgets a request.
    pub fn end(&mut self, id: u32) {
        self.0.end(id);
    }
}

/// Returns an offset that JavaScript counts with; its numbers are exact up to 2^53.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float saturates, and offsets are whole and not negative"
)]
fn offset(number: f64) -> u64 {
    number as u64
}
