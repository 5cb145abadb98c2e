//! Column names: in any case, and without the names of files.
//!
//! The engine takes a name without quotes for lower case. People do not know, so a name that is
//! that of one column but for its case stands for that column.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, TableReference};
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Ident, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Replaces names in a statement by those of columns that differ in their case only. Returns the
/// tables that the statement names.
pub(crate) async fn match_case(
    ctx: &SessionContext,
    statement: &mut Statement,
    sql: &str,
) -> Vec<TableReference> {
    // A statement that names no known table fails later, with a better message.
    let tables = ctx.state().resolve_table_references(statement).unwrap_or_default();
    let mut columns: HashMap<String, HashSet<String>> = HashMap::new();
    for table in &tables {
        let Ok(table) = ctx.table_provider(table.clone()).await else { continue };
        for field in table.schema().fields() {
            let name = field.name();
            columns.entry(name.to_lowercase()).or_default().insert(name.clone());
        }
    }
    for alias in aliases(sql) {
        columns.remove(&alias);
    }
    let only = |names: HashSet<String>| <[String; 1]>::try_from(Vec::from_iter(names)).ok();
    let columns: HashMap<String, String> = columns
        .into_iter()
        .filter_map(|(lower, names)| Some((lower, only(names)?)))
        .filter_map(|(lower, [name])| (lower != name).then_some((lower, name)))
        .collect();
    if let Statement::Statement(statement) = statement
        && !columns.is_empty()
    {
        let _: ControlFlow<()> = statement.visit(&mut CaseMatcher { columns });
    }
    tables
}

/// Names the columns of a result without the files that they come from: `max(a)`, not
/// `max(flights.csv.a)`.
pub(crate) fn without_files(
    plan: LogicalPlan,
    tables: &[TableReference],
) -> Result<LogicalPlan, DataFusionError> {
    let files: Vec<String> = tables.iter().map(|table| format!("{}.", table.table())).collect();
    let short =
        |name: &str| files.iter().fold(name.to_owned(), |name, file| name.replace(file, ""));
    let columns = plan.schema().columns();
    let names: Vec<String> = columns.iter().map(|column| short(&column.name)).collect();
    let is_changed = columns.iter().zip(&names).any(|(column, name)| column.name != *name);
    let are_distinct = names.iter().collect::<HashSet<_>>().len() == names.len();
    if !is_changed || !are_distinct {
        return Ok(plan);
    }
    let named = columns.into_iter().zip(names);
    let named = named.map(|(column, name)| PlanExpr::Column(column).alias(name));
    LogicalPlanBuilder::from(plan).project(named)?.build()
}

/// Returns the names that the statement itself gives, in lower case.
fn aliases(sql: &str) -> Vec<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default();
    let words = tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_)));
    let (mut found, mut is_alias) = (Vec::new(), false);
    for token in words {
        match token {
            Token::Word(word) if is_alias => {
                found.push(word.value.to_lowercase());
                is_alias = false;
            }
            Token::Word(word) => is_alias = word.keyword == Keyword::AS,
            _ => is_alias = false,
        }
    }
    found
}

struct CaseMatcher {
    /// Names of columns by the same in lower case.
    columns: HashMap<String, String>,
}

impl CaseMatcher {
    fn replace(&self, ident: &mut Ident) {
        if ident.quote_style.is_some() {
            return;
        }
        if let Some(name) = self.columns.get(&ident.value.to_lowercase()) {
            ident.value.clone_from(name);
            ident.quote_style = Some('"');
        }
    }
}

impl VisitorMut for CaseMatcher {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.replace(ident),
            Expr::CompoundIdentifier(parts) => {
                parts.last_mut().into_iter().for_each(|ident| self.replace(ident));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
