//! The search for a sequential order of a history's calls (Wing and Gong, JPDC'93).

use super::history::History;
use super::Call;

/// The most dead ends that a message names.
const MOST_SHOWN: usize = 3;

/// Looks for a sequential order of the calls, in which a call that has returned comes before the
/// calls that begin after that, and each call has its result. If there is none, the error says why.
pub(super) fn explain<T>(
    history: &History,
    calls: &[Call<T>],
    new: &dyn Fn() -> T,
) -> Result<(), String> {
    let mut search = Search {
        history,
        calls,
        new,
        order: Vec::new(),
        dead_ends: Vec::new(),
    };
    if search.continues() {
        return Ok(());
    }
    Err(search.why())
}

struct Search<'a, T> {
    history: &'a History,
    calls: &'a [Call<T>],
    new: &'a dyn Fn() -> T,
    /// The calls so far, each with its result.
    order: Vec<usize>,
    /// The longest orders that fit, each with the next call and the result that it would have.
    dead_ends: Vec<(Vec<usize>, usize, String)>,
}

impl<T> Search<'_, T> {
    /// Whether the order so far can be continued to all calls.
    fn continues(&mut self) -> bool {
        let all = &self.history.0;
        if self.order.len() == all.len() {
            return true;
        }
        for next in 0..all.len() {
            let is_open = |at: &usize| !self.order.contains(at);
            let is_next = is_open(&next)
                && (0..all.len())
                    .filter(is_open)
                    .all(|other| !all[other].precedes(&all[next]));
            if !is_next {
                continue;
            }
            let result = self.result_of(next);
            if result == all[next].result {
                self.order.push(next);
                if self.continues() {
                    return true;
                }
                self.order.pop();
            } else {
                self.note(next, result);
            }
        }
        false
    }

    /// The result of a call after those of the order, all by one thread.
    fn result_of(&self, next: usize) -> String {
        let object = (self.new)();
        let run = |at: &usize| (self.calls[self.history.0[*at].call].run)(&object);
        for at in &self.order {
            run(at);
        }
        run(&next)
    }

    fn note(&mut self, next: usize, result: String) {
        let longest = self.dead_ends.first().map_or(0, |it| it.0.len());
        if self.order.len() > longest {
            self.dead_ends.clear();
        }
        if self.order.len() >= longest {
            self.dead_ends.push((self.order.clone(), next, result));
        }
    }

    fn why(&self) -> String {
        let name = |at: &usize| self.calls[self.history.0[*at].call].name.as_str();
        let mut reasons: Vec<String> = Vec::new();
        for (order, next, result) in &self.dead_ends {
            let before: Vec<&str> = order.iter().map(name).collect();
            let before = match before.len() {
                0 => "at first".to_owned(),
                _ => format!("after {}", before.join(", ")),
            };
            let reason = format!(
                "  - {}: {} would return {}, not {}\n",
                before,
                name(next),
                result,
                self.history.0[*next].result
            );
            // Equal calls lead to equal reasons.
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let mut why = String::from("  The longest orders that fit end with:\n");
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
    use super::super::history::Done;
    use super::*;
    use std::cell::Cell;

    /// Two calls on a counter: an increment, and a look.
    fn calls() -> Vec<Call<Cell<u32>>> {
        let call = |name: &str, run: fn(&Cell<u32>) -> String| Call {
            name: name.to_owned(),
            run: Box::new(run),
        };
        vec![
            call("add()", |it| format!("{:?}", it.replace(it.get() + 1))),
            call("get()", |it| format!("{:?}", it.get())),
        ]
    }

    fn done(call: usize, (start, end): (u64, u64), result: &str) -> Done {
        Done {
            call,
            thread: Some(call),
            start,
            end,
            result: result.to_owned(),
        }
    }

    fn explained(all: &[Done]) -> Result<(), String> {
        explain(&History(all.to_vec()), &calls(), &|| Cell::new(0))
    }

    #[test]
    fn calls_that_overlap_may_be_in_any_order() {
        for seen in ["0", "1"] {
            assert_eq!(
                explained(&[done(0, (0, 3), "0"), done(1, (1, 2), seen)]),
                Ok(())
            );
        }
    }

    #[test]
    fn a_call_that_has_returned_comes_first() {
        let late = explained(&[done(0, (0, 1), "0"), done(1, (2, 3), "0")]);
        assert_eq!(
            late.unwrap_err(),
            "  The longest orders that fit end with:\n  \
             - after add(): get() would return 1, not 0\n"
        );
    }

    #[test]
    fn a_lost_addition_has_no_order() {
        let lost = [done(0, (0, 3), "0"), done(0, (1, 2), "0")];
        assert!(explained(&lost).is_err());
        let twice = [done(0, (0, 3), "1"), done(0, (1, 2), "0")];
        assert_eq!(explained(&twice), Ok(()));
    }
}
