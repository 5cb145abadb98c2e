//! Log files: codecs log and ssh, and records of codec jsondoc (§7.1, §7.2, §7.4).
//!
//! All three encoders first find the templates that lines share (`log_templates`). `log` then
//! writes templates and variables, `ssh` does so for the messages of sshd and keeps the fields
//! before them as lists, and `log_records` gives every line a record of equally many holes
//! whose values are columns by position.

pub(super) mod log;
pub(super) mod log_records;
pub(super) mod log_templates;
pub(super) mod ssh;
