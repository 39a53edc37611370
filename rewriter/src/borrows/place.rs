//! Places in memory as expressions name them: the target of a pointer or a mutable static, and
//! their fields and elements.

use proc_macro2::Span;
use syn::{BinOp, Expr, ExprPath, ExprUnary, UnOp};

use crate::mutable_statics::MutableStatics;

/// Methods without side effects. An index that calls one of them may be evaluated twice.
const CALCULATIONS: &[&str] = &["wrapping_add", "wrapping_sub"];

/// An expression that names a place in memory: `*p`, `(*p).field[index]`, `STATIC.field`.
pub(super) struct Place<'e> {
    pub(super) whole: &'e Expr,
    pub(super) root: Root<'e>,
    /// The indices in the expression.
    indices: Vec<&'e Expr>,
}

/// The outermost memory that contains a place.
#[derive(Clone, Copy)]
pub(super) enum Root<'e> {
    /// The target of a pointer, or of any other value that can be dereferenced.
    Target(&'e ExprUnary),
    /// A mutable static.
    Static(&'e ExprPath),
}

/// The kind of the expression that computes the pointer to a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// An expression of variables, fields and elements, which may be evaluated twice.
    Steady,
    /// An expression that is not a place, so that its value can be passed through a block.
    Value,
    /// A part of a computed value. The part cannot always be moved out of the value.
    Part,
}

impl<'e> Place<'e> {
    pub(super) fn of(expression: &'e Expr, statics: &MutableStatics) -> Option<Self> {
        let mut indices = Vec::new();
        let mut inner = expression;
        let root = loop {
            inner = match inner {
                Expr::Paren(e) => &e.expr,
                Expr::Group(e) => &e.expr,
                Expr::Field(e) => &e.base,
                Expr::Index(e) => {
                    indices.push(&*e.index);
                    &e.expr
                }
                Expr::Unary(e) if matches!(e.op, UnOp::Deref(_)) => break Root::Target(e),
                Expr::Path(e) if names_static(e, statics) => break Root::Static(e),
                _ => return None,
            };
        };
        Some(Self {
            whole: expression,
            root,
            indices,
        })
    }

    /// Returns the span of the token that identifies the place: its `*`, or the first name in the
    /// path of its static.
    pub(super) fn span(&self) -> Span {
        match self.root {
            Root::Target(deref) => match &deref.op {
                UnOp::Deref(star) => star.span,
                _ => unreachable!("a target is what `*` names"),
            },
            Root::Static(path) => path.path.segments[0].ident.span(),
        }
    }

    pub(super) fn operand(&self) -> Operand {
        match self.root {
            Root::Static(_) => Operand::Steady,
            Root::Target(deref) if is_steady(&deref.expr) => Operand::Steady,
            Root::Target(deref) if is_part(&deref.expr) => Operand::Part,
            Root::Target(_) => Operand::Value,
        }
    }

    /// Whether all indices may be evaluated twice.
    pub(super) fn is_indexed_repeatably(&self) -> bool {
        self.indices.iter().all(|index| is_repeatable(index))
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = &'e Expr> {
        self.indices.iter().copied()
    }
}

fn names_static(path: &ExprPath, statics: &MutableStatics) -> bool {
    path.qself.is_none()
        && path
            .path
            .segments
            .last()
            .is_some_and(|last| statics.contain(&last.ident.to_string()))
}

/// Whether the expression is a place, so that its address can be taken.
pub(super) fn is_place(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => true,
        Expr::Unary(e) => matches!(e.op, UnOp::Deref(_)),
        Expr::Paren(e) => is_place(&e.expr),
        Expr::Group(e) => is_place(&e.expr),
        _ => false,
    }
}

/// Whether the expression is a part of a computed value. Such an expression cannot be evaluated
/// twice.
fn is_part(expression: &Expr) -> bool {
    is_place(expression) && !is_steady(expression)
}

/// Whether the expression may be evaluated twice: it calls no function, except through `Deref` or
/// `Index`.
pub(super) fn is_steady(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(e) => is_steady(&e.base),
        Expr::Paren(e) => is_steady(&e.expr),
        Expr::Group(e) => is_steady(&e.expr),
        Expr::Cast(e) => is_steady(&e.expr),
        Expr::Index(e) => is_steady(&e.expr) && is_repeatable(&e.index),
        Expr::Unary(e) => matches!(e.op, UnOp::Deref(_)) && is_steady(&e.expr),
        _ => false,
    }
}

/// Whether the expression may be evaluated twice. Unlike [`is_steady`], this function also allows
/// operators, ranges, shared references and calls of [`CALCULATIONS`].
fn is_repeatable(expression: &Expr) -> bool {
    match expression {
        Expr::Paren(e) => is_repeatable(&e.expr),
        Expr::Group(e) => is_repeatable(&e.expr),
        Expr::Cast(e) => is_repeatable(&e.expr),
        Expr::Unary(e) => is_repeatable(&e.expr),
        Expr::Binary(e) => {
            !is_assigning(&e.op) && is_repeatable(&e.left) && is_repeatable(&e.right)
        }
        Expr::Reference(e) => e.mutability.is_none() && is_steady(&e.expr),
        Expr::Range(e) => [&e.start, &e.end]
            .into_iter()
            .flatten()
            .all(|bound| is_repeatable(bound)),
        Expr::MethodCall(e) => {
            CALCULATIONS.iter().any(|name| e.method == name)
                && is_repeatable(&e.receiver)
                && e.args.iter().all(is_repeatable)
        }
        _ => is_steady(expression),
    }
}

/// Whether the operator changes its left operand.
fn is_assigning(operator: &BinOp) -> bool {
    matches!(
        operator,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}
