//! The text that is inserted to report an access.
//!
//! The access itself stays unchanged. There are three forms:
//!
//! - **before**: the place is named twice, once for its address: `({__chess::read(&raw const
//!   *p);*p})`, `({__chess::receive(&raw const *p);},(*p).f()).1`. A tuple, unlike a block, does
//!   not end the life of temporary values.
//! - **wrapped**: the address passes through the hook, and the result of the hook is dereferenced:
//!   `*__chess::write(&raw mut *p) = x`. If the place is borrowed for longer than its statement, it
//!   may contain no temporary value, which would be dropped too early.
//! - **through**: the pointer to the place passes through a block, by value: `*match (x.get())
//!   {__chess_p=>{__chess::read(&raw const *__chess_p);__chess_p}}`. No other property of the place
//!   changes: it can still be moved out of if it could before, it has the same alignment, and it
//!   keeps the same guards alive.

use proc_macro2::TokenStream;
use syn::{Expr, ExprMethodCall};

use super::methods::{Arguments, Method};
use super::place::{Operand, Place, Root, is_place, is_repeatable, is_steady};
use super::site::{Kind, Left};
use crate::declarations::Declarations;
use crate::extent;
use crate::source::Source;

/// The name of the pointer that passes through a block.
const POINTER: &str = "__chess_p";

/// Text to insert before and after a part of the source, and the number of accesses that it
/// reports.
pub(super) struct Form {
    pub(super) start: usize,
    pub(super) before: String,
    pub(super) end: usize,
    pub(super) behind: String,
    /// The number of reported pointers on the way to the place.
    pub(super) pointers: usize,
}

/// The forms for the accesses of a file.
#[derive(Clone, Copy)]
pub(super) struct Forms<'s> {
    pub(super) source: &'s Source<'s>,
    pub(super) declarations: &'s Declarations,
    /// Whether reads of pointers on the way to a place are not reported.
    pub(super) only_borrows: bool,
}

impl Forms<'_> {
    /// Returns the form that reports an access to a place itself. With `extends`, temporary values
    /// may have to live longer than the statement.
    pub(super) fn form(&self, place: &Place, kind: Kind, extends: bool) -> Result<Form, Left> {
        let repeatable = place.is_indexed_repeatably();
        match place.operand() {
            Operand::Steady if kind == Kind::Read && repeatable => self.before(place),
            Operand::Value if repeatable => self.through(place, &|place| {
                format!("__chess::{}(&raw const {place});", hook(kind))
            }),
            _ if place.may_be_packed(self.declarations) => Err(Left::Packed),
            Operand::Value | Operand::Part
                if extends && matches!(kind, Kind::Borrow | Kind::BorrowMut) =>
            {
                Err(Left::Temporary)
            }
            _ => self.wrapped(place, kind),
        }
    }

    /// Returns the form that reports a call whose receiver, or whose function, is a place.
    pub(super) fn form_of_call(&self, call: &Expr, place: &Place) -> Result<Form, Left> {
        let tell = |place: &str| format!("__chess::receive(&raw const {place});");
        self.told_before_call(call, place, &tell)
    }

    /// Returns the form that reports a method of a pointer or of memory that may be uninitialized.
    pub(super) fn form_of_method(
        &self,
        call: &Expr,
        method: &ExprMethodCall,
        what: &Method,
    ) -> Result<Form, Left> {
        let arguments = self.arguments_of(method, what.arguments)?;
        let tell = |receiver: &str| {
            let hook = what.hook;
            format!("__chess::{hook}(&raw const {receiver}{arguments});")
        };
        let receiver = &*method.receiver;
        if let Some(place) = Place::of(receiver, self.declarations) {
            return self.told_before_call(call, &place, &tell);
        }
        if is_place(receiver) {
            if !is_steady(receiver) {
                return Err(Left::Computed);
            }
            let told = tell(&self.text_of(receiver)?);
            return Ok(self.around(call, format!("({{{told}}},"), ").1", 0));
        }
        let told = tell(POINTER);
        let start = extent::start_of(self.source, receiver);
        let end = extent::end_of(self.source, receiver);
        Ok(Form {
            start,
            before: "(match (".to_owned(),
            end,
            behind: format!("){{{POINTER}=>{{{told}{POINTER}}}}})"),
            pointers: 0,
        })
    }

    /// Returns the form that reports, before `whole`, only the pointers that are read on the way to
    /// a place.
    pub(super) fn form_of_address(&self, whole: &Expr, place: &Place) -> Result<Form, Left> {
        let (pointers, told) = self.pointers(place)?;
        Ok(self.around(
            whole,
            format!("({{{told}"),
            "})",
            pointers.saturating_sub(1),
        ))
    }

    fn told_before_call(
        &self,
        call: &Expr,
        place: &Place,
        tell: &dyn Fn(&str) -> String,
    ) -> Result<Form, Left> {
        if !place.is_indexed_repeatably() {
            return Err(Left::Computed);
        }
        if place.operand() != Operand::Steady {
            return self.through(place, tell);
        }
        let (pointers, mut told) = self.pointers(place)?;
        told += &tell(&self.text_of(place.whole)?);
        Ok(self.around(call, format!("({{{told}}},"), ").1", pointers))
    }

    fn before(&self, place: &Place) -> Result<Form, Left> {
        let (pointers, told) = self.pointers(place)?;
        let text = self.text_of(place.whole)?;
        let before = format!("({{{told}__chess::read(&raw const {text});");
        Ok(self.around(place.whole, before, "})", pointers))
    }

    fn wrapped(&self, place: &Place, kind: Kind) -> Result<Form, Left> {
        let (pointers, told) = match place.operand() {
            Operand::Steady => self.pointers(place)?,
            Operand::Value | Operand::Part => (0, String::new()),
        };
        let borrow = match kind {
            Kind::Write | Kind::Update | Kind::BorrowMut => "&raw mut ",
            _ => "&raw const ",
        };
        let mut before = format!("*__chess::{}(", hook(kind));
        let mut behind = String::from(")");
        if pointers > 0 {
            before = format!("{before}{{{told}");
            behind.insert(0, '}');
        }
        before += borrow;
        if kind == Kind::Read {
            before.insert(0, '(');
            behind.push(')');
        }
        Ok(self.around(place.whole, before, behind, pointers))
    }

    fn through(&self, place: &Place, tell: &dyn Fn(&str) -> String) -> Result<Form, Left> {
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
        let told = tell(&text);
        Ok(Form {
            start,
            before: "match (".to_owned(),
            end,
            behind: format!("){{{POINTER}=>{{{told}{POINTER}}}}}"),
            pointers: 0,
        })
    }

    /// Returns the number of pointers on the way to a place, and the text that reports them.
    fn pointers(&self, place: &Place) -> Result<(usize, String), Left> {
        if self.only_borrows {
            return Ok((0, String::new()));
        }
        let pointers = place.pointers(self.declarations);
        let mut told = String::new();
        for pointer in &pointers {
            let text = self.text_of(pointer)?;
            told.push_str("__chess::read(&raw const ");
            told.push_str(&text);
            told.push_str(");");
        }
        Ok((pointers.len(), told))
    }

    fn arguments_of(&self, method: &ExprMethodCall, arguments: Arguments) -> Result<String, Left> {
        let (pointer, count) = match arguments {
            Arguments::Ignored => (None, None),
            Arguments::Count => (None, method.args.last()),
            Arguments::Pointer => (method.args.first(), None),
            Arguments::PointerAndCount => (method.args.first(), method.args.last()),
        };
        let mut text = String::new();
        if let Some(pointer) = pointer {
            text += ",";
            text += &self.address_of_argument(pointer)?;
        }
        if let Some(count) = count {
            text += ",";
            text += &self.repeated(count)?;
        }
        Ok(text)
    }

    /// Returns the address of an argument that is a pointer, or that is coerced to one, because its
    /// value may not be `Copy`. The operand of a unique reference is not borrowed: this would be a
    /// second borrow.
    fn address_of_argument(&self, argument: &Expr) -> Result<String, Left> {
        let argument = unwrapped(argument);
        if let Expr::Reference(reference) = argument
            && reference.mutability.is_some()
            && is_place(&reference.expr)
        {
            let target = self.repeated(&reference.expr)?;
            return Ok(format!("&(&raw mut {target})"));
        }
        let text = self.repeated(argument)?;
        Ok(match argument {
            // The name may be that of a constant, which has no address.
            Expr::Path(_) if Place::of(argument, self.declarations).is_none() => {
                format!("&{text}")
            }
            _ if is_place(argument) => format!("&raw const {text}"),
            _ => format!("&({text})"),
        })
    }

    /// Returns the text of an expression that may be evaluated twice.
    fn repeated(&self, expression: &Expr) -> Result<String, Left> {
        if !is_repeatable(expression) {
            return Err(Left::Computed);
        }
        self.text_of(expression)
    }

    fn around(
        &self,
        whole: &Expr,
        before: String,
        behind: impl Into<String>,
        pointers: usize,
    ) -> Form {
        Form {
            start: extent::start_of(self.source, whole),
            before,
            end: extent::end_of(self.source, whole),
            behind: behind.into(),
            pointers,
        }
    }

    fn text_of(&self, expression: &Expr) -> Result<String, Left> {
        text_of(self.source, expression).ok_or(Left::Computed)
    }
}

/// Returns an expression without its enclosing parentheses.
fn unwrapped(mut expression: &Expr) -> &Expr {
    loop {
        expression = match expression {
            Expr::Paren(e) => &e.expr,
            Expr::Group(e) => &e.expr,
            _ => return expression,
        };
    }
}

/// Returns the name of the hook that reports an access.
fn hook(kind: Kind) -> &'static str {
    match kind {
        Kind::Inspect => "inspect",
        Kind::Write => "write",
        Kind::Update => "update",
        Kind::Borrow => "borrow",
        Kind::BorrowMut => "borrow_mut",
        _ => "read",
    }
}

/// Returns the source text of an expression, in one line.
pub(super) fn text_of(source: &Source, expression: &Expr) -> Option<String> {
    let start = extent::start_of(source, expression);
    let end = extent::end_of(source, expression);
    in_one_line(source.between(start, end))
}

/// Returns the same tokens without line breaks and comments.
fn in_one_line(text: &str) -> Option<String> {
    if !text.contains(['\n', '\r']) && !text.contains("//") && !text.contains("/*") {
        return Some(text.to_owned());
    }
    let tokens: TokenStream = text.parse().ok()?;
    let text = tokens.to_string();
    (!text.contains(['\n', '\r'])).then_some(text)
}
