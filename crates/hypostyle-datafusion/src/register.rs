//! Registers formats in a session.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::prelude::SessionContext;
use hypostyle::{FileKind, formats};

use crate::format::HypostyleFormatFactory;

/// Adds the formats of [`hypostyle::formats::ALL`] to a session.
///
/// # Errors
///
/// Fails if the session cannot register a format.
pub fn register(ctx: &SessionContext) -> Result<()> {
    register_kinds(ctx, FileKind::all().filter(|kind| kind.format().is_some()))
}

/// Adds kinds of files to a session, each under its name and its extensions.
///
/// A format of the session with such a name, such as the engine's own CSV, is replaced.
///
/// # Errors
///
/// As [`register`].
pub fn register_kinds(
    ctx: &SessionContext,
    kinds: impl IntoIterator<Item = FileKind>,
) -> Result<()> {
    let state = ctx.state_ref();
    let mut state = state.write();
    for kind in kinds {
        let extensions = kind.extensions().iter().copied();
        for name in std::iter::once(kind.name()).chain(extensions) {
            let factory = Arc::new(HypostyleFormatFactory::new(kind, name));
            state.register_file_format(factory, true)?;
            let tables = state.table_factories_mut();
            tables.insert(name.to_uppercase(), Arc::new(DefaultTableFactory::new()));
        }
    }
    Ok(())
}

const _: () = assert!(!formats::ALL.is_empty(), "the library has formats");
