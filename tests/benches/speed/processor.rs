//! Processor time, which is independent of other load on the machine, unlike real time.

use std::fs;
use std::time::Duration;

/// The unit of `/proc`'s times on Linux.
const TICK: Duration = Duration::from_millis(10);

/// Returns the user and kernel time that the ended children of this process,
/// and their descendants, have used so far.
pub(crate) fn time_of_children() -> Duration {
    let file = "/proc/self/stat";
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    // The name, in parentheses, may contain any characters. proc(5) numbers the fields from 1, and
    // the third field is the first one after the name.
    let fields = text.rsplit_once(')').map_or(&*text, |(_, fields)| fields);
    let field = |number: usize| -> u32 {
        let field = fields.split_whitespace().nth(number - 3);
        let ticks = field.and_then(|field| field.parse().ok());
        ticks.unwrap_or_else(|| panic!("{file} says `{text}`"))
    };
    TICK * (field(16) + field(17))
}
