//! Tables and names on a terminal.

use std::fmt::Write;

/// Appends a table whose first row is the heading; columns without a value are left out. The
/// columns
/// `numbers` are aligned to the right, words to the left.
pub(crate) fn aligned<const COLUMNS: usize>(
    text: &mut String,
    rows: &[[String; COLUMNS]],
    numbers: &[usize],
) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let used: Vec<usize> = (0..COLUMNS).filter(|c| rows[1..].iter().any(|row| !row[*c].is_empty())).collect();
    for row in rows {
        let mut line = String::new();
        for column in &used {
            let (cell, width) = (printable(&row[*column]), widths[*column]);
            let _ = if numbers.contains(column) {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A terminal obeys control characters; a name has no business commanding it.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
