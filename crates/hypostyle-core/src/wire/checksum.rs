//! CRC-32, as xz, `.onpair` and checksums in AT-1 archives use it.

/// Returns the CRC-32 (IEEE 802.3) of some bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
