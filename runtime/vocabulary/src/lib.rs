//! The vocabulary of cargo chess and its runtime: the data that a test binary sends to the tool.
//!
//! On the wire, each operation, effect, note and kind of failure is a [`Token`], and programs read
//! only tokens. The words in reports are made from the tokens for people.

#![forbid(unsafe_code)]

mod class;
mod deadlock_sentence;
mod decision;
mod effect;
mod fault;
mod hold;
mod kind;
mod message_words;
mod note;
mod object;
mod op;
mod outside_effect;
pub mod places;
mod signal;
mod task;
mod token;
mod warning_kind;
pub mod words;

pub use class::Class;
pub use deadlock_sentence::{Wait, deadlock, line_of, short_path};
pub use decision::{Decision, Decisions};
pub use effect::{Dependence, Effect};
pub use fault::Fault;
pub use hold::Hold;
pub use kind::Kind;
pub use message_words::message_words;
pub use note::{Note, NoteKind};
pub use object::{Object, ObjectKind};
pub use op::Op;
pub use outside_effect::OutsideEffect;
pub use signal::signal_in_words;
pub use task::TaskId;
pub use token::Token;
pub use warning_kind::WarningKind;
