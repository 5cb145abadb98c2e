//! Horizontal bars in a terminal.

/// Width of a bar in terminal cells, where the width of the terminal does not matter.
pub(crate) const BAR_CELLS: u64 = 24;

/// Returns a bar that fills `part` / `whole` of `cells`, in eighths of a cell.
pub(crate) fn bar(part: u64, whole: u64, cells: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let max_eighths = cells.saturating_mul(8);
    let eighths = part.saturating_mul(max_eighths).checked_div(whole).unwrap_or(0).min(max_eighths);
    let full = usize::try_from(eighths / 8).unwrap_or(0);
    let rest = usize::try_from(eighths % 8).unwrap_or(0);
    let rest = EIGHTHS.get(rest).copied().unwrap_or_default();
    // A part above zero is always visible.
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
