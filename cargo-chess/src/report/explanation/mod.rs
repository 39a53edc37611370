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

/// The whole explanation.
pub(super) fn explanation(root: &Utf8Path, output: &Explanation, style: Style) -> String {
    let Explanation { test, detail, .. } = output;
    let finished = &detail.finished;
    let names = Names::new(&finished.tasks);
    let failed = test.outcome != Outcome::Passed;
    let mut text = String::new();
    if failed {
        text += &heading(root, test, finished, style.width);
        let cause = cause::cause(root, test, finished, &names, style.width);
        let _ = writeln!(text, "  {}\n{cause}", styled(BOLD, "Why:"));
    }
    if !finished.events.is_empty() {
        let table = Table {
            width: style.width,
            whole: style.whole,
            kept: cause::explaining(finished),
            locks: true,
        };
        text += &table_of(test, finished, &table);
        text.push('\n');
    }
    text += &printed(detail);
    if failed {
        text += &side_by_side::side_by_side(output, &names, style.width);
    }
    if output.sources_changed {
        text.push('\n');
        text += &status(
            NOTE,
            "Note",
            "the sources have changed since the schedule was saved; the lines shown are those of now",
        );
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}
