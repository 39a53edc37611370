//! Panics: what a task said before it unwound.

use std::io::Write;
use std::panic::PanicHookInfo;

use super::{Monitor, Place, monitors};
use crate::execution::{self, TaskId};
use crate::platform::memory::{EngineVec, engine_vec};

/// One panic of one task.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub(crate) task: TaskId,
    pub(crate) message: EngineVec<u8>,
    pub(crate) place: Place,
}

impl Panic {
    /// Whether the message contains `text`.
    pub(crate) fn contains(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.message).contains(text)
    }
}

/// Makes panics of tasks silent notes; those of other threads print as ever.
pub(crate) fn install_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if execution::active() {
            remember(info);
        } else {
            default(info);
        }
    }));
}

fn remember(info: &PanicHookInfo<'_>) {
    let mut message = engine_vec();
    let text = info
        .payload_as_str()
        .unwrap_or("a panic whose payload is no text");
    message.extend_from_slice(text.as_bytes());
    let mut file = engine_vec();
    let location = info.location();
    let written = write!(file, "{}", location.map_or("", |l| l.file()));
    debug_assert!(written.is_ok(), "writing to memory succeeds");
    let place = Place {
        file,
        line: location.map_or(0, std::panic::Location::line),
        column: location.map_or(0, std::panic::Location::column),
    };
    let panic = Panic {
        task: execution::current(),
        message,
        place,
    };
    // SAFETY: the hook runs in a task, and not within a monitor.
    unsafe { (*monitors()).panicked(&panic) };
}
