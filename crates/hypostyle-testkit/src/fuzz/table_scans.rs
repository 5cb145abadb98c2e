//! Scans of a table in many ways, which must agree.

use arrow_array::RecordBatch;
use hypostyle::Table;
use hypostyle::predicate::Predicate;

use crate::laws;
use crate::scans::collected;

/// Scans a table as a whole, in small batches, single rows and columns of it, and with filters: if
/// the whole can be read, every scan returns what the whole says, or fails.
///
/// A filter may use checksums and statistics that a scan does not use, so that it fails alone.
pub fn scan_in_all_ways(table: &Table) {
    const MOST_ROWS: u64 = 2_000;
    let (Ok(schema), Ok(rows)) = (table.schema(), table.num_rows()) else { return };
    let scan = || table.scan().threads(1).limit(MOST_ROWS).memory_limit(4 << 20);
    let whole = collected(scan());
    if let Ok(whole) = &whole {
        assert_eq!(whole.num_rows() as u64, rows.min(MOST_ROWS), "num_rows differs from a scan");
    }
    let is_part = |part: hypostyle::Result<RecordBatch>, from: usize| {
        let (Ok(part), Ok(whole)) = (part, &whole) else { return };
        assert_eq!(part, whole.slice(from, part.num_rows()), "a part differs from the whole");
    };
    is_part(collected(scan().batch_size(3)), 0);
    is_part(collected(scan().rows(rows / 2..rows / 2 + 2)), usize::try_from(rows / 2).unwrap());
    for (column, field) in schema.fields().iter().enumerate().take(3) {
        let alone = collected(scan().columns([column]));
        if let (Ok(alone), Ok(whole)) = (&alone, &whole) {
            assert_eq!(alone.column(0), whole.column(column), "a column differs alone");
        }
        let _ = table.column_statistics(column);
        for filter in filters(field.name()) {
            let found = collected(scan().filter(filter.clone()));
            let (Ok(found), Ok(whole), true) = (found, &whole, rows <= MOST_ROWS) else { continue };
            let Ok(matching) = laws::matching_rows(&filter, whole) else { continue };
            // The statistics of a bent file may be wrong, and exclude rows that match.
            assert!(found.num_rows() <= matching.len(), "`{filter}` finds rows that do not match");
        }
    }
}

/// Filters that are tried on every column, after its name.
fn filters(column: &str) -> impl Iterator<Item = Predicate> {
    let name = column.replace('"', "\"\"");
    ["is null", "> 1", "= 'a'", "like '%a_%'", "< '2024-01-05'"]
        .into_iter()
        .filter_map(move |test| Predicate::parse(&format!("\"{name}\" {test}")).ok())
}
