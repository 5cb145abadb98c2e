//! The types of columns, by number (§5.2).

pub(in crate::formats::at1) const TEXT: u8 = 0;
pub(in crate::formats::at1) const INT: u8 = 1;
pub(in crate::formats::at1) const DEC: u8 = 2;
pub(in crate::formats::at1) const NUMEXC: u8 = 3;
pub(in crate::formats::at1) const DERIVED: u8 = 4;
pub(in crate::formats::at1) const DICT: u8 = 5;
pub(in crate::formats::at1) const SHUF: u8 = 6;

/// What a type is called.
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
