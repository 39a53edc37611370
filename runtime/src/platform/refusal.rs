//! What the system refuses the explorer ends it, with a sentence for the user.

use std::any::Any;
use std::panic::resume_unwind;

/// What an explorer unwinds with that was refused something.
struct Refusal(String);

/// Ends the exploration: nothing is known of the test but this sentence.
#[cold]
pub(crate) fn refuse(sentence: String) -> ! {
    // No panic of the program's, and none of ours: no hook is to tell of it.
    resume_unwind(Box::new(Refusal(sentence)))
}

/// Why the explorer broke off, by what it unwound with.
pub(crate) fn why(payload: &(dyn Any + Send)) -> String {
    match payload.downcast_ref::<Refusal>() {
        Some(Refusal(sentence)) => sentence.clone(),
        None => format!(
            "the explorer panicked: {}. This is a defect of cargo chess: please report it, with what \
             the test process wrote to standard error",
            crate::base::panic_message::payload_text(payload)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_refusal_is_told_as_it_is_and_a_panic_as_a_defect() {
        let refused = catch_unwind(|| refuse("no threads are left".to_owned()));
        let refused = refused.expect_err("it unwinds");
        assert_eq!(why(&*refused), "no threads are left");
        let panicked = catch_unwind(|| resume_unwind(Box::new("no task runs")));
        let panicked = panicked.expect_err("it unwinds");
        assert_eq!(
            why(&*panicked),
            "the explorer panicked: no task runs. This is a defect of cargo chess: please report it, \
             with what the test process wrote to standard error"
        );
    }
}
