//! Serializes a note as its kind, and the number or token that belongs to it.

use chess_vocabulary::{Fault, Note, NoteKind, Token as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::token;

#[derive(Serialize, Deserialize)]
struct Data {
    #[serde(with = "token")]
    kind: NoteKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<u32>,
    /// The token of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it so"
)]
pub(super) fn serialize<S: Serializer>(note: &Option<Note>, to: S) -> Result<S::Ok, S::Error> {
    let data = note.and_then(|note| {
        Some(Data {
            kind: note.kind()?,
            task: note.woken().map(|task| task.0),
            outcome: note.drawn().or(note.lost()),
            event: note.overtaken(),
            fault: note.fault().map(|fault| fault.token().to_owned()),
        })
    });
    data.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Note>, D::Error> {
    let data = Option::<Data>::deserialize(from)?;
    let fault = |it: &Data| Fault::of_token(it.fault.as_deref()?).map(Fault::index);
    let number = |it: &Data| it.task.or(it.outcome).or(it.event).or(fault(it));
    Ok(data.map(|it| Note::of(it.kind, number(&it).unwrap_or(0))))
}
