//! Aborts the exploration, with a message for the user, if the system refuses a resource.

use std::any::Any;
use std::panic::resume_unwind;

/// The payload with which [`abort_with`] unwinds: the message for the user.
struct Abort(String);

/// Ends the exploration by unwinding. The only result of the exploration is the message
/// `sentence`.
#[cold]
pub(crate) fn abort_with(sentence: String) -> ! {
    // This is no panic of the program or of the engine. No hook must report it.
    resume_unwind(Box::new(Abort(sentence)))
}

/// The message for the user, from the `payload` with which the explorer unwound. For a payload
/// that is not from [`abort_with`], the message reports a defect of cargo chess.
pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
    match payload.downcast_ref::<Abort>() {
        Some(Abort(sentence)) => sentence.clone(),
        None => format!(
            "the explorer panicked: {}. This is a defect of cargo chess: please report it, with what \
             the test process wrote to standard error",
            crate::base::panic_payload::payload_text(payload)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_refusal_is_reported_unchanged_and_a_panic_as_a_defect() {
        let refused = catch_unwind(|| abort_with("no threads are left".to_owned()));
        let refused = refused.expect_err("it unwinds");
        assert_eq!(message_of(&*refused), "no threads are left");
        let panicked = catch_unwind(|| resume_unwind(Box::new("no task runs")));
        let panicked = panicked.expect_err("it unwinds");
        assert_eq!(
            message_of(&*panicked),
            "the explorer panicked: no task runs. This is a defect of cargo chess: please report it, \
             with what the test process wrote to standard error"
        );
    }
}
