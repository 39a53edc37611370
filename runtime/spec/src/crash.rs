//! Crashes of a component, and its recovery.

use std::panic::Location;

use crate::plain;

/// Runs `body`, which may crash, and then `recovery`. Returns the result of the recovery.
///
/// Under cargo chess, `body` runs in a thread of its own. This thread and all threads that it
/// spawns are a *component*: they crash together, as the threads of a process do. The search may
/// let the component crash when `body` has returned, and before each operation of the component
/// that other threads may see (on files, channels, atomics, locks, and so on) or that may wait,
/// but not before the release of a lock. A crash costs as much as a preemption, as
/// [`rarely`](crate::rarely) does. After a crash
/// - the threads of the component never continue. Their values are not dropped, their locks stay
///   locked, and the other ends of their channels stay open. The files that they have opened are
///   closed;
/// - each file loses writes that the component made after the last sync of the file
///   (`File::sync_all`, `File::sync_data`), the latest writes first: none, some or all of them, as
///   the search chooses, at no further cost. A crash that loses no writes is that of a process,
///   and a crash that loses writes is that of the machine;
/// - `recovery` runs in the calling thread, and finds the files in this state.
///
/// If the component does not crash, `recovery` runs after `body` has returned. In this case, too,
/// the other threads of the component do not continue. A panic of `body` continues in the calling
/// thread.
///
/// The recovery must not wait for the component: a wait for a lock that a dead thread holds is a
/// deadlock. This includes a standard stream that `body` has locked (`stdout().lock()`) across
/// other operations. Let `body` report its acknowledged results to the test through a channel or
/// an atomic, not through a `Mutex`.
///
/// Limits:
/// - A write is lost as a whole or not at all. If a write to a file survives, all earlier writes
///   to this file survive. An existing file counts as synced when the component begins to write to
///   it. Writes that survive a crash count as synced after the crash.
/// - Directories lose nothing: a file that was created, renamed or removed stays so. So the
///   recovery may find a file empty that was renamed before it was synced. But cargo chess does
///   not find errors that are due to a missing sync of a directory.
/// - Changes through memory maps and `io_uring` count as synced; `msync`, `sync` and `syncfs` have
///   no effect. Sockets, pipes and child processes survive a crash.
///
/// Under plain `cargo test` there are no crashes: `body` runs in the calling thread, and then
/// `recovery`.
///
/// # Panics
/// If `body` or `recovery` panics. Under cargo chess, if `body` calls this function.
///
/// # Examples
/// ```
/// use std::fs::{self, File};
/// use std::io::Write;
/// use std::sync::mpsc;
///
/// let path = std::env::temp_dir().join("crash_and_recover");
/// let (acknowledge, acknowledged) = mpsc::channel();
/// fs::write(&path, "").unwrap();
/// let file = File::create(&path).unwrap();
/// let log = chess_spec::crash_and_recover(
///     move || {
///         let mut file = file;
///         for record in ["one", "two"] {
///             file.write_all(record.as_bytes()).unwrap();
///             file.sync_data().unwrap(); // without this line, cargo chess finds a record that is lost
///             acknowledge.send(record).unwrap();
///         }
///     },
///     || fs::read_to_string(&path).unwrap(),
/// );
/// for record in acknowledged.try_iter() {
///     assert!(log.contains(record), "{record} is lost");
/// }
/// ```
#[track_caller]
pub fn crash_and_recover<R>(body: impl FnOnce() + Send, recovery: impl FnOnce() -> R) -> R {
    plain::until_crash(body, Location::caller());
    recovery()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_has_no_crash() {
        let mut steps = Vec::new();
        let mut body = Vec::new();
        let result = crash_and_recover(|| body.push("body"), || "recovery");
        steps.append(&mut body);
        steps.push(result);
        assert_eq!(steps, ["body", "recovery"]);
    }

    #[test]
    #[should_panic(expected = "in the body")]
    fn a_panic_of_the_body_is_passed_on() {
        crash_and_recover(|| panic!("in the body"), || ());
    }
}
