//! The text that is inserted to report a borrow.
//!
//! The borrow itself stays unchanged. There are three forms:
//!
//! - **before**: the text has the receiver twice, first to take its address:
//!   `({__chess::borrow_through(&raw const p);},p.as_ref()).1`. A tuple, unlike a block, does not
//!   end the life of temporary values.
//! - **wrapped**: the address passes through the hook, and the result of the hook is dereferenced:
//!   `&mut *__chess::borrow_mut(&raw mut *p)`. This form is not used if the reference may be used
//!   after its statement and the place contains a temporary value: the value would be dropped too
//!   early.
//! - **through**: the pointer to the place passes through a block, by value: `&*match (x.get())
//!   {__chess_p=>{__chess::borrow(&raw const *__chess_p);__chess_p}}`. Like the original text, the
//!   `match` keeps guards alive until the end of the statement.

use proc_macro2::TokenStream;
use syn::{Expr, ExprMethodCall};

use super::methods::Method;
use super::place::{Operand, Place, Root, is_place, is_steady};
use super::site::{Kind, Left};
use crate::extent;
use crate::mutable_statics::MutableStatics;
use crate::source::Source;

/// The name of the variable for the pointer, in inserted text of the form **through**.
const POINTER: &str = "__chess_p";

/// Text to insert before and after a part of the source.
pub(super) struct Form {
    pub(super) start: usize,
    pub(super) before: String,
    pub(super) end: usize,
    pub(super) behind: String,
}

/// Builds the text that reports a borrow in a source file. The text has one of the three forms.
#[derive(Clone, Copy)]
pub(super) struct Forms<'s> {
    pub(super) source: &'s Source<'s>,
    pub(super) statics: &'s MutableStatics,
}

impl Forms<'_> {
    /// Returns the text that reports a reference to a place, or the reason why no text can report
    /// it. `extends` says that temporary values may have to live longer than the statement.
    pub(super) fn form(&self, place: &Place, kind: Kind, extends: bool) -> Result<Form, Left> {
        let (hook, address) = match kind {
            Kind::BorrowMut => ("borrow_mut", "&raw mut "),
            _ => ("borrow", "&raw const "),
        };
        match place.operand() {
            Operand::Value if place.is_indexed_repeatably() => self.through(place, &|place| {
                format!("__chess::{hook}(&raw const {place});")
            }),
            Operand::Value | Operand::Part if extends => Err(Left::Temporary),
            _ => {
                let before = format!("*__chess::{hook}({address}");
                Ok(self.around(place.whole, before, ")"))
            }
        }
    }

    /// Returns the text that reports the call of a method that may borrow memory, or the reason
    /// why no text can report it. The receiver is a pointer or memory that may be uninitialized.
    pub(super) fn form_of_method(
        &self,
        call: &Expr,
        method: &ExprMethodCall,
        what: Method,
    ) -> Result<Form, Left> {
        let report = |receiver: &str| format!("__chess::{}(&raw const {receiver});", what.hook);
        let receiver = &*method.receiver;
        let place = Place::of(receiver, self.statics);
        if let Some(place) = &place
            && !place.is_indexed_repeatably()
        {
            return Err(Left::Computed);
        }
        match place {
            Some(place) if place.operand() != Operand::Steady => self.through(&place, &report),
            // This form evaluates the receiver twice.
            _ if is_place(receiver) => {
                if !is_steady(receiver) {
                    return Err(Left::Computed);
                }
                let report = report(&self.text_of(receiver)?);
                Ok(self.around(call, format!("({{{report}}},"), ").1"))
            }
            _ => Ok(self.around(
                receiver,
                "(match (".to_owned(),
                format!("){{{POINTER}=>{{{}{POINTER}}}}})", report(POINTER)),
            )),
        }
    }

    fn through(&self, place: &Place, report: &dyn Fn(&str) -> String) -> Result<Form, Left> {
        let Root::Target(deref) = place.root else {
            return Err(Left::Computed);
        };
        let start = extent::start_of(self.source, &deref.expr);
        let end = extent::end_of(self.source, &deref.expr);
        let head = extent::start_of(self.source, place.whole);
        let tail = extent::end_of(self.source, place.whole);
        let head = self.source.between(head, start);
        let tail = self.source.between(end, tail);
        let text = in_one_line(&format!("{head}{POINTER}{tail}")).ok_or(Left::Computed)?;
        Ok(self.around(
            &deref.expr,
            "match (".to_owned(),
            format!("){{{POINTER}=>{{{}{POINTER}}}}}", report(&text)),
        ))
    }

    fn around(&self, whole: &Expr, before: String, behind: impl Into<String>) -> Form {
        Form {
            start: extent::start_of(self.source, whole),
            before,
            end: extent::end_of(self.source, whole),
            behind: behind.into(),
        }
    }

    fn text_of(&self, expression: &Expr) -> Result<String, Left> {
        text_of(self.source, expression).ok_or(Left::Computed)
    }
}

/// Returns the source text of an expression in one line, or `None` if a token contains a line
/// break.
pub(super) fn text_of(source: &Source, expression: &Expr) -> Option<String> {
    let start = extent::start_of(source, expression);
    let end = extent::end_of(source, expression);
    in_one_line(source.between(start, end))
}

/// Returns the tokens of the text without line breaks and comments, or `None` if a token contains
/// a line break.
fn in_one_line(text: &str) -> Option<String> {
    if !text.contains(['\n', '\r']) && !text.contains("//") && !text.contains("/*") {
        return Some(text.to_owned());
    }
    let tokens: TokenStream = text.parse().ok()?;
    let text = tokens.to_string();
    (!text.contains(['\n', '\r'])).then_some(text)
}
