//! Notes and objects as JSON for the supervisor: data, which the supervisor puts into words.

use core::fmt::Write;

use chess_vocabulary::{Note, Object, Token as _};

use crate::harness::json;

/// An object as JSON.
pub(super) fn object(object: Object) -> String {
    write_object(String::new(), object)
}

/// Writes an object after the end of `text`.
pub(in crate::harness) fn write_object<T: Write>(text: T, object: Object) -> T {
    json::Object::within(text)
        .string("kind", object.kind.token())
        .number("number", object.number.into())
        .finish()
}

/// A note as JSON; `None` for [`Note::NONE`].
pub(super) fn note(note: Note) -> Option<String> {
    write_note(String::new(), note)
}

/// Writes a note after the end of `text`. Returns `None` for [`Note::NONE`].
pub(in crate::harness) fn write_note<T: Write>(text: T, note: Note) -> Option<T> {
    let kind = note.kind()?;
    let object = json::Object::within(text).string("kind", kind.token());
    let object = match note.fault() {
        Some(fault) => object.string("fault", fault.token()),
        None => object,
    };
    let object = match (note.woken(), note.drawn().or(note.lost()), note.overtaken()) {
        (Some(task), ..) => object.number("task", task.0.into()),
        (_, Some(outcome), _) => object.number("outcome", outcome.into()),
        (.., Some(event)) => object.number("event", event.into()),
        _ => object,
    };
    Some(object.finish())
}

#[cfg(test)]
mod tests {
    use chess_vocabulary::Fault;

    use super::*;
    use crate::execution::TaskId;

    #[test]
    fn a_note_is_its_kind_and_its_fields() {
        assert_eq!(note(Note::NONE), None);
        let text = |it| note(it).expect("it says something");
        assert_eq!(text(Note::TIMED_OUT_EARLY), r#"{"kind":"timed-out-early"}"#);
        assert_eq!(text(Note::wakes(TaskId(2))), r#"{"kind":"wakes","task":2}"#);
        assert_eq!(text(Note::drew(5)), r#"{"kind":"drew","outcome":5}"#);
        assert_eq!(
            text(Note::fails(Fault::Sync)),
            r#"{"kind":"fails","fault":"sync"}"#
        );
        assert_eq!(text(Note::late(5)), r#"{"kind":"late","event":5}"#);
    }
}
