//! Scientific and binary files: codecs osm, vcf, dicom and embed (§7.5 to §7.8).
//!
//! Each encoder first checks whether content suits it and then writes its streams. `osm` parses
//! OpenStreetMap XML. `vcf` writes variant calls with the codec of that name, `vcf_columnar`
//! writes the same records as columns of codec columnar. `dicom` transforms the pixels of
//! medical images, and `embed` splits arrays of numbers into planes of bytes; it declines what
//! `dicom` accepts.

pub(super) mod dicom;
pub(super) mod embed;
pub(super) mod osm;
pub(super) mod vcf;
pub(super) mod vcf_columnar;
