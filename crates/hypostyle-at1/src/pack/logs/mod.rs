//! Log files: codecs log and ssh, and records of codec jsondoc (§7.3, §7.4).
//!
//! `log_templates` mines the templates that lines share, `log` and `ssh` write templates and
//! variables as streams, and `log_records` writes lines as records with values by position.

pub(super) mod log;
pub(super) mod log_records;
pub(super) mod log_templates;
pub(super) mod ssh;
