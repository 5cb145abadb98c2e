//! Bars for people.

/// Cells of a bar where the width of the terminal does not matter.
pub(crate) const BAR: u64 = 24;

/// A bar of up to so many cells, in eighths of a cell.
pub(crate) fn bar(part: u64, whole: u64, cells: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let most = cells.saturating_mul(8);
    let eighths = part.saturating_mul(most).checked_div(whole).unwrap_or(0).min(most);
    let full = usize::try_from(eighths / 8).unwrap_or(0);
    let rest = usize::try_from(eighths % 8).unwrap_or(0);
    let rest = EIGHTHS.get(rest).copied().unwrap_or_default();
    // Something is never shown as nothing.
    let rest = if part > 0 && eighths == 0 { "▏" } else { rest };
    format!("{}{rest}", "█".repeat(full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!(bar(0, 8, 2), "");
        assert_eq!(bar(1, 1000, 2), "▏");
        assert_eq!(bar(3, 16, 2), "▍");
        assert_eq!(bar(12, 16, 2), "█▌");
        assert_eq!(bar(17, 16, 2), "██");
        assert_eq!(bar(5, 0, 2), "▏");
    }
}
