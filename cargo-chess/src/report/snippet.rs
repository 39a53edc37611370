//! The source line of a failure, as rustc shows one. `excerpt.rs` shows lines with their neighbours.

use std::fmt::Write as _;
use std::fs;

use camino::Utf8Path;

use crate::events::Location;
use crate::text::{BAD, NOTE, columns, source_path, styled};

/// `location` and its source line, in a file below `root`. If the file cannot be read, only
/// `location`.
pub(super) fn snippet(root: &Utf8Path, location: &Location) -> String {
    let Location { file, line, column } = location;
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let arrow = styled(NOTE, "-->");
    let mut text = format!(
        "    {gutter}{arrow} {}:{line}:{column}\n",
        source_path(file)
    );
    // If the path is absolute, as for a file of a dependency, `join` returns it unchanged.
    let Some(source) = source_line(&root.join(file), *line) else {
        return text;
    };
    let bar = styled(NOTE, "|");
    // If only the line is known, the column is 1. In an indented line, no operation is there, so
    // the mark moves to the first character that is not blank.
    let blank = source.chars().take_while(|c| c.is_whitespace()).count();
    let before = (*column as usize).saturating_sub(1).max(blank);
    let before: String = source.chars().take(before).collect();
    let indent = columns(&before.replace('\t', "    "));
    let shown = source.replace('\t', "    ");
    writeln!(text, "    {gutter} {bar}").expect("memory takes every byte");
    writeln!(
        text,
        "    {} {bar} {}",
        styled(NOTE, &number),
        shown.trim_end()
    )
    .expect("memory");
    writeln!(
        text,
        "    {gutter} {bar} {:indent$}{}",
        "",
        styled(BAD, "^")
    )
    .expect("memory");
    text
}

fn source_line(path: &Utf8Path, line: u32) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let index = (line as usize).checked_sub(1)?;
    text.lines().nth(index).map(str::to_owned)
}
