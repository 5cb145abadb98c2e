//! CRC-32, as xz, `.onpair` and checksums in AT-1 archives use it.

/// The CRC-32 (IEEE 802.3) of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Crc32(crc32fast::Hasher);

impl Crc32 {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all bytes.
    pub fn finish(self) -> u32 {
        self.0.finalize()
    }
}

/// Returns the CRC-32 (IEEE 802.3) of some bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
