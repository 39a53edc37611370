//! How a block begins and ends: what is marked there depends on what it is the body of.

use syn::{Block, Expr, Stmt, StmtMacro};

use crate::{calls, extent};

/// What a block is the body of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Of a function, closure or future: others call it.
    Callable,
    /// Of a loop that is more than its body.
    Turn,
    /// Of `loop`.
    Loop,
    /// Of nothing in particular.
    Plain,
}

/// Whether a body that others call has nothing to separate from the caller.
pub(crate) fn is_trivial(block: &Block) -> bool {
    match &block.stmts[..] {
        [] => true,
        [Stmt::Expr(value, None)] => !extent::is_block_like(value) && !calls::in_expression(value),
        _ => false,
    }
}

/// How a block's end is marked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndMark {
    None,
    /// Behind the last statement.
    Plain,
    /// Behind the last statement, a macro that lacks a semicolon.
    Macro,
    /// Behind the last statement, a unit value that is made a statement.
    Unit,
}

/// How the end of a block is marked, for what the block then drops to be a step
/// of its own, and a loop's next condition.
///
/// The value at the end of a block becomes a statement only if the block has no
/// variables, for its temporaries may be meant to be dropped after those.
pub(crate) fn end_mark(block: &Block, body: Body) -> EndMark {
    let Some(last) = block.stmts.last() else {
        return EndMark::None;
    };
    let drops = block
        .stmts
        .iter()
        .any(|statement| matches!(statement, Stmt::Local(_)));
    let turns = body == Body::Turn;
    match last {
        Stmt::Expr(Expr::Break(_) | Expr::Continue(_) | Expr::Return(_), _) => EndMark::None,
        Stmt::Expr(value, None) => match value {
            _ if is_mere_statement(value) && (drops || turns) => EndMark::Plain,
            _ if drops || !turns => EndMark::None,
            Expr::Macro(_) => EndMark::Macro,
            _ if extent::is_block_like(value) => EndMark::Plain,
            _ if calls::in_expression(value) => EndMark::Unit,
            _ => EndMark::None,
        },
        Stmt::Macro(StmtMacro {
            semi_token: None, ..
        }) if drops || !turns => EndMark::None,
        _ if drops || turns => EndMark::Plain,
        _ => EndMark::None,
    }
}

/// Whether an expression at the end of a block is always a unit, and leaves no temporaries.
fn is_mere_statement(value: &Expr) -> bool {
    match value {
        Expr::While(_) => true,
        Expr::If(value) => value.else_branch.is_none() && !binds(&value.cond),
        _ => false,
    }
}

/// Whether a condition has a pattern: what is matched lives on behind the body.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

pub(crate) fn lacks_semicolon(statement: &Stmt) -> bool {
    match statement {
        Stmt::Expr(_, semicolon) => semicolon.is_none(),
        Stmt::Macro(invocation) => invocation.semi_token.is_none(),
        Stmt::Local(_) | Stmt::Item(_) => false,
    }
}
