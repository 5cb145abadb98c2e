//! Runs statements.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::datasource::file_format::format_as_file_type;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use futures::StreamExt;

use super::results::ResultPrinter;
use super::session::Session;
use super::{Args, names, problem};
#[cfg(feature = "remote")]
use crate::failure::InFile;
use crate::failure::{Failure, Result};
use crate::output::{Out, warn};
use crate::path_arg::{is_url, is_url_text, output_name};

/// Runs all statements of a text, and prints their results.
pub(crate) fn run(
    session: &Session,
    text: &str,
    args: &Args,
    has_stats: bool,
    out: &mut dyn Out,
) -> Result<()> {
    session.start_statement();
    let statements = parse(text).map_err(|err| problem::failure(&err, text))?;
    let Some(last) = statements.len().checked_sub(1) else {
        return Err(Failure::usage("there is no statement"));
    };
    for (index, statement) in statements.into_iter().enumerate() {
        let output = args.output.as_deref().filter(|_| index == last);
        let read = run_one(session, statement, text, output, args, out)?;
        if has_stats {
            out.flush()?;
            io::stderr().write_all(read.described().as_bytes())?;
        }
    }
    Ok(())
}

/// Parses statements that are separated by semicolons.
pub(crate) fn parse(text: &str) -> Result<Vec<Statement>, DataFusionError> {
    Ok(DFParserBuilder::new(text).build()?.parse_statements()?.into())
}

fn run_one(
    session: &Session,
    mut statement: Statement,
    text: &str,
    output: Option<&Path>,
    args: &Args,
    out: &mut dyn Out,
) -> Result<ReadBytes> {
    let worded = |err: DataFusionError| problem::failure(&err, text);
    let ctx = &session.ctx;
    #[cfg(feature = "remote")]
    session.forget_files();
    refuse_queries(&statement)?;
    let tables = session.run(names::match_case(ctx, &mut statement, text))?;
    let state = ctx.state();
    let plan = session.run(state.statement_to_plan(statement))?.map_err(worded)?;
    let is_query = !matches!(
        plan,
        LogicalPlan::Ddl(_)
            | LogicalPlan::Statement(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Dml(_)
    );
    let is_explain = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
    let plan = match is_query && !is_explain {
        true => names::without_files(plan, &tables).map_err(worded)?,
        false => plan,
    };
    let plan = match output {
        Some(path) => write_to(session, plan, path, args.force)?,
        None => plan,
    };
    let frame = session.run(ctx.execute_logical_plan(plan))?.map_err(worded)?;
    let task = frame.task_ctx();
    let plan = session.run(frame.create_physical_plan())?.map_err(worded)?;
    let schema = plan.schema();
    let mut stream = {
        let runtime = session.handle();
        let _guard = runtime.enter();
        execute_stream(plan.clone(), Arc::new(task)).map_err(worded)?
    };
    let mut printer = match (is_query, is_explain) {
        (_, true) if output.is_none() => ResultPrinter::plans(out),
        (true, false) if output.is_none() => {
            ResultPrinter::open(args.format, &schema, &args.read, out)?
        }
        _ => ResultPrinter::nothing(),
    };
    while let Some(batch) = session.run(stream.next())? {
        printer.write(&batch.map_err(worded)?)?;
    }
    printer.finish()?;
    let read = ReadBytes::of(plan.as_ref());
    if read.rows_damaged > 0 {
        session.note_damage();
        warn(format_args!("{} damaged rows are left out", read.rows_damaged));
    }
    Ok(read)
}

/// Refuses a table whose location has a query: the engine would leave it out.
fn refuse_queries(statement: &Statement) -> Result<()> {
    let has_query = |url: &String| is_url_text(url) && url.starts_with("http") && url.contains('?');
    match statement {
        Statement::CreateExternalTable(table) if table.locations.iter().any(has_query) => {
            Err(Failure::usage("LOCATION takes no URL with a query; name the URL in FROM instead"))
        }
        _ => Ok(()),
    }
}

/// Returns the plan that writes the result of another one to a file.
fn write_to(session: &Session, plan: LogicalPlan, path: &Path, force: bool) -> Result<LogicalPlan> {
    let failed = |why: &str| Failure::usage(why).in_file(output_name(path));
    if exists(session, path, force)? && !force {
        return Err(failed("already exists; --force overwrites it"));
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let factory = session.ctx.state().get_file_format_factory(extension);
    let Some(factory) = factory else {
        return Err(failed("no format has this extension"));
    };
    if plan.schema().fields().is_empty() {
        return Err(failed("the last statement has no result to write"));
    }
    let path = if is_url(path) { path.to_owned() } else { std::path::absolute(path)? };
    let (url, kind) = (path.to_string_lossy().into_owned(), format_as_file_type(factory));
    LogicalPlanBuilder::copy_to(plan, url, kind, HashMap::new(), Vec::new())
        .and_then(LogicalPlanBuilder::build)
        .map_err(|err| problem::failure(&err, ""))
}

/// Returns whether an output exists; fails if it is a URL that cannot be written.
#[cfg(feature = "remote")]
fn exists(session: &Session, path: &Path, force: bool) -> Result<bool> {
    if !is_url(path) {
        return Ok(path.exists());
    }
    let (store, location) =
        session.urls.remote.locate(&path.to_string_lossy()).in_file(output_name(path))?;
    match session.run(store.check_new(&location, force))? {
        Ok(()) => Ok(false),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        Err(err) => Err(Failure::from(err).in_file(output_name(path))),
    }
}

/// Returns whether an output exists.
#[cfg(not(feature = "remote"))]
fn exists(_: &Session, path: &Path, _: bool) -> Result<bool> {
    if is_url(path) { Err(crate::path_arg::no_urls()) } else { Ok(path.exists()) }
}

/// What the scans of a plan read.
#[derive(Default)]
struct ReadBytes {
    file_bytes: usize,
    bytes: usize,
    row_groups_read: usize,
    row_groups_pruned: usize,
    rows_read: usize,
    rows_damaged: usize,
}

impl ReadBytes {
    fn of(plan: &dyn ExecutionPlan) -> Self {
        let mut found = Self::default();
        found.add(plan);
        found
    }

    fn add(&mut self, plan: &dyn ExecutionPlan) {
        if let Some(metrics) = plan.metrics() {
            let count = |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize());
            self.file_bytes += count("file_bytes");
            self.bytes += count("bytes_scanned");
            self.row_groups_read += count("row_groups_read");
            self.row_groups_pruned += count("row_groups_pruned");
            self.rows_read += count("rows_read");
            self.rows_damaged += count("rows_damaged");
        }
        for child in plan.children() {
            self.add(child.as_ref());
        }
    }

    fn described(&self) -> String {
        let groups = self.row_groups_read.saturating_add(self.row_groups_pruned);
        let share = 100.0 * self.bytes as f64 / self.file_bytes.max(1) as f64;
        format!(
            "{} rows read; {} of {groups} row groups read, {} skipped; {} of {} bytes read, \
             {share:.2} %\n",
            self.rows_read,
            self.row_groups_read,
            self.row_groups_pruned,
            self.bytes,
            self.file_bytes
        )
    }
}
