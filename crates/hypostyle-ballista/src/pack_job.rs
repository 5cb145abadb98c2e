//! Packs texts on a cluster.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use ballista_core::extension::SessionConfigExt;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::{Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use futures::TryStreamExt;
use hypostyle::formats::at1::{FramePacker, FrameState, PackOptions, Packed, PackedFrame};
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;

use crate::cluster::Cluster;
use crate::cluster_exec::{Batches, rows};
use crate::messages::{PackMessage, PackedMessage, codec_by_name};
use crate::pack_exec::{ITEMS, Item, PackExec};

/// Bytes that are hashed at a time.
const READ_BYTES: usize = 1 << 20;

/// A text that executors read, by its place in a store that they may use.
#[derive(Clone, Debug)]
pub struct Text {
    /// The URL of the store, such as `file:///` or `s3://bucket`.
    pub store: String,
    /// The place in the store.
    pub location: object_store::path::Path,
    /// The bytes of the text.
    pub size: u64,
    /// The name of the file, from which the archive learns what table its text is.
    pub name: Option<String>,
}

/// An archive of a text.
#[derive(Debug)]
pub struct PackedText {
    /// The archive.
    pub archive: Vec<u8>,
    /// What was packed; without the codecs that were tried.
    pub packed: Packed,
    /// The SHA-256 of the text that the executor has read.
    pub hash: Vec<u8>,
}

impl PackedText {
    /// Returns whether this is the text that the executor has read.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read.
    pub fn is_of(&self, mut text: impl Read) -> io::Result<bool> {
        let mut hash = Sha256::new();
        let mut piece = vec![0; READ_BYTES];
        loop {
            let read = match text.read(&mut piece) {
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                return Ok(self.hash == hash.finalize().as_slice());
            }
            hash.update(piece.get(..read).unwrap_or_default());
        }
    }
}

/// Archives that arrive in the order of their texts.
pub struct PackedTexts(Pieces);

impl Cluster {
    /// Packs texts, each as a whole; returns when all are packed.
    ///
    /// # Errors
    ///
    /// Fails if the cluster fails, or if a text cannot be packed.
    pub async fn pack(&self, texts: &[Text], options: &PackOptions) -> Result<PackedTexts> {
        let item = |(number, text): (usize, &Text)| Item {
            number: number as u64,
            store: text.store.clone(),
            location: text.location.to_string(),
            start: 0,
            end: text.size,
            name: text.name.clone(),
            state: None,
        };
        let items = texts.iter().enumerate().map(item);
        Ok(PackedTexts(self.start_packing(items, options).await?))
    }

    /// Runs a job that packs items, each in a task.
    async fn start_packing(
        &self,
        items: impl Iterator<Item = Item>,
        options: &PackOptions,
    ) -> Result<Pieces> {
        let items = items.map(|item| Ok(vec![item.batch()?])).collect::<Result<Vec<_>>>()?;
        let source = MemorySourceConfig::try_new_exec(&items, ITEMS.clone(), None)?;
        let plan: Arc<dyn ExecutionPlan> =
            Arc::new(PackExec::new(source, PackMessage::new(options)?));
        let config = SessionConfig::new_with_ballista()
            .set_u64("ballista.scheduler.max_partitions_per_task", 1);
        let job = self.connection().run(plan, &config).await?;
        Ok(Pieces { batches: rows(job), batch: None })
    }
}

impl PackedTexts {
    /// Returns the next archive.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be fetched.
    pub async fn next(&mut self) -> Result<PackedText> {
        let (archive, message) = self.0.next().await?;
        let packed = Packed {
            codec: codec_by_name(&message.codec)?,
            original: message.original,
            stored: archive.len() as u64,
            frames: (1, u64::from(message.is_raw)),
            trials: Vec::new(),
            is_queryable: message.is_queryable,
        };
        Ok(PackedText { archive, packed, hash: message.hash })
    }
}

/// The result of a job that packs.
struct Pieces {
    batches: Batches,
    /// A batch that has not been used up, and its next row.
    batch: Option<(RecordBatch, usize)>,
}

impl Pieces {
    /// Puts together the pieces of the next item.
    async fn next(&mut self) -> Result<(Vec<u8>, PackedMessage)> {
        let lacks = || internal_datafusion_err!("the cluster has packed too little");
        let (mut all, mut number) = (Vec::new(), None);
        loop {
            let (batch, row) = match self.batch.take() {
                Some((batch, row)) if row < batch.num_rows() => (batch, row),
                _ => (self.batches.try_next().await?.ok_or_else(lacks)?, 0),
            };
            if row >= batch.num_rows() {
                continue;
            }
            let binary = |name: &str| {
                batch.column_by_name(name).and_then(|column| column.as_binary_opt::<i32>())
            };
            let numbers = batch.column_by_name("number");
            let numbers = numbers.and_then(|numbers| numbers.as_primitive_opt::<UInt64Type>());
            let (Some(numbers), Some(bytes), Some(packed)) =
                (numbers, binary("bytes"), binary("packed"))
            else {
                return Err(lacks());
            };
            if *number.get_or_insert(numbers.value(row)) != numbers.value(row) {
                return Err(lacks());
            }
            all.extend_from_slice(bytes.value(row));
            let end = (!packed.is_null(row)).then(|| packed.value(row).to_vec());
            self.batch = Some((batch, row.saturating_add(1)));
            if let Some(end) = end {
                let message = <PackedMessage as prost::Message>::decode(end.as_slice());
                return Ok((all, message.map_err(|_| lacks())?));
            }
        }
    }
}

/// Packs the frames of one text on a cluster, for
/// [`pack_stream_elsewhere`](hypostyle::formats::at1::pack_stream_elsewhere).
///
/// It blocks, so it must be used outside of the runtime.
pub struct ClusterFrames {
    cluster: Cluster,
    runtime: Handle,
    text: Text,
    ranges: Vec<Range<u64>>,
    options: PackOptions,
    pieces: Option<Pieces>,
}

impl ClusterFrames {
    /// Returns a packer of a text whose frames have these
    /// [ranges](hypostyle::formats::at1::frame_ranges).
    pub fn new(
        cluster: Cluster,
        runtime: Handle,
        text: Text,
        ranges: Vec<Range<u64>>,
        options: PackOptions,
    ) -> Self {
        Self { cluster, runtime, text, ranges, options, pieces: None }
    }

    async fn next_frame(&mut self, text: &[u8]) -> Result<PackedFrame> {
        let pieces = self.pieces.as_mut();
        let pieces = pieces.ok_or_else(|| internal_datafusion_err!("no job was started"))?;
        let (bytes, message) = pieces.next().await?;
        if message.hash != Sha256::digest(text).as_slice() {
            let location = &self.text.location;
            return Err(exec_datafusion_err!("`{location}`: executors read another text"));
        }
        let next = message.next.ok_or_else(|| internal_datafusion_err!("a frame has no state"))?;
        Ok(PackedFrame { bytes, next: FrameState::from_bytes(next) })
    }
}

fn failed(err: &datafusion::error::DataFusionError) -> hypostyle::Error {
    std::io::Error::other(err.strip_backtrace()).into()
}

impl FramePacker for ClusterFrames {
    fn start(&mut self, state: &FrameState, first: usize) -> hypostyle::Result<()> {
        self.pieces = None;
        let frames = self.ranges.iter().enumerate().skip(first);
        let items: Vec<Item> = frames
            .map(|(number, range)| Item {
                number: number as u64,
                store: self.text.store.clone(),
                location: self.text.location.to_string(),
                start: range.start,
                end: range.end,
                name: self.text.name.clone(),
                state: Some(state.as_bytes().to_vec()),
            })
            .collect();
        if items.is_empty() {
            return Ok(());
        }
        let packing = self.cluster.start_packing(items.into_iter(), &self.options);
        self.pieces = Some(self.runtime.block_on(packing).map_err(|err| failed(&err))?);
        Ok(())
    }

    fn next(&mut self, text: &[u8]) -> hypostyle::Result<PackedFrame> {
        let runtime = self.runtime.clone();
        runtime.block_on(self.next_frame(text)).map_err(|err| failed(&err))
    }
}
