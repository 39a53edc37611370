//! Operations and source lines in words. They are shortened if there is little room.

use chess_vocabulary::ObjectKind;

use crate::events::Location;
use crate::protocol::{Object, Step};
use crate::text::{columns, cut, cut_front, source_path};

/// The name of an operation with its object.
pub(super) fn operation(op: &str, object: Option<&str>) -> String {
    match object {
        Some(object) => format!("{op} {object}"),
        None => op.to_owned(),
    }
}

/// The object of an event with the values that it read and wrote: `A1: 0 -> 1`.
pub(super) fn with_values(step: &Step) -> Option<String> {
    let object = shown(step.object.as_ref())?;
    Some(match values(step) {
        Some(values) => format!("{object}: {values}"),
        None => object.to_owned(),
    })
}

/// The values that an event read and wrote: `0 -> 1`.
pub(super) fn values(step: &Step) -> Option<String> {
    match (&step.read, &step.written) {
        (None, None) => None,
        (Some(value), None) if step.op.is_compare_exchange() => Some(format!("{value}, fails")),
        (Some(value), None) | (None, Some(value)) => Some(value.clone()),
        (Some(read), Some(written)) => Some(format!("{read} -> {written}")),
    }
}

/// The function that the user's code called, if the event is within a call into `atomic` code.
/// Returns `a call` if the function is not known.
pub(super) fn called(step: &Step) -> &str {
    let function = step.atomic_call().and_then(|it| it.function.as_deref());
    function.unwrap_or("a call")
}

/// The operation of an event. If the operation is part of a call into `atomic` code, the called
/// function comes first: `Queue::push: store`.
pub(super) fn within_call(step: &Step) -> String {
    match step.atomic_call().and_then(|it| it.function.as_ref()) {
        // For an event without a source line, such as a drop, the text is only the operation.
        Some(function) if step.file.is_some() => format!("{function}: {}", step.op),
        _ => step.op.name().to_owned(),
    }
}

/// The operation before which a task is switched out, as in `before load A1`. If the operation is
/// within a call of the user's code into other code, the text names this call, as in `before the
/// call of Queue::push`.
pub(super) fn switched(step: &Step) -> String {
    let what = operation(step.op.name(), shown(step.object.as_ref()));
    let Some(caller) = &step.caller else {
        return format!("before {what}");
    };
    let function = caller.function.as_ref();
    let call = function.map_or_else(|| "a call".to_owned(), |it| format!("the call of {it}"));
    if caller.is_atomic {
        let at = if caller.goes_on { "at" } else { "before" };
        format!("{at} {call}")
    } else if step.shown_location().as_ref() == Some(&caller.location) {
        format!("before {what}")
    } else {
        let place = place(&caller.location);
        format!("in {call} at {place}, before {what}")
    }
}

/// The name of an object; `None` if there is no object, or if it is a scope. The only operation on
/// a scope is the end of a scope, so the name of a scope adds nothing.
pub(super) fn shown(object: Option<&Object>) -> Option<&str> {
    let object = object.filter(|it| it.kind != ObjectKind::Scope)?;
    Some(&object.name)
}

/// The operation in at most `width` columns. The name of the object is not shortened if there is
/// room for it, because it identifies the operation.
pub(super) fn fit_operation(op: &str, object: Option<&str>, width: usize) -> String {
    let whole = operation(op, object);
    if columns(&whole) <= width {
        return whole;
    }
    match object {
        Some(object) if columns(object) + 4 <= width => {
            format!("{} {object}", cut(op, width - columns(object) - 1))
        }
        _ => cut(&whole, width),
    }
}

/// A source line: `src/lib.rs:10`.
pub(super) fn place(location: &Location) -> String {
    format!("{}:{}", source_path(&location.file), location.line)
}

/// `place`, a path and a line, in at most `width` columns. The first directories are left out
/// first. The file's name and the line are cut only if they have no room without directories.
pub(super) fn fit_place(place: &str, width: usize) -> String {
    if columns(place) <= width {
        return place.to_owned();
    }
    let mut rest = place;
    while let Some((_, after)) = rest.split_once('/') {
        rest = after;
        let shorter = format!("\u{2026}/{rest}");
        if columns(&shorter) <= width {
            return shorter;
        }
    }
    cut_front(rest, width)
}

/// The columns that the file's name and the line of `place` need.
pub(super) fn least_columns(place: &str) -> usize {
    match place.rsplit_once('/') {
        Some((_, name)) => columns(name) + 2,
        None => columns(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_keeps_its_object_in_few_columns() {
        let fitted = |width| fit_operation("compare_exchange_weak", Some("A12"), width);
        assert_eq!(fitted(30), "compare_exchange_weak A12");
        assert_eq!(fitted(20), "compare_exchang\u{2026} A12");
        assert_eq!(fitted(5), "comp\u{2026}");
        assert_eq!(fit_operation("Mutex unlock", None, 8), "Mutex u\u{2026}");
    }

    #[test]
    fn a_scope_is_not_named_twice() {
        let named = |op, object| operation(op, shown(Some(&Object::from(object))));
        assert_eq!(named("scope end", "scope 1"), "scope end");
        assert_eq!(named("load", "A1"), "load A1");
    }

    #[test]
    fn a_source_line_keeps_its_file_and_line_in_few_columns() {
        let place = "parking_lot-0.12.5/src/raw_mutex.rs:104";
        for (width, shown) in [
            (39, place),
            (38, "\u{2026}/src/raw_mutex.rs:104"),
            (20, "\u{2026}/raw_mutex.rs:104"),
            (17, "raw_mutex.rs:104"),
            (10, "\u{2026}ex.rs:104"),
        ] {
            assert_eq!(fit_place(place, width), shown);
        }
        assert_eq!(least_columns(place), 18);
    }
}
