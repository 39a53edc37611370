//! Recognises files with one constant expression, which `include!` inserts as a value. Such a table
//! of data needs no marks.

use syn::{Expr, UnOp};

use crate::may_call::is_constructor;
use crate::source::Source;

/// Whether the file is one constant expression, which calls nothing but constructors.
pub(crate) fn is_constant_file(source: &Source) -> bool {
    let tokens = source.tokens().ok();
    let expression = tokens.and_then(|tokens| syn::parse2::<Expr>(tokens).ok());
    expression.is_some_and(|expression| is_constant(&expression))
}

fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Array(e) => e.elems.iter().all(is_constant),
        Expr::Call(e) => is_constructor(&e.func) && e.args.iter().all(is_constant),
        Expr::Cast(e) => is_constant(&e.expr),
        Expr::Group(e) => is_constant(&e.expr),
        Expr::Paren(e) => is_constant(&e.expr),
        Expr::Reference(e) => is_constant(&e.expr),
        Expr::Repeat(e) => is_constant(&e.expr),
        Expr::Struct(e) => e.rest.is_none() && e.fields.iter().all(|it| is_constant(&it.expr)),
        Expr::Tuple(e) => e.elems.iter().all(is_constant),
        Expr::Unary(e) => matches!(e.op, UnOp::Neg(_)) && is_constant(&e.expr),
        _ => false,
    }
}
