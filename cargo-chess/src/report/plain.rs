//! The report on a failure as plain text, for files and services that show it unchanged.

use camino::{Utf8Path, Utf8PathBuf};

use super::abbreviate::{operation, shown};
use super::failure::{Style, failure};
use super::names::Names;
use crate::analysis::Detail;
use crate::events::TestFinished;
use crate::protocol::Finished;
use crate::text::source_path;

/// The width of the text.
const WIDTH: usize = 100;

/// Makes plain-text reports on the failures of one workspace.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    root: Utf8PathBuf,
}

impl Plain {
    /// Creates reports for the workspace at `root`.
    pub(super) fn new(root: &Utf8Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The report for people on `test`, which failed or got no verdict. It has the one-word form
    /// of the schedule, because the file of the schedule may be on another machine.
    pub(super) fn failure(&self, test: &TestFinished, detail: &Detail) -> String {
        let style = Style {
            width: WIDTH,
            whole: false,
            saved: true,
            inline: true,
        };
        let styled = failure(&self.root, test, detail, style);
        anstream::adapter::strip_str(&styled).to_string()
    }
}

/// A sentence for each preemption.
pub(super) fn preemptions(finished: &Finished) -> Vec<String> {
    let names = Names::new(&finished.tasks);
    let sentence = |task, op: &str, object: Option<&str>, file: Option<&str>, line| {
        let place = file
            .zip(line)
            .map_or_else(String::new, |(file, line): (_, u32)| {
                format!(" at {}:{line}", source_path(file))
            });
        let what = operation(op, object);
        format!("{} is preempted before {what}{place}", names.of(task))
    };
    let events = finished.events.iter().filter(|step| step.preempted);
    let events = events.map(|it| {
        let (object, file) = (shown(it.object.as_ref()), it.file.as_deref());
        sentence(it.task, it.op.name(), object, file, it.line)
    });
    // The next operation of a task that waits at the end is not an event.
    let waiting = finished.blocked.iter().filter(|task| task.preempted);
    let waiting = waiting.map(|it| {
        let (object, file) = (shown(it.object.as_ref()), it.file.as_deref());
        sentence(it.task, it.op.name(), object, file, it.line)
    });
    events.chain(waiting).collect()
}
