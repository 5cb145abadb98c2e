//! Writes the rows of a query as files: `COPY … TO` and `INSERT INTO`.
//!
//! A file is written to a temporary one first, since column files need whole columns and write
//! their header last. When the query has ended well, all files are uploaded in parts, and each
//! appears in the store when it is complete.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use datafusion_datasource::write::demux::DemuxedStreamReceiver;
use datafusion_datasource::write::get_writer_schema;
use futures::StreamExt;
use hypostyle::formats::at1;
use hypostyle::{Destination, FileKind, FormatId, SeekSink, Writer};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use tempfile::{NamedTempFile, TempPath};
use tokio::sync::mpsc::Receiver;

use crate::file_error::FileError;
use crate::open_file::blocking;
use crate::options::TableOptions;

/// Bytes that wait in memory before they are written to a file, or after they were read.
const BUFFER_BYTES: usize = 1 << 20;

/// Batches of rows that wait for the writer of a file.
const WAITING_BATCHES: usize = 2;

/// Bytes of a part of an upload.
const PART_BYTES: usize = 8 << 20;

/// Parts that are uploaded at the same time.
const CONCURRENT_PARTS: usize = 4;

/// A text of at most so many bytes is archived as a whole, which needs it in memory.
const WHOLE_ARCHIVE_BYTES: u64 = 256 << 20;

/// Writes files of one kind.
pub struct HypostyleSink {
    kind: FileKind,
    options: Arc<TableOptions>,
    config: FileSinkConfig,
}

impl HypostyleSink {
    /// Returns a sink of files of one kind, written as the options say.
    pub fn new(kind: FileKind, options: Arc<TableOptions>, config: FileSinkConfig) -> Self {
        Self { kind, options, config }
    }

    /// Returns the kind of files.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns how files are written.
    pub fn options(&self) -> &Arc<TableOptions> {
        &self.options
    }

    /// Writes rows as one file, and returns their number. The file appears in the store when it is
    /// complete, and replaces one of that name. Without rows, there is none.
    ///
    /// # Errors
    ///
    /// Fails if the rows fail, or if they cannot be stored as a file of this kind.
    pub async fn write_file(
        &self,
        mut rows: SendableRecordBatchStream,
        location: Path,
        store: &dyn ObjectStore,
    ) -> Result<u64> {
        let (sender, receiver) = tokio::sync::mpsc::channel(WAITING_BATCHES);
        let output = OutputFile {
            kind: self.kind,
            options: self.options.clone(),
            schema: get_writer_schema(&self.config),
            location,
        };
        let mut writing = SpawnedTask::spawn(output.write(receiver));
        let sent = async {
            while let Some(batch) = rows.next().await {
                // The writer is gone if it failed, which it reports.
                if sender.send(batch?).await.is_err() {
                    break;
                }
            }
            drop(sender);
            Ok::<(), DataFusionError>(())
        };
        sent.await?;
        let written = (&mut writing).await;
        let file = written.map_err(|err| DataFusionError::ExecutionJoin(Box::new(err)))??;
        if file.rows > 0 {
            let sent = upload(store, &file.location, &file.content).await;
            sent.map_err(|err| FileError::new(&file.location, err))?;
        }
        Ok(file.rows)
    }
}

#[async_trait]
impl FileSink for HypostyleSink {
    fn config(&self) -> &FileSinkConfig {
        &self.config
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        _: &Arc<TaskContext>,
        demux: SpawnedTask<Result<()>>,
        mut files: DemuxedStreamReceiver,
        store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let schema = get_writer_schema(&self.config);
        let mut tasks: JoinSet<Result<EncodedFile>> = JoinSet::new();
        while let Some((location, batches)) = files.recv().await {
            let output = OutputFile {
                kind: self.kind,
                options: self.options.clone(),
                schema: schema.clone(),
                location,
            };
            tasks.spawn(output.write(batches));
        }
        let (mut encoded, mut failure) = (Vec::new(), None);
        while let Some(file) = tasks.join_next().await {
            match file {
                Ok(Ok(file)) => encoded.push(file),
                Ok(Err(err)) => failure = failure.or(Some(err)),
                Err(err) => {
                    failure = failure.or(Some(DataFusionError::ExecutionJoin(Box::new(err))));
                }
            }
        }
        // A query that fails ends the rows of all files as if they were complete. A writer that
        // fails stops taking rows, which the demuxer then reports too.
        let demuxed = demux.join_unwind().await;
        let demuxed = demuxed.map_err(|err| DataFusionError::ExecutionJoin(Box::new(err)))?;
        failure.map_or(demuxed, Err)?;
        let mut rows = 0_u64;
        for file in encoded {
            rows = rows.saturating_add(file.rows);
            let sent = upload(store.as_ref(), &file.location, &file.content).await;
            sent.map_err(|err| FileError::new(&file.location, err))?;
        }
        Ok(rows)
    }
}

#[async_trait]
impl DataSink for HypostyleSink {
    fn schema(&self) -> &SchemaRef {
        self.config.output_schema()
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        FileSink::write_all(self, data, context).await
    }
}

impl fmt::Debug for HypostyleSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HypostyleSink").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl DisplayAs for HypostyleSink {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, url) = (self.kind.name(), &self.config.original_url);
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "HypostyleSink(format={kind}, url={url})")
            }
            DisplayFormatType::TreeRender => write!(f, "format: {kind}\nfile={url}"),
        }
    }
}

/// A file that is being written.
struct OutputFile {
    kind: FileKind,
    options: Arc<TableOptions>,
    schema: SchemaRef,
    location: Path,
}

/// A file that is complete, and waits to be uploaded.
struct EncodedFile {
    location: Path,
    /// Many files may wait, so none is kept open.
    content: TempPath,
    rows: u64,
}

impl OutputFile {
    async fn write(self, batches: Receiver<RecordBatch>) -> Result<EncodedFile> {
        let location = self.location.clone();
        let encoded = blocking(move || self.encode(batches)).await?;
        let (content, rows) = encoded.map_err(|err| FileError::new(&location, err))?;
        Ok(EncodedFile { location, content, rows })
    }

    /// Writes all rows to a temporary file; returns it and the number of rows.
    fn encode(&self, batches: Receiver<RecordBatch>) -> hypostyle::Result<(TempPath, u64)> {
        if self.kind.id() != FormatId::At1 {
            return self.encode_as(self.kind.id(), batches);
        }
        let text = self.archived_text();
        let (content, rows) = self.encode_as(text, batches)?;
        let mut content = File::open(&content)?;
        let mut archive = NamedTempFile::new()?;
        let name = self.archived_name(text);
        let level = self.options.writer.encode.level.clamp(1, at1::PackOptions::MAX_LEVEL);
        let options = at1::PackOptions::default()
            .with_name(Some(&name))
            .with_level(level)
            .with_rows_per_group(self.options.rows_per_group)
            .with_threads(self.options.writer.encode.threads);
        let size = content.metadata()?.len();
        if size <= WHOLE_ARCHIVE_BYTES {
            let mut whole = Vec::new();
            content.read_to_end(&mut whole)?;
            archive.write_all(&at1::pack(&whole, &options)?.0)?;
        } else {
            let out = BufWriter::with_capacity(BUFFER_BYTES, &mut archive);
            let content = BufReader::with_capacity(BUFFER_BYTES, content);
            at1::pack_stream(content, out, &options, |_, _| {})?;
        }
        Ok((archive.into_temp_path(), rows))
    }

    fn encode_as(
        &self,
        format: FormatId,
        mut batches: Receiver<RecordBatch>,
    ) -> hypostyle::Result<(TempPath, u64)> {
        let file = NamedTempFile::new()?;
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, file.as_file().try_clone()?);
        let sink = SeekSink::try_new(buffered)?;
        let to = Destination::Sink(Box::new(sink));
        let mut writer = Writer::create(to, format, self.schema.clone(), &self.options.writer)?;
        while let Some(batch) = batches.blocking_recv() {
            writer.write(&batch)?;
        }
        let rows = writer.finish()?;
        Ok((file.into_temp_path(), rows))
    }

    /// Returns the text that an archive stores: by the options, by the name before `.at1`, or
    /// CSV. CSV of one column looks like lines, and has no nested columns.
    fn archived_text(&self) -> FormatId {
        if let Some(text) = self.options.archived_text {
            return text;
        }
        let name = self.location.filename().unwrap_or_default();
        let inner = name.rsplit_once('.').and_then(|(inner, _)| inner.rsplit_once('.'));
        let named = inner.and_then(|(_, extension)| FileKind::by_extension(extension));
        match named.filter(|kind| kind.is_text() && kind.holds_tables()) {
            Some(kind) => kind.id(),
            None if has_nested(&self.schema) || self.schema.fields().len() == 1 => FormatId::Jsonl,
            None => FormatId::Csv,
        }
    }

    /// Returns the name of the file in an archive.
    fn archived_name(&self, text: FormatId) -> String {
        let name = self.location.filename().unwrap_or_default();
        let inner = name.rsplit_once('.').map_or(name, |(inner, _)| inner);
        let extension = format!(".{text}");
        if inner.ends_with(&extension) { inner.to_owned() } else { format!("{inner}{extension}") }
    }
}

fn has_nested(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| match field.data_type() {
        DataType::Dictionary(_, values) => values.is_nested(),
        other => other.is_nested(),
    })
}

/// Uploads a file in parts. It appears when all of them are there, or not at all.
async fn upload(
    store: &dyn ObjectStore,
    location: &Path,
    content: &std::path::Path,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (mut file, first) = next_part(File::open(content)?).await?;
    if first.len() < PART_BYTES {
        store.put(location, PutPayload::from_bytes(first)).await?;
        return Ok(());
    }
    let mut upload = object_store::WriteMultipart::new_with_chunk_size(
        store.put_multipart(location).await?,
        PART_BYTES,
    );
    let mut part = first;
    let sent = async {
        while !part.is_empty() {
            upload.wait_for_capacity(CONCURRENT_PARTS).await?;
            upload.put(std::mem::take(&mut part));
            (file, part) = next_part(file).await?;
        }
        Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    }
    .await;
    match sent {
        Ok(()) => {
            upload.finish().await?;
            Ok(())
        }
        Err(err) => {
            upload.abort().await?;
            Err(err)
        }
    }
}

async fn next_part(
    mut file: File,
) -> Result<(File, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let read = move || {
        let mut part = Vec::new();
        (&mut file).take(PART_BYTES as u64).read_to_end(&mut part)?;
        Ok::<_, io::Error>((file, Bytes::from(part)))
    };
    Ok(blocking(read).await??)
}
