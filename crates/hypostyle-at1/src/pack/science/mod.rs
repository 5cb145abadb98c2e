//! Scientific and binary files: codecs vcf, osm, dicom and embed (§7.5, §7.7 to §7.9).
//!
//! `vcf` writes variant calls with the codec of that name, `vcf_columnar` writes them as columns
//! of codec columnar, `osm` OpenStreetMap XML, `dicom` medical images, `embed` arrays of numbers.

pub(super) mod dicom;
pub(super) mod embed;
pub(super) mod osm;
pub(super) mod vcf;
pub(super) mod vcf_columnar;
