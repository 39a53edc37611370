//! The marks ([`MARK`](crate::MARK)) at the start and at the end of a block. They depend on the
//! kind of the block.

use syn::{Block, Expr, MacroDelimiter, Stmt, StmtMacro};

use crate::{extent, may_call};

/// The construct whose body is a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// A function, a closure or a future: other code calls it.
    Callable,
    /// A loop with a condition or an iterator: `while` or `for`.
    WhileOrFor,
    /// The expression `loop`.
    Loop,
    /// Another construct.
    Plain,
}

/// Whether a function, closure or future with this body needs no mark at its start. The body is
/// empty, or it is one expression that calls no function and is no block, loop, `if` or `match`.
pub(crate) fn is_trivial(block: &Block) -> bool {
    match &block.stmts[..] {
        [] => true,
        [Stmt::Expr(value, None)] => {
            !extent::is_block_like(value) && !may_call::in_expression(value)
        }
        _ => false,
    }
}

/// The form of the mark at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndMark {
    None,
    /// A mark after the last statement.
    Plain,
    /// A mark after the last statement, which is a macro without a semicolon.
    Macro,
    /// A mark after the last expression, which is a unit value and becomes a statement.
    Unit,
}

/// Returns the form of the mark at the end of a block. The mark separates the last statement from
/// the code that runs after it: the drops at the end of the block, or the evaluation of a loop's
/// next condition.
///
/// If the block has variables, its tail expression gets no mark. A mark would make the expression a
/// statement, which could change the order of drops: its temporaries may have to be dropped after
/// the variables. A tail expression without temporaries is an exception: see
/// `is_unit_without_temporaries`.
pub(crate) fn end_mark(block: &Block, body: Body) -> EndMark {
    let Some(last) = block.stmts.last() else {
        return EndMark::None;
    };
    let drops = block
        .stmts
        .iter()
        .any(|statement| matches!(statement, Stmt::Local(_)));
    let is_while_or_for = body == Body::WhileOrFor;
    match last {
        Stmt::Expr(Expr::Break(_) | Expr::Continue(_) | Expr::Return(_), _) => EndMark::None,
        Stmt::Expr(value, None) => match value {
            _ if is_unit_without_temporaries(value) && (drops || is_while_or_for) => EndMark::Plain,
            _ if drops || !is_while_or_for => EndMark::None,
            Expr::Macro(_) => EndMark::Macro,
            _ if extent::is_block_like(value) => EndMark::Plain,
            _ if may_call::in_expression(value) => EndMark::Unit,
            _ => EndMark::None,
        },
        Stmt::Macro(StmtMacro {
            semi_token: None, ..
        }) if drops || !is_while_or_for => EndMark::None,
        _ if drops || is_while_or_for => EndMark::Plain,
        _ => EndMark::None,
    }
}

/// Whether a block's tail expression always has the value `()`, and has no temporaries that are
/// dropped after the block's variables.
fn is_unit_without_temporaries(value: &Expr) -> bool {
    match value {
        Expr::While(_) => true,
        Expr::If(value) => value.else_branch.is_none() && !binds(&value.cond),
        _ => false,
    }
}

/// Whether a condition has a pattern (`let`). The value that is matched with a pattern lives until
/// after the body of the `if`.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

/// Whether a statement is a macro with braces, such as `cfg_if! { .. }`. It may expand to any number
/// of statements.
pub(crate) fn is_braced_macro(statement: &Stmt) -> bool {
    let invocation = match statement {
        Stmt::Macro(StmtMacro {
            mac,
            semi_token: None,
            ..
        }) => mac,
        Stmt::Expr(Expr::Macro(value), None) => &value.mac,
        _ => return false,
    };
    matches!(invocation.delimiter, MacroDelimiter::Brace(_))
}

pub(crate) fn lacks_semicolon(statement: &Stmt) -> bool {
    match statement {
        Stmt::Expr(_, semicolon) => semicolon.is_none(),
        Stmt::Macro(invocation) => invocation.semi_token.is_none(),
        Stmt::Local(_) | Stmt::Item(_) => false,
    }
}
