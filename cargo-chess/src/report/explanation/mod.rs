//! The explanation of a failure: the failure, its cause, the interleaving, and a schedule that
//! passes.

mod cause;
mod preemption;
mod side_by_side;

use std::fmt::Write as _;

use camino::Utf8Path;

use super::failure::{Style, heading, printed, table_of};
use super::interleaving::Table;
use super::names::Names;
use crate::analysis::Explanation;
use crate::events::Outcome;
use crate::text::{BOLD, NOTE, status, styled};

pub(super) use self::cause::{explaining_calls, reasons};
pub(super) use self::side_by_side::first_difference;

/// The parts of an explanation. A part is empty if there is nothing to report in it.
pub(super) struct Parts {
    /// The failure: message, source line, waiting tasks.
    pub(super) failure: String,
    /// The cause of the failure, in sentences with source lines.
    pub(super) cause: String,
    /// The table of the execution.
    pub(super) table: String,
    /// The nearest schedule that passes.
    pub(super) passing: String,
}

/// Renders the parts of the explanation `output`.
pub(super) fn parts(root: &Utf8Path, output: &Explanation, style: Style) -> Parts {
    let Explanation { test, detail, .. } = output;
    let finished = &detail.finished;
    let names = Names::new(&finished.tasks);
    let failed = test.outcome != Outcome::Passed;
    let of_failure = |text: &dyn Fn() -> String| if failed { text() } else { String::new() };
    let mut table = String::new();
    if !finished.events.is_empty() {
        let options = Table {
            width: style.width,
            whole: style.whole,
            kept: cause::explaining(finished),
            locks: true,
        };
        table = table_of(test, finished, &options);
    }
    Parts {
        failure: of_failure(&|| heading(root, test, finished, style.width)),
        cause: of_failure(&|| cause::cause(root, test, finished, &names, style.width)),
        table,
        passing: of_failure(&|| side_by_side::side_by_side(output, &names, style.width)),
    }
}

/// The whole explanation.
pub(super) fn explanation(root: &Utf8Path, output: &Explanation, style: Style) -> String {
    let parts = parts(root, output, style);
    let mut text = parts.failure;
    if !parts.cause.is_empty() {
        let _ = writeln!(text, "  {}\n{}", styled(BOLD, "Why:"), parts.cause);
    }
    if !parts.table.is_empty() {
        text += &parts.table;
        text.push('\n');
    }
    text += &printed(&output.detail);
    text += &parts.passing;
    if output.sources_changed {
        text.push('\n');
        text += &status(
            NOTE,
            "Note",
            "the sources have changed since the schedule was saved; the lines shown are the current ones",
        );
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}
