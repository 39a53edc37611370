//! Source lines with their neighbours and the events at them, in the form of a rustc error.

use std::fmt::Write as _;
use std::fs;

use camino::Utf8Path;

use crate::events::Location;
use crate::text::{NOTE, WARN, columns, cut, source_path, styled};

/// The number of lines that are shown before and after a marked line.
const CONTEXT: u32 = 2;

/// An event at a source line.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// The line and the column.
    pub(super) location: Location,
    /// The event in words.
    pub(super) text: String,
    /// Whether the event happened before the line was executed. If so, its text is printed above
    /// the line.
    pub(super) is_before: bool,
}

/// The marked lines of each file, in `width` columns. The files are in the order of their last
/// marks. A file that cannot be read is left out.
pub(super) fn excerpts(root: &Utf8Path, marks: &[Mark], width: usize) -> String {
    let mut files: Vec<&str> = Vec::new();
    for mark in marks {
        let file = mark.location.file.as_str();
        files.retain(|known| *known != file);
        files.push(file);
    }
    let excerpts = files.iter().filter_map(|file| {
        let marks = marks.iter().filter(|mark| mark.location.file == *file);
        excerpt(root, file, &marks.collect::<Vec<_>>(), width)
    });
    excerpts.collect()
}

fn excerpt(root: &Utf8Path, file: &str, marks: &[&Mark], width: usize) -> Option<String> {
    // If the path is absolute, as for a file of a dependency, `join` returns it unchanged.
    let source = fs::read_to_string(root.join(file)).ok()?;
    let is_near = |number: u32| {
        let mut marks = marks.iter();
        marks.any(|mark| mark.location.line.abs_diff(number) <= CONTEXT)
    };
    let lines = (1..).zip(source.lines());
    let shown: Vec<(u32, &str)> = lines.filter(|(number, _)| is_near(*number)).collect();
    let gutter = shown.last()?.0.to_string().len();
    let bar = styled(NOTE, "|");
    let mut text = format!(
        "    {:gutter$}{} {}:{}\n    {:gutter$} {bar}\n",
        "",
        styled(NOTE, "-->"),
        source_path(file),
        marks.last()?.location.line,
        ""
    );
    let columns_left = width.saturating_sub(gutter + 7);
    let mut previous = None;
    for (number, line) in shown {
        if previous.is_some_and(|previous| previous + 1 != number) {
            let _ = writeln!(text, "    {}", styled(NOTE, "..."));
        }
        previous = Some(number);
        let here = |before| {
            let at_line = marks
                .iter()
                .filter(move |mark| mark.location.line == number);
            at_line.filter(move |mark| mark.is_before == before)
        };
        for mark in here(true) {
            let output = cut(&format!("~~~ {} ~~~", mark.text), columns_left);
            let _ = writeln!(text, "    {:gutter$} {bar} {}", "", styled(WARN, output));
        }
        let shown = line.replace('\t', "    ");
        let number = styled(NOTE, format!("{number:gutter$}"));
        let shown = format!("    {number} {bar} {}", cut(shown.trim_end(), columns_left));
        let _ = writeln!(text, "{}", shown.trim_end());
        for mark in here(false) {
            let column = mark.location.column as usize;
            let before: String = line.chars().take(column.saturating_sub(1)).collect();
            let indent = columns(&before.replace('\t', "    "));
            // If there is no room for the text after its column, the text moves to the left.
            let output = format!("^ {}", mark.text);
            let indent = indent.min(columns_left.saturating_sub(columns(&output)));
            let output = styled(NOTE, cut(&output, columns_left - indent));
            let _ = writeln!(text, "    {:gutter$} {bar} {:indent$}{output}", "", "");
        }
    }
    Some(text)
}
