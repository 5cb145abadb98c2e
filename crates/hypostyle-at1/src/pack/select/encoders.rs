//! The encoders that give content structure.

use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::json::jsondoc;
use crate::pack::json::lines as json_lines;
use crate::pack::logs::{log, log_records, ssh};
use crate::pack::row_syntax::{RowSyntax, Service};
use crate::pack::science::{dicom, embed, osm, vcf, vcf_columnar};
use crate::pack::select::report::{Outcome, Trial};
use crate::pack::stream_set::Stream;
use crate::pack::tables::columnar;
use hypostyle_core::error::Result;

/// Encodes content as streams; returns `None` if it does not fit the model of the codec.
type EncodeFn = fn(&[u8], &EncodeContext<'_>) -> Result<Option<Vec<Stream>>>;

/// One encoder of a codec.
#[derive(Debug)]
pub(in crate::pack) struct Encoder {
    pub(in crate::pack) codec: Codec,
    /// The form, if the codec has several for different content; else empty.
    form: &'static str,
    /// Returns quickly whether content looks like what the encoder is made for.
    pub(in crate::pack) suits: fn(&[u8]) -> bool,
    pub(in crate::pack) encode: EncodeFn,
    /// Whether the size of a sample of lines predicts the size of the whole.
    pub(in crate::pack) by_lines: bool,
    /// Whether the cells of this form are the cells of a table of this syntax.
    serves: fn(RowSyntax) -> bool,
}

impl Encoder {
    const fn by_lines(
        codec: Codec,
        form: &'static str,
        suits: fn(&[u8]) -> bool,
        encode: EncodeFn,
    ) -> Self {
        Self { codec, form, suits, encode, by_lines: true, serves: |_| false }
    }

    const fn whole(
        codec: Codec,
        form: &'static str,
        suits: fn(&[u8]) -> bool,
        encode: EncodeFn,
    ) -> Self {
        Self { codec, form, suits, encode, by_lines: false, serves: |_| false }
    }

    const fn serving(mut self, serves: fn(RowSyntax) -> bool) -> Self {
        self.serves = serves;
        self
    }

    /// Returns whether the cells of this form are the cells of a table.
    pub(in crate::pack) fn serves(&self, table: Option<RowSyntax>) -> bool {
        table.is_some_and(self.serves)
    }

    /// Returns what this form offers to a query of a table, at least.
    pub(in crate::pack) fn service(&self, table: Option<RowSyntax>) -> Service {
        if self.serves(table) { Service::Columns } else { Service::Text }
    }

    /// Returns the entry of the report for this encoder.
    pub(in crate::pack) fn trial(&self, outcome: Outcome) -> Trial {
        Trial { codec: self.codec, form: self.form, outcome }
    }
}

/// All encoders but RAW and those of queryable codecs. If two make the same size, the first
/// wins.
pub(in crate::pack) const ENCODERS: &[Encoder] = &[
    Encoder::by_lines(Codec::Columnar, "", |_| true, columnar::table_streams)
        .serving(|table| matches!(table, RowSyntax::Delimited { .. })),
    Encoder::by_lines(Codec::Columnar, "any fields", |_| true, columnar::streams),
    Encoder::by_lines(Codec::Log, "", log::suits, log::streams),
    Encoder::by_lines(Codec::Ssh, "", ssh::suits, ssh::streams),
    Encoder::by_lines(Codec::JsonDoc, "records", log::suits, log_records::streams),
    Encoder::whole(Codec::Dicom, "", dicom::suits, dicom::streams),
    Encoder::whole(Codec::Embed, "", embed::suits, embed::streams),
    Encoder::by_lines(Codec::Json, "", json_lines::suits, json_lines::streams)
        .serving(|table| table == RowSyntax::Objects),
    Encoder::whole(Codec::JsonDoc, "document", jsondoc::suits, jsondoc::streams),
    Encoder::by_lines(Codec::Vcf, "", vcf::suits, vcf::streams),
    // A sample of lines has too few sites to predict the size of all calls.
    Encoder::whole(Codec::Columnar, "calls", vcf::suits, vcf_columnar::streams),
    Encoder::by_lines(Codec::Osm, "", osm::suits, osm::streams),
];
