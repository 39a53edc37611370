//! Whether other processes run or wait, by the states of their threads in `/proc`.

use core::ffi::c_int;

use super::proc;

/// The maximum number of processes that are inspected.
const MOST: usize = 64;

/// The activity of some processes and their descendants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Activity {
    /// Whether one of their threads runs, or waits for a processor or a disk.
    pub(crate) is_running: bool,
    processes: [c_int; MOST],
    /// The number of processes.
    count: usize,
    /// A bit for each process, which states whether a signal has stopped it.
    stopped: u64,
    /// The number of times that a processor has switched away from one of their threads. If this
    /// number is the same in two inspections, no thread has run in between.
    switches: u64,
}

impl Activity {
    /// The activity of `processes` and their descendants. Processes after the first 64 are left
    /// out.
    pub(crate) fn of(processes: &[c_int]) -> Self {
        let mut activity = Self {
            is_running: false,
            processes: [0; MOST],
            count: 0,
            stopped: 0,
            switches: 0,
        };
        for &process in processes {
            activity.add(process);
        }
        let mut next = 0;
        while next < activity.count {
            let process = activity.processes[next];
            let threads = proc::path(format_args!("{process}/task"));
            proc::find_number(&threads, 0, |thread| {
                activity.look_at(next, thread);
                let children = proc::path(format_args!("{process}/task/{thread}/children"));
                proc::for_each_part(&children, b' ', |child| {
                    if let Some(child) = proc::parse_number(child) {
                        activity.add(child);
                    }
                });
                false
            });
            next += 1;
        }
        activity
    }

    /// Whether there are no processes.
    pub(crate) fn is_of_none(&self) -> bool {
        self.count == 0
    }

    /// All the processes.
    pub(crate) fn processes(&self) -> impl Iterator<Item = c_int> {
        self.processes[..self.count].iter().copied()
    }

    /// The processes that no signal has stopped.
    pub(crate) fn unstopped(&self) -> impl Iterator<Item = c_int> {
        let processes = self.processes().enumerate();
        let unstopped = processes.filter(|(at, _)| self.stopped >> at & 1 == 0);
        unstopped.map(|(_, process)| process)
    }

    fn add(&mut self, process: c_int) {
        if let Some(room) = self.processes.get_mut(self.count) {
            *room = process;
            self.count += 1;
        }
    }

    /// Adds the activity of a thread of the process with the index `at`.
    fn look_at(&mut self, at: usize, thread: c_int) {
        let process = self.processes[at];
        let status = proc::path(format_args!("{process}/task/{thread}/status"));
        proc::for_each_line(&status, |line| {
            if let Some(state) = line.strip_prefix(b"State:\t") {
                let state = state.first();
                self.is_running |= matches!(state, Some(b'R' | b'D'));
                self.stopped |= u64::from(matches!(state, Some(b'T' | b't'))) << at;
            }
            let switches = line.strip_prefix(b"voluntary_ctxt_switches:\t");
            let switches = switches.or_else(|| line.strip_prefix(b"nonvoluntary_ctxt_switches:\t"));
            let switches = switches.and_then(proc::parse_number);
            self.switches += switches.map_or(0, |it| u64::from(it.unsigned_abs()));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Looks until the processes wait or 10 seconds are over. Returns whether they wait.
    fn comes_to_rest(process: c_int) -> bool {
        let mut last = Activity::of(&[]);
        for _ in 0..10_000 {
            let now = Activity::of(&[process]);
            if !now.is_running && now == last {
                return true;
            }
            last = now;
            thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[test]
    fn a_process_whose_descendant_runs_is_running() {
        let code = "sh -c 'while :; do :; done' & read line; kill $!; wait; read line";
        let mut shell = Command::new("sh");
        shell.args(["-c", code]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let process = shell.id().cast_signed();
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(1));
            let now = Activity::of(&[process]);
            assert!(now.is_running || now.count < 2, "{now:?}");
        }
        let mut input = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"\n").unwrap();
        assert!(comes_to_rest(process));
        let before = Activity::of(&[process]);
        assert_eq!((before.count, before), (1, Activity::of(&[process])));
        drop(input);
        shell.wait().unwrap();
        assert_eq!(Activity::of(&[process]).switches, 0, "it has no threads");
    }
}
