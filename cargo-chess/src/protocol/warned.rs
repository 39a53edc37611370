//! Operations that deserve a warning, as a test binary reports them: loops without yields, and
//! operations that could have a late effect.

use serde::{Deserialize, Serialize};

use crate::events::Location;
use crate::text::source_path;

/// An operation that could have a late effect under the language's memory model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct StaleLoad {
    /// The operation.
    pub operation: String,
    /// The place of the operation.
    pub location: Location,
    /// The place of the store that the operation could miss.
    pub newer: Option<Location>,
}

impl StaleLoad {
    /// The warning as a sentence. `package` is the dependency that contains the source line, if one
    /// does.
    pub(crate) fn warning(&self, package: Option<&str>) -> String {
        let place =
            |location: &Location| format!("{}:{}", source_path(&location.file), location.line);
        let whose = package.map_or_else(String::new, |package| format!(" of {package}"));
        let newer = self.newer.as_ref().map_or_else(
            || "a store that ran earlier".to_owned(),
            |newer| format!("the store at {}, which ran earlier", place(newer)),
        );
        format!(
            "{}{whose}: in the language's memory model, `{}` could take effect before {newer}; \
             --memory c11 explores such executions",
            place(&self.location),
            self.operation
        )
    }
}

/// A loop without a yield that waits, or counts as waiting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Spin {
    /// The operation that the loop repeats.
    pub operation: String,
    /// The place of the operation, if it is known.
    pub location: Option<Location>,
    /// Whether the loop is known to wait. If not, it counts as waiting because it is long.
    pub waits: bool,
}

impl Spin {
    /// The warning as a sentence. `package` is the package of the source line, if it is a
    /// dependency.
    pub(crate) fn warning(&self, package: Option<&str>) -> String {
        let place = match &self.location {
            Some(Location { file, line, .. }) => format!("{}:{line}", source_path(file)),
            None => "in code without a known line".to_owned(),
        };
        if !self.waits {
            let whose = package.map_or_else(String::new, |package| format!(" of {package}"));
            return format!(
                "{place}{whose}: a thread repeats `{}` many times, and reads the same unchanged value; \
                 from then on this counts as waiting: other threads run first, and schedules in which \
                 the thread continues are not explored",
                self.operation
            );
        }
        let (whose, remedy) = match package {
            Some(package) => (
                format!(" of {package}"),
                "report this to the authors of the package, or set spins = \"allow\" for the package in Chess.toml",
            ),
            None => (
                String::new(),
                "call std::thread::yield_now or std::hint::spin_loop in the loop, or wait on a \
                 condition variable or a channel",
            ),
        };
        format!(
            "{place}{whose}: a loop repeats `{}` without yielding until another thread changes the \
             value, which keeps a core busy; {remedy}",
            self.operation
        )
    }
}
