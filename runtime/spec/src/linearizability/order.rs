//! The search for a sequential order of a history's calls (Wing and Gong, JPDC'93).

use super::call::Compared;
use super::history::History;
use super::specification::{Oracle, Specification};

/// The most dead ends that a message names.
const MOST_SHOWN: usize = 3;

/// The calls whose order in time is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// A call that has returned comes before the calls that begin after its end: linearizability
    /// (Herlihy and Wing, TOPLAS'90).
    All,
    /// A call that has returned comes before a later call if there is a moment without calls in
    /// progress between them: quiescent consistency (Aspnes, Herlihy and Shavit, JACM'94).
    AcrossQuiescence,
}

/// Looks for a sequential order of the calls that have returned. The order must keep the order in
/// time that `kept` requires. By the specification, each call must have its actual result in this
/// order (if results of this call are compared). After all of these calls, no call that has not
/// returned may return. If there is no such order, the error has the reasons.
#[track_caller]
pub(super) fn explain<T, S: Specification<T>>(
    history: &History,
    oracle: &mut Oracle<T, S>,
    kept: Kept,
) -> Result<(), String> {
    let mut search = Search {
        history,
        oracle,
        kept,
        order: Vec::new(),
        dead_ends: Vec::new(),
    };
    if search.continues() {
        return Ok(());
    }
    Err(search.why())
}

/// An order of calls whose results the specification explains, and a call that cannot come next in
/// this order, because the specification does not explain its result.
struct DeadEnd {
    order: Vec<usize>,
    next: usize,
    /// The result of the call by the specification; `None` if it would not return.
    result: Option<String>,
}

struct Search<'a, T, S> {
    history: &'a History,
    oracle: &'a mut Oracle<T, S>,
    kept: Kept,
    /// The order so far, as indices into the history. The specification explains the results of
    /// these calls.
    order: Vec<usize>,
    dead_ends: Vec<DeadEnd>,
}

// Loops, not closures: `track_caller` gives the operations of the specification the caller's
// line only outside of closures.
impl<T, S: Specification<T>> Search<'_, T, S> {
    /// Whether the order so far can be extended to all calls that have returned, such that the
    /// specification also explains the calls that have not returned.
    #[track_caller]
    fn continues(&mut self) -> bool {
        let mut is_complete = true;
        for next in 0..self.history.0.len() {
            if self.history.0[next].result.is_none() || self.order.contains(&next) {
                continue;
            }
            is_complete = false;
            if !self.is_next(next) {
                continue;
            }
            let result = self.result_of(next);
            if self.fits(next, result.as_ref()) {
                self.order.push(next);
                if self.continues() {
                    return true;
                }
                self.order.pop();
            } else {
                self.note(next, result);
            }
        }
        is_complete && self.leaves_the_others()
    }

    /// Whether the call `next` may come next in the order: the order so far has all calls that
    /// must come before it.
    fn is_next(&self, next: usize) -> bool {
        let all = &self.history.0;
        let mut open = (0..all.len()).filter(|at| !self.order.contains(at));
        open.all(|other| !self.comes_before(other, next))
    }

    fn comes_before(&self, earlier: usize, later: usize) -> bool {
        let all = &self.history.0;
        all[earlier].precedes(&all[later])
            && (self.kept == Kept::All || self.history.has_quiescence_between(earlier, later))
    }

    /// Whether `result`, the result of the call `next` by the specification, explains the actual
    /// result of this call.
    fn fits(&self, next: usize, result: Option<&String>) -> bool {
        let made = &self.history.0[next];
        let is_compared = match self.oracle.checked.calls[made.call].compared {
            Compared::Always => true,
            Compared::Alone => self.history.is_alone(next),
            Compared::Never => false,
        };
        result.is_some() && (!is_compared || result == made.result.as_ref())
    }

    /// Whether no call that has not returned would return after the order so far, by the
    /// specification. One order must explain all these calls, because the object is in one state.
    #[track_caller]
    fn leaves_the_others(&mut self) -> bool {
        for next in 0..self.history.0.len() {
            if self.history.0[next].result.is_none() {
                let result = self.result_of(next);
                if result.is_some() {
                    self.note(next, result);
                    return false;
                }
            }
        }
        true
    }

    /// The result of the call `next` by the specification, after the calls of the order so far.
    #[track_caller]
    fn result_of(&mut self, next: usize) -> Option<String> {
        let mut order = Vec::new();
        for &at in &self.order {
            order.push(self.history.0[at].call);
        }
        self.oracle.result(&order, self.history.0[next].call)
    }

    fn note(&mut self, next: usize, result: Option<String>) {
        let longest = self.dead_ends.first().map_or(0, |it| it.order.len());
        if self.order.len() > longest {
            self.dead_ends.clear();
        }
        if self.order.len() >= longest {
            self.dead_ends.push(DeadEnd {
                order: self.order.clone(),
                next,
                result,
            });
        }
    }

    fn why(&self) -> String {
        let calls = &self.oracle.checked.calls;
        let name = |at: &usize| calls[self.history.0[*at].call].name.as_str();
        let mut reasons: Vec<String> = Vec::new();
        for DeadEnd {
            order,
            next,
            result,
        } in &self.dead_ends
        {
            let before: Vec<&str> = order.iter().map(name).collect();
            let before = match before.len() {
                0 => "as the first call".to_owned(),
                _ => format!("after {}", before.join(", ")),
            };
            let would = match (result, &self.history.0[*next].result) {
                (None, _) => "not return".to_owned(),
                (Some(result), None) => format!("return {result}"),
                (Some(result), Some(actual)) => format!("return {result}, not {actual}"),
            };
            let reason = format!("  - {}: {} would {}\n", before, name(next), would);
            // Equal calls lead to equal reasons.
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let mut why = String::from(
            "  The longest orders that fit, each with a next call that does not fit:\n",
        );
        let left = reasons.len().saturating_sub(MOST_SHOWN);
        reasons.truncate(MOST_SHOWN);
        if left > 0 {
            reasons.push(format!("  - and {left} more\n"));
        }
        why += &reasons.concat();
        why
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::Call;
    use super::super::history::{Made, NEVER};
    use super::super::specification::{Checked, Model};
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    /// Calls on a counter: an increment, a read, and a decrement that waits while the counter is
    /// 0.
    fn oracle(compared: Compared) -> Oracle<(), Model<u32>> {
        let call = |name: &str| Call::new(name, &(), |()| String::new());
        let mut calls = vec![call("add"), call("get"), call("take")];
        calls[1].compared = compared;
        let checked = Checked {
            new: Box::new(|| ()),
            calls: Arc::new(calls),
            patience: Duration::from_secs(1),
        };
        let add = |count: &mut u32| {
            *count += 1;
            Some((*count - 1).to_string())
        };
        let get = |count: &mut u32| Some(count.to_string());
        let take = |count: &mut u32| {
            *count = count.checked_sub(1)?;
            Some(count.to_string())
        };
        let model = Model {
            new: Box::new(|| 0),
            expected: vec![Box::new(add), Box::new(get), Box::new(take)],
        };
        Oracle::new(checked, model)
    }

    fn made(call: usize, (start, end): (u64, u64), result: &str) -> Made {
        Made {
            call,
            thread: Some(call),
            start,
            end,
            result: (end != NEVER).then(|| result.to_owned()),
        }
    }

    fn explained_as(all: &[Made], kept: Kept, compared: Compared) -> Result<(), String> {
        explain(&History(all.to_vec()), &mut oracle(compared), kept)
    }

    fn explained(all: &[Made]) -> Result<(), String> {
        explained_as(all, Kept::All, Compared::Always)
    }

    #[test]
    fn calls_that_overlap_may_be_in_any_order() {
        for seen in ["0", "1"] {
            assert_eq!(
                explained(&[made(0, (0, 3), "0"), made(1, (1, 2), seen)]),
                Ok(())
            );
        }
    }

    #[test]
    fn a_call_that_has_returned_comes_first() {
        let late = explained(&[made(0, (0, 1), "0"), made(1, (2, 3), "0")]);
        assert_eq!(
            late.unwrap_err(),
            "  The longest orders that fit, each with a next call that does not fit:\n  \
             - after add(): get() would return 1, not 0\n"
        );
    }

    #[test]
    fn a_lost_addition_has_no_order() {
        let lost = [made(0, (0, 3), "0"), made(0, (1, 2), "0")];
        assert!(explained(&lost).is_err());
        let twice = [made(0, (0, 3), "1"), made(0, (1, 2), "0")];
        assert_eq!(explained(&twice), Ok(()));
    }

    #[test]
    fn a_result_is_compared_as_declared() {
        let alone = [made(0, (0, 1), "0"), made(1, (2, 3), "7")];
        let overlapped = [made(0, (0, 2), "0"), made(1, (1, 3), "7")];
        let explained = |all, compared| explained_as(all, Kept::All, compared).is_ok();
        let of = |compared| [&alone[..], &overlapped].map(|all| explained(all, compared));
        assert_eq!(of(Compared::Always), [false, false]);
        assert_eq!(of(Compared::Alone), [false, true]);
        assert_eq!(of(Compared::Never), [true, true]);
    }

    #[test]
    fn quiescent_consistency_keeps_the_order_across_quiescence() {
        let explained = |all: &[Made]| {
            let of = |kept| explained_as(all, kept, Compared::Always).is_ok();
            [Kept::All, Kept::AcrossQuiescence].map(of)
        };
        // The results of two calls of a thread are in the wrong order, while another call runs.
        let spanned = [
            made(0, (0, 5), "2"),
            made(0, (1, 2), "1"),
            made(0, (3, 4), "0"),
        ];
        assert_eq!(explained(&spanned), [false, true]);
        let apart = [made(0, (0, 1), "1"), made(0, (2, 3), "0")];
        assert_eq!(explained(&apart), [false, false]);
    }

    #[test]
    fn calls_that_do_not_return_must_wait_after_one_order() {
        let take = |start| made(2, (start, NEVER), "");
        assert_eq!(explained(&[take(0), take(1)]), Ok(()));
        let served = [take(0), made(0, (1, 4), "0"), made(2, (2, 3), "0")];
        assert_eq!(explained(&served), Ok(()));
        let lost = explained(&[take(0), made(0, (1, 2), "0")]);
        assert_eq!(
            lost.unwrap_err(),
            "  The longest orders that fit, each with a next call that does not fit:\n  - after add(): take() would return 0\n"
        );
        // An addition never waits.
        assert!(explained(&[made(0, (0, NEVER), "")]).is_err());
        // A call that returned cannot have come first.
        assert!(explained(&[made(2, (0, 1), "0")]).is_err());
    }
}
