//! The types of columns and their numbers (§5.2).

pub(crate) const TEXT: u8 = 0;
pub(crate) const INT: u8 = 1;
pub(crate) const DEC: u8 = 2;
pub(crate) const NUMEXC: u8 = 3;
pub(crate) const DERIVED: u8 = 4;
pub(crate) const DICT: u8 = 5;
pub(crate) const SHUF: u8 = 6;

/// Returns the name of a type in the spec.
pub(super) fn name(kind: u8) -> &'static str {
    match kind {
        TEXT => "TEXT",
        INT => "INT",
        DEC => "DEC",
        NUMEXC => "NUMEXC",
        DERIVED => "DERIVED",
        DICT => "DICT",
        SHUF => "SHUF",
        _ => "unknown",
    }
}
