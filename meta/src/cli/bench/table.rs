//! Plain tables for people.

use comfy_table::{ContentArrangement, Table, presets};

/// Lays rows out in columns under headings, without lines between them.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.to_vec());
    for row in rows {
        table.add_row(row);
    }
    let lines = table.to_string();
    let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
    let indent = lines.iter().filter(|line| !line.is_empty());
    let indent = indent.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect()
}
