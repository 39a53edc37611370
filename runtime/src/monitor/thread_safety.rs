//! Thread-safety violations: two tasks are in calls of one object that must not overlap (TSVD,
//! SOSP'19).

use core::ops::ControlFlow;

use chess_vocabulary::Kind;

use super::{End, Failure, Monitor};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::{Place, line_of};
use crate::execution::{Ending, Execution, Op, Overlap, SyncAccess, called, stack};

/// The maximum number of callers of one call that a message shows.
const MOST_SHOWN: usize = 8;

/// Judges executions that ended because of an overlap: a call on an object began during another
/// call on it, and these two calls must not overlap.
pub(crate) struct ThreadSafety {
    overlap: Option<Overlap>,
    /// This execution repeats an earlier one, to find the callers of the two overlapping calls.
    looks: bool,
    will_look: bool,
    /// The numbers of the two overlapping calls, whose callers are to be found.
    wanted: [u32; 2],
    /// The callers of the two overlapping calls, as lines of a message.
    callers: [EngineVec<u8>; 2],
}

impl ThreadSafety {
    pub(super) const fn new() -> Self {
        Self {
            overlap: None,
            looks: false,
            will_look: false,
            wanted: [0; 2],
            callers: [engine_vec(), engine_vec()],
        }
    }
}

/// Appends to `lines` the callers of the method whose call has just begun, except callers in the
/// standard library.
#[cold]
fn show_callers(lines: &mut EngineVec<u8>) {
    stack::in_a_copy(|| {
        let frames = stack::frames();
        let own = frames.iter().filter_map(|frame| {
            let (file, line) = frame.own_place()?;
            let place = chess_vocabulary::line_of(file, line);
            Some((without_arguments(&frame.function), place))
        });
        // The first function is the method itself.
        let mut callers: Vec<(String, String)> = own.skip(1).collect();
        // The last function is the one that `#[test]` adds around the test.
        if let [.., (test, _), (around, _)] = &callers[..]
            && around.strip_prefix(&**test) == Some("::{closure#0}")
        {
            callers.pop();
        }
        for (function, place) in callers.iter().take(MOST_SHOWN) {
            let line = format!("\n- from {function} at {place}");
            lines.extend_from_slice(line.as_bytes());
        }
    });
}

/// The name of a function without the generic arguments in it: `f` for `f::<u8>`, and `T::f` for
/// `<T>::f`.
fn without_arguments(name: &str) -> String {
    let name = match name
        .strip_prefix('<')
        .and_then(|rest| rest.split_once(">::"))
    {
        Some((of, rest)) if !of.contains(['<', ' ']) => format!("{of}::{rest}"),
        _ => name.to_owned(),
    };
    // The arrow of a function type does not close a bracket.
    let name = name.replace("->", "");
    let mut parts = name.split("::<");
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut depth = 0_usize;
    for part in parts {
        depth += 1;
        for next in part.chars() {
            match next {
                '<' if depth > 0 => depth += 1,
                '>' if depth > 0 => depth -= 1,
                _ if depth > 0 => {}
                _ => text.push(next),
            }
        }
    }
    text
}

impl Monitor for ThreadSafety {
    #[inline]
    fn begin(&mut self) {
        self.overlap = None;
        self.looks = self.will_look;
        self.will_look = false;
        if self.looks {
            self.callers.iter_mut().for_each(EngineVec::clear);
        }
    }

    #[inline]
    fn wants_accesses(&self) -> bool {
        self.looks
    }

    #[inline]
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        if self.looks && matches!(access.op, Op::ExclusiveBegin | Op::SharedBegin) {
            let number = execution.object_calls.begun;
            let wanted = self.wanted.iter().position(|it| *it == number);
            if let Some(place) = wanted {
                show_callers(&mut self.callers[place]);
            }
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let overlap = end.execution.object_calls.overlap?;
        if end.execution.ending != Ending::Stopped {
            return None;
        }
        self.overlap = Some(overlap);
        let [first, second] = overlap.calls;
        let message = format!(
            "two tasks are in methods of one {} at once: {} and {}",
            overlap.of, first.method, second.method
        );
        let mut failure = Failure::new(Kind::ThreadSafety, &message);
        failure.place = Some(Place::of(second.site));
        Some(failure)
    }

    fn wants_another_look(&mut self) -> bool {
        let Some(overlap) = self.overlap.filter(|_| !self.looks) else {
            return false;
        };
        self.wanted = overlap.calls.map(|call| call.number);
        self.will_look = true;
        true
    }

    fn explain(&self, failure: &mut Failure) {
        let Some(overlap) = self.overlap.filter(|_| failure.kind == Kind::ThreadSafety) else {
            return;
        };
        let does = ["is in", "begins"];
        for ((call, does), callers) in overlap.calls.iter().zip(does).zip(&self.callers) {
            let (task, place) = (called(call.task), line_of(call.site));
            let line = format!("\n{task} {does} {} at {place}", call.method);
            failure.message.extend_from_slice(line.as_bytes());
            failure.message.extend_from_slice(callers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_function_is_shown_without_generic_arguments() {
        for (name, shown) in [
            ("a::f", "a::f"),
            ("a::f::<u8>", "a::f"),
            (
                "a::f::<a::g::{closure#0}, Vec<u8>>::{closure#1}",
                "a::f::{closure#1}",
            ),
            ("<a::Ring>::push", "a::Ring::push"),
            (
                "<a::Ring as b::Sink>::push::<u8>",
                "<a::Ring as b::Sink>::push",
            ),
            ("a::Ring<T>::push", "a::Ring<T>::push"),
            ("a::f::<fn() -> u8, a::g::<u8>>::h", "a::f::h"),
        ] {
            assert_eq!(without_arguments(name), shown);
        }
    }
}
