//! Whether code may call a function, as far as its syntax shows.
//!
//! Operators, indexing and field accesses count as calls, because a type can
//! overload them (a field may be reached through `Deref`). The contents of
//! blocks, arms, closures and functions do not count: they have marks of their
//! own.

use syn::{Expr, Stmt};

/// Whether a statement may call a function.
pub(crate) fn in_statement(statement: &Stmt) -> bool {
    match statement {
        Stmt::Local(local) => local
            .init
            .as_ref()
            .is_some_and(|init| in_expression(&init.expr)),
        Stmt::Item(_) => false,
        Stmt::Expr(Expr::Verbatim(tokens), _) => !tokens.is_empty(),
        // `guard;` moves the value out of its variable, and drops it.
        Stmt::Expr(Expr::Path(_), Some(_)) | Stmt::Macro(_) => true,
        Stmt::Expr(expression, _) => in_expression(expression),
    }
}

/// Whether an expression may call a function, or leave a scope and drop its variables.
pub(crate) fn in_expression(expression: &Expr) -> bool {
    match expression {
        Expr::Async(_)
        | Expr::Block(_)
        | Expr::Closure(_)
        | Expr::Const(_)
        | Expr::Infer(_)
        | Expr::Lit(_)
        | Expr::Loop(_)
        | Expr::Path(_)
        | Expr::TryBlock(_)
        | Expr::Unsafe(_) => false,
        Expr::Array(e) => e.elems.iter().any(in_expression),
        Expr::Call(e) => !is_constructor(&e.func) || e.args.iter().any(in_expression),
        Expr::Cast(e) => in_expression(&e.expr),
        Expr::Field(e) => !is_self(&e.base),
        Expr::Group(e) => in_expression(&e.expr),
        Expr::If(e) => in_expression(&e.cond),
        Expr::Let(e) => in_expression(&e.expr),
        Expr::Match(e) => in_expression(&e.expr),
        Expr::Paren(e) => in_expression(&e.expr),
        Expr::Range(e) => [&e.start, &e.end]
            .into_iter()
            .flatten()
            .any(|bound| in_expression(bound)),
        Expr::RawAddr(e) => in_expression(&e.expr),
        Expr::Reference(e) => in_expression(&e.expr),
        Expr::Repeat(e) => in_expression(&e.expr),
        Expr::Struct(e) => {
            e.fields.iter().any(|field| in_expression(&field.expr))
                || e.rest.as_deref().is_some_and(in_expression)
        }
        Expr::Tuple(e) => e.elems.iter().any(in_expression),
        Expr::While(e) => in_expression(&e.cond),
        _ => true,
    }
}

/// Whether this is the name of a tuple struct or a variant, such as `Some`. A name counts as such
/// if it begins with an upper-case letter.
pub(crate) fn is_constructor(function: &Expr) -> bool {
    let Expr::Path(path) = function else {
        return false;
    };
    path.path.segments.last().is_some_and(|last| {
        last.ident
            .to_string()
            .trim_start_matches("r#")
            .starts_with(char::is_uppercase)
    })
}

fn is_self(expression: &Expr) -> bool {
    matches!(expression, Expr::Path(path) if path.path.is_ident("self"))
}
