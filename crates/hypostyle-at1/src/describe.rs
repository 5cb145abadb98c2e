//! What an archive is made of, for people: columns, row groups, zone maps.

use std::ops::ControlFlow;

use super::Archive;
use super::codecs::{self, Codec};
use hypostyle_core::error::Result;

/// A frame as its codec describes it.
#[derive(Clone, Debug, Default)]
pub struct FrameInfo {
    /// Lines or rows that the frame states.
    pub rows: u64,
    /// The columns, where the codec has any.
    pub columns: Vec<ColumnInfo>,
    /// Rows in a group, where there are groups.
    pub group_rows: Option<u64>,
    /// A zone map for each group and column, group by group; `None` for columns
    /// that have none.
    pub zones: Vec<Option<Zone>>,
}

/// A column of a frame.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// The name or path, where the archive has one.
    pub name: Option<String>,
    /// How it is coded.
    pub kind: &'static str,
    /// Bytes of its chunk or blocks in the stream that holds them.
    pub bytes: u64,
}

/// Between what bounds the numbers of a block lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Zone {
    /// Of integers.
    Int(i128, i128),
    /// Of decimals.
    Float(f64, f64),
}

impl Archive {
    /// Describes each structured frame of a columnar or queryable archive.
    pub fn describe(&self) -> Result<Vec<FrameInfo>> {
        let mut frames = Vec::new();
        self.for_each_structured(|context| {
            match self.codec() {
                Codec::Columnar => frames.push(codecs::describe_columnar(context)?),
                codec if codec.has_groups() => {
                    codecs::describe_groups(codec, context, &mut frames)?;
                }
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(frames)
    }
}
