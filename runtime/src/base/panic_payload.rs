//! The text in the payload of a panic.

use std::any::Any;

/// The message of a panic, by its payload.
pub(crate) fn payload_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic whose payload is no text")
}
