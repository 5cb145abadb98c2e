//! Sends scans and sinks of our files from the client to the scheduler and to executors.

use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileSinkConfig};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{
    parse_protobuf_file_scan_config, parse_table_schema_from_proto,
};
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf;
use hypostyle_datafusion::{HypostyleSink, HypostyleSource, RowGroups};

use crate::messages::{
    FormatMessage, Node, NodeKind, PackNode, PartMessage, PartSinkNode, ScanNode, SinkNode, missing,
};
use crate::pack_exec::PackExec;
use crate::part_sink::PartSinkExec;

/// Encodes and decodes scans and sinks of our files, and leaves all other nodes to Ballista.
#[derive(Debug, Default)]
pub struct PhysicalCodec {
    ballista: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = || inputs.first().cloned().ok_or_else(|| missing("input"));
        match Node::get(buf)? {
            None => self.ballista.try_decode(buf, inputs, ctx, converter),
            Some(NodeKind::Scan(node)) => {
                let context = PhysicalPlanDecodeContext::new(ctx, self);
                decode_scan(&node, &context, converter)
            }
            Some(NodeKind::Sink(node)) => {
                let sink = decode_sink(&node)?;
                Ok(Arc::new(DataSinkExec::new(input()?, Arc::new(sink), None)))
            }
            Some(NodeKind::PartSink(node)) => {
                let sink = decode_sink(node.sink.as_ref().ok_or_else(|| missing("sink"))?)?;
                let sink = PartSinkExec::new(input()?, Arc::new(sink), node.token);
                Ok(Arc::new(sink.with_numbers(node.numbers)))
            }
            Some(NodeKind::Pack(node)) => {
                let options = node.options.ok_or_else(|| missing("options"))?;
                Ok(Arc::new(PackExec::new(input()?, options)))
            }
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some((config, source)) = scan_of(node.as_ref()) {
            let scan = encode_scan(config, source, self, converter)?;
            return Node::put(NodeKind::Scan(scan), buf);
        }
        if let Some(exec) = node.downcast_ref::<DataSinkExec>()
            && let Some(sink) = exec.sink().downcast_ref::<HypostyleSink>()
        {
            return Node::put(NodeKind::Sink(encode_sink(sink)?), buf);
        }
        if let Some(exec) = node.downcast_ref::<PartSinkExec>() {
            let node = PartSinkNode {
                sink: Some(encode_sink(exec.sink())?),
                token: exec.token().to_owned(),
                numbers: exec.numbers().to_vec(),
            };
            return Node::put(NodeKind::PartSink(node), buf);
        }
        if let Some(exec) = node.downcast_ref::<PackExec>() {
            let node = PackNode { options: Some(exec.options().clone()) };
            return Node::put(NodeKind::Pack(node), buf);
        }
        self.ballista.try_encode(node, buf, converter)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.ballista.try_decode_udf(name, buf)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode_udf(node, buf)
    }

    fn try_decode_higher_order_function(
        &self,
        name: &str,
        buf: &[u8],
    ) -> Result<Arc<HigherOrderUDF>> {
        self.ballista.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(
        &self,
        node: &HigherOrderUDF,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        self.ballista.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.ballista.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.ballista.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode_udwf(node, buf)
    }
}

/// Returns the scan of our files that a node is.
pub(crate) fn scan_of(node: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &HypostyleSource)> {
    let exec = node.downcast_ref::<DataSourceExec>()?;
    let config = exec.data_source().downcast_ref::<FileScanConfig>()?;
    Some((config, config.file_source().downcast_ref::<HypostyleSource>()?))
}

fn encode_scan(
    config: &FileScanConfig,
    source: &HypostyleSource,
    codec: &PhysicalCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<ScanNode> {
    let encoded = |filters: &[Arc<dyn PhysicalExpr>]| {
        let encoded = filters.iter().map(|filter| converter.physical_expr_to_proto(filter, codec));
        encoded.collect::<Result<Vec<_>>>()
    };
    let (exact, wider) = source.filters();
    let parts = config.file_groups.iter().flat_map(FileGroup::iter).map(|part| {
        let groups = part.extensions.get::<RowGroups>();
        let group = |at: usize| at as u64;
        PartMessage {
            first_group: groups.map(|groups| group(groups.0.start)),
            end_group: groups.map(|groups| group(groups.0.end)).unwrap_or_default(),
            e_tag: part.object_meta.e_tag.clone(),
            version: part.object_meta.version.clone(),
        }
    });
    Ok(ScanNode {
        format: Some(FormatMessage::new(source.kind(), source.options())?),
        exact: encoded(exact)?,
        wider: encoded(wider)?,
        memory: source.memory(),
        parts: parts.collect(),
        scan: Some(serialize_file_scan_config(config, codec, converter)?),
    })
}

fn decode_scan(
    node: &ScanNode,
    context: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<Arc<dyn ExecutionPlan>> {
    let format = node.format.as_ref().ok_or_else(|| missing("format"))?;
    let scan = node.scan.as_ref().ok_or_else(|| missing("scan"))?;
    let schema = parse_table_schema_from_proto(scan)?;
    let columns = schema.table_schema().clone();
    let decoded = |filters: &[protobuf::PhysicalExprNode]| {
        let decoded = filters
            .iter()
            .map(|filter| converter.proto_to_physical_expr(filter, &columns, context));
        decoded.collect::<Result<Vec<_>>>()
    };
    let (exact, wider) = (decoded(&node.exact)?, decoded(&node.wider)?);
    let cache = context.task_ctx().runtime_env().cache_manager.get_file_metadata_cache();
    let source = HypostyleSource::new(format.kind()?, Arc::new(format.options()?), schema)
        .with_filters(exact, wider)
        .with_memory(node.memory)
        .with_metadata_cache(cache);
    let source = Arc::new(source);
    let mut config = parse_protobuf_file_scan_config(scan, context, converter, source)?;
    let mut parts = node.parts.iter();
    let mut groups = Vec::with_capacity(config.file_groups.len());
    for group in std::mem::take(&mut config.file_groups) {
        let files = group.into_inner().into_iter().map(|file| {
            let part = parts.next().ok_or_else(|| missing("parts"))?;
            with_part(file, part)
        });
        groups.push(FileGroup::new(files.collect::<Result<Vec<_>>>()?));
    }
    config.file_groups = groups;
    Ok(DataSourceExec::from_data_source(config))
}

fn with_part(mut file: PartitionedFile, part: &PartMessage) -> Result<PartitionedFile> {
    file.object_meta.e_tag.clone_from(&part.e_tag);
    file.object_meta.version.clone_from(&part.version);
    let Some(first) = part.first_group else { return Ok(file) };
    let group = |at: u64| usize::try_from(at).map_err(|_| missing("first_group"));
    let groups = group(first)?..group(part.end_group)?;
    Ok(file.with_extension(RowGroups(groups)))
}

fn encode_sink(sink: &HypostyleSink) -> Result<SinkNode> {
    let config = datafusion::datasource::physical_plan::FileSink::config(sink);
    Ok(SinkNode {
        format: Some(FormatMessage::new(sink.kind(), sink.options())?),
        config: Some(protobuf::FileSinkConfig::try_from(config)?),
        original_url: config.original_url.clone(),
    })
}

fn decode_sink(node: &SinkNode) -> Result<HypostyleSink> {
    let format = node.format.as_ref().ok_or_else(|| missing("format"))?;
    let config = node.config.as_ref().ok_or_else(|| missing("config"))?;
    let mut config = FileSinkConfig::try_from(config)?;
    config.original_url.clone_from(&node.original_url);
    Ok(HypostyleSink::new(format.kind()?, Arc::new(format.options()?), config))
}
