//! Packs texts, as a node of a plan.

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use futures::{StreamExt, TryStreamExt};
use hypostyle::formats::at1::{self, FrameState};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};

use crate::messages::{PackMessage, PackedMessage};

/// Bytes of an archive in a row: messages between servers have a maximum.
const ROW_BYTES: usize = 4 << 20;

/// What a task packs: a part of a file, or all of it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) number: u64,
    pub(crate) store: String,
    pub(crate) location: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The name of the file, for its kind.
    pub(crate) name: Option<String>,
    /// The state before a frame; a file that is packed whole has none.
    pub(crate) state: Option<Vec<u8>>,
}

/// The columns of items.
pub(crate) static ITEMS: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::UInt64, false),
        Field::new("store", DataType::Utf8, false),
        Field::new("location", DataType::Utf8, false),
        Field::new("start", DataType::UInt64, false),
        Field::new("end", DataType::UInt64, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("state", DataType::Binary, true),
    ]))
});

/// The columns of results: a piece of what was packed, and at the end what became of it.
pub(crate) static PIECES: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::UInt64, false),
        Field::new("bytes", DataType::Binary, false),
        Field::new("packed", DataType::Binary, true),
    ]))
});

impl Item {
    /// Returns a row.
    pub(crate) fn batch(&self) -> Result<RecordBatch> {
        use datafusion::arrow::array::StringArray;
        let number = |value| Arc::new(UInt64Array::from(vec![value])) as ArrayRef;
        let text = |value: Option<&str>| Arc::new(StringArray::from(vec![value])) as ArrayRef;
        let columns = vec![
            number(self.number),
            text(Some(&self.store)),
            text(Some(&self.location)),
            number(self.start),
            number(self.end),
            text(self.name.as_deref()),
            Arc::new(BinaryArray::from_opt_vec(vec![self.state.as_deref()])),
        ];
        Ok(RecordBatch::try_new(ITEMS.clone(), columns)?)
    }

    fn of_batch(batch: &RecordBatch, row: usize) -> Result<Self> {
        let lacks = |name: &str| internal_datafusion_err!("an item lacks its {name}");
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| lacks(name));
        let number = |name: &str| {
            let numbers = column(name)?.as_primitive_opt::<UInt64Type>();
            Ok::<_, DataFusionError>(numbers.ok_or_else(|| lacks(name))?.value(row))
        };
        let text = |name: &str| {
            let texts = column(name)?.as_string_opt::<i32>().ok_or_else(|| lacks(name))?;
            let text = (!texts.is_null(row)).then(|| texts.value(row).to_owned());
            Ok::<_, DataFusionError>(text)
        };
        let states = column("state")?.as_binary_opt::<i32>().ok_or_else(|| lacks("state"))?;
        Ok(Self {
            number: number("number")?,
            store: text("store")?.ok_or_else(|| lacks("store"))?,
            location: text("location")?.ok_or_else(|| lacks("location"))?,
            start: number("start")?,
            end: number("end")?,
            name: text("name")?,
            state: (!states.is_null(row)).then(|| states.value(row).to_vec()),
        })
    }

    /// Reads and packs the text; returns the archive or the frame, and what became of it.
    async fn pack(self, options: PackMessage, context: &TaskContext) -> Result<[Bytes; 2]> {
        let url = ObjectStoreUrl::parse(&self.store)?;
        let store: Arc<dyn ObjectStore> = context.runtime_env().object_store(&url)?;
        let location = Path::parse(&self.location)?;
        let text = match self.start < self.end {
            true => store.get_range(&location, self.start..self.end).await?,
            false => Bytes::new(),
        };
        let asked = self.end.saturating_sub(self.start);
        if text.len() as u64 != asked {
            let found = text.len();
            return Err(exec_datafusion_err!("`{location}`: {found} bytes where {asked} were"));
        }
        let work = SpawnedTask::spawn_blocking(move || self.pack_text(&text, &options));
        let packed = work.join_unwind().await;
        packed.map_err(|err| DataFusionError::ExecutionJoin(Box::new(err)))?
    }

    fn pack_text(self, text: &[u8], options: &PackMessage) -> Result<[Bytes; 2]> {
        let options = options.options()?.with_name(self.name.as_deref());
        let failed = |err: hypostyle::Error| exec_datafusion_err!("`{}`: {err}", self.location);
        let hash = Sha256::digest(text).to_vec();
        let original = text.len() as u64;
        let (bytes, message) = match self.state {
            Some(state) => {
                let frame = at1::pack_frame(&FrameState::from_bytes(state), text, &options);
                let frame = frame.map_err(failed)?;
                let next = Some(frame.next.as_bytes().to_vec());
                let message = PackedMessage { hash, next, original, ..Default::default() };
                (frame.bytes, message)
            }
            None => {
                let (archive, packed) = at1::pack(text, &options).map_err(failed)?;
                let message = PackedMessage {
                    hash,
                    next: None,
                    codec: packed.codec.name().to_owned(),
                    original,
                    is_raw: packed.frames.1 > 0,
                    is_queryable: packed.is_queryable,
                };
                (archive, message)
            }
        };
        Ok([bytes.into(), prost::Message::encode_to_vec(&message).into()])
    }
}

/// Packs the texts that its input names, and returns what it packed.
pub(crate) struct PackExec {
    input: Arc<dyn ExecutionPlan>,
    options: PackMessage,
    properties: Arc<PlanProperties>,
}

impl PackExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, options: PackMessage) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(PIECES.clone()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { input, options, properties: Arc::new(properties) }
    }

    pub(crate) fn options(&self) -> &PackMessage {
        &self.options
    }
}

impl ExecutionPlan for PackExec {
    fn name(&self) -> &'static str {
        "PackExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.ok_or_else(|| internal_datafusion_err!("a packer has an input"))?;
        Ok(Arc::new(Self::new(input, self.options.clone())))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let items = self.input.execute(partition, context.clone())?;
        let options = self.options.clone();
        let items = items.map(|batch| {
            let batch = batch?;
            let rows = 0..batch.num_rows();
            let items = rows.map(|row| Item::of_batch(&batch, row)).collect::<Result<Vec<_>>>()?;
            Ok::<_, DataFusionError>(futures::stream::iter(
                items.into_iter().map(Ok::<_, DataFusionError>),
            ))
        });
        let packed = items.try_flatten().and_then(move |item| {
            let (options, context) = (options.clone(), context.clone());
            async move {
                let number = item.number;
                let [bytes, packed] = item.pack(options, &context).await?;
                let pieces = pieces(number, &bytes, &packed)?;
                Ok(futures::stream::iter(pieces.into_iter().map(Ok::<_, DataFusionError>)))
            }
        });
        let stream = packed.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(PIECES.clone(), stream)))
    }
}

/// Cuts what was packed into rows, the last of which tells what became of it.
fn pieces(number: u64, bytes: &[u8], packed: &[u8]) -> Result<Vec<RecordBatch>> {
    let piece = |bytes: &[u8], packed: Option<&[u8]>| {
        let columns: [ArrayRef; 3] = [
            Arc::new(UInt64Array::from(vec![number])),
            Arc::new(BinaryArray::from(vec![bytes])),
            Arc::new(BinaryArray::from_opt_vec(vec![packed])),
        ];
        Ok(RecordBatch::try_new(PIECES.clone(), columns.to_vec())?)
    };
    let full = bytes.chunks(ROW_BYTES).map(|bytes| piece(bytes, None));
    full.chain(std::iter::once_with(|| piece(&[], Some(packed)))).collect()
}

impl DisplayAs for PackExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackExec: level={}, codec={}", self.options.level, self.options.codec)
    }
}

impl fmt::Debug for PackExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackExec").field("options", &self.options).finish_non_exhaustive()
    }
}
