//! The interactive prompt.

use super::Args;
use super::session::Session;
use crate::commands::Status;
use crate::failure::{Failure, Result};
use crate::output::Out;

pub(crate) fn run(_: &Session, _: &Args, _: &mut dyn Out) -> Result<Status> {
    Err(Failure::usage("no query"))
}
