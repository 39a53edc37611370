//! The starts and ends of expressions, and the ends of statements and of the heads of blocks.
//!
//! `syn` can compute the span of any node, but it builds all tokens of the node
//! again to do so. For nodes that may be long, because they may contain blocks,
//! the functions here look up the last token directly.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{AttrStyle, Attribute, Block, Expr, MacroDelimiter, Stmt, UnOp};

use crate::source::Source;

/// Returns the offset where a statement ends.
pub(crate) fn end_of_statement(source: &Source, statement: &Stmt) -> usize {
    source.end_of(match statement {
        Stmt::Local(local) => local.semi_token.span,
        Stmt::Expr(_, Some(semicolon)) => semicolon.span,
        Stmt::Expr(expression, None) => last_of(expression),
        Stmt::Macro(invocation) => match &invocation.semi_token {
            Some(semicolon) => semicolon.span,
            None => invocation.mac.delimiter.span().close(),
        },
        Stmt::Item(item) => return source.end_of(item.span()),
    })
}

/// Returns the offset where an expression begins, after its attributes.
pub(crate) fn start_of(source: &Source, expression: &Expr) -> usize {
    source.start_of(first_of(expression))
}

/// Returns a span that begins where the expression begins.
fn first_of(expression: &Expr) -> Span {
    match expression {
        Expr::Assign(e) => first_of(&e.left),
        Expr::Await(e) => first_of(&e.base),
        Expr::Binary(e) => first_of(&e.left),
        Expr::Block(e) if e.label.is_none() => e.block.brace_token.span.open(),
        Expr::Call(e) => first_of(&e.func),
        Expr::Cast(e) => first_of(&e.expr),
        Expr::Field(e) => first_of(&e.base),
        Expr::Index(e) => first_of(&e.expr),
        Expr::Macro(e) => e.mac.path.span(),
        Expr::MethodCall(e) => first_of(&e.receiver),
        Expr::Paren(e) => e.paren_token.span.open(),
        Expr::Path(e) if e.qself.is_none() => e.path.span(),
        Expr::RawAddr(e) => e.and_token.span,
        Expr::Reference(e) => e.and_token.span,
        Expr::Try(e) => first_of(&e.expr),
        Expr::Unary(e) => match &e.op {
            UnOp::Deref(token) => token.span,
            UnOp::Not(token) => token.span,
            UnOp::Neg(token) => token.span,
            _ => expression.span(),
        },
        Expr::Unsafe(e) => e.unsafe_token.span,
        _ => expression.span(),
    }
}

/// Returns the offset where an expression ends.
pub(crate) fn end_of(source: &Source, expression: &Expr) -> usize {
    source.end_of(last_of(expression))
}

/// Returns a span that ends where the expression ends.
fn last_of(expression: &Expr) -> Span {
    match expression {
        Expr::Array(e) => e.bracket_token.span.close(),
        Expr::Assign(e) => last_of(&e.right),
        Expr::Async(e) => last_of_block(&e.block),
        Expr::Await(e) => e.await_token.span,
        Expr::Binary(e) => last_of(&e.right),
        Expr::Block(e) => last_of_block(&e.block),
        Expr::Call(e) => e.paren_token.span.close(),
        Expr::Closure(e) => last_of(&e.body),
        Expr::Const(e) => last_of_block(&e.block),
        Expr::Field(e) => e.member.span(),
        Expr::ForLoop(e) => last_of_block(&e.body),
        Expr::If(e) => match &e.else_branch {
            Some((_, otherwise)) => last_of(otherwise),
            None => last_of_block(&e.then_branch),
        },
        Expr::Index(e) => e.bracket_token.span.close(),
        Expr::Let(e) => last_of(&e.expr),
        Expr::Loop(e) => last_of_block(&e.body),
        Expr::Macro(e) => e.mac.delimiter.span().close(),
        Expr::Match(e) => e.brace_token.span.close(),
        Expr::MethodCall(e) => e.paren_token.span.close(),
        Expr::Paren(e) => e.paren_token.span.close(),
        Expr::RawAddr(e) => last_of(&e.expr),
        Expr::Reference(e) => last_of(&e.expr),
        Expr::Repeat(e) => e.bracket_token.span.close(),
        Expr::Struct(e) => e.brace_token.span.close(),
        Expr::Try(e) => e.question_token.span,
        Expr::TryBlock(e) => last_of_block(&e.block),
        Expr::Tuple(e) => e.paren_token.span.close(),
        Expr::Unary(e) => last_of(&e.expr),
        Expr::Unsafe(e) => last_of_block(&e.block),
        Expr::While(e) => last_of_block(&e.body),
        Expr::Break(syn::ExprBreak { expr: Some(e), .. })
        | Expr::Return(syn::ExprReturn { expr: Some(e), .. }) => last_of(e),
        _ => expression.span(),
    }
}

fn last_of_block(block: &Block) -> Span {
    block.brace_token.span.close()
}

/// Returns the offset at which a block's statements may begin: after its brace and its inner
/// attributes.
pub(crate) fn head_of(source: &Source, attributes: &[Attribute], block: &Block) -> usize {
    let inner = attributes
        .iter()
        .rfind(|attribute| matches!(attribute.style, AttrStyle::Inner(_)));
    let Some(last) = inner else {
        return source.end_of(block.brace_token.span.open());
    };
    // The rest of the line after `//!` is a comment.
    if source
        .from(source.start_of(last.pound_token.span))
        .starts_with("//")
    {
        return source.start_of(match block.stmts.first() {
            Some(first) => first.span(),
            None => block.brace_token.span.close(),
        });
    }
    source.end_of(last.bracket_token.span.close())
}

/// Whether the expression would have another meaning at the start of a statement. There,
/// `match x {} + 1` is a statement, a plus sign and a number, and `let` declares a variable.
pub(crate) fn differs_as_statement(expression: &Expr) -> bool {
    let mut leftmost = expression;
    loop {
        leftmost = match leftmost {
            Expr::Assign(e) => &e.left,
            Expr::Await(e) => &e.base,
            Expr::Binary(e) => &e.left,
            Expr::Call(e) => &e.func,
            Expr::Cast(e) => &e.expr,
            Expr::Field(e) => &e.base,
            Expr::Index(e) => &e.expr,
            Expr::MethodCall(e) => &e.receiver,
            Expr::Try(e) => &e.expr,
            Expr::Range(syn::ExprRange { start: Some(e), .. }) => e,
            Expr::Macro(e) => {
                return matches!(e.mac.delimiter, MacroDelimiter::Brace(_))
                    && !std::ptr::eq(leftmost, expression);
            }
            Expr::Let(_) => return true,
            _ => return is_block_like(leftmost) && !std::ptr::eq(leftmost, expression),
        };
    }
}

/// Whether this expression, as a statement, needs no semicolon.
pub(crate) fn is_block_like(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Block(_)
            | Expr::Const(_)
            | Expr::ForLoop(_)
            | Expr::If(_)
            | Expr::Loop(_)
            | Expr::Match(_)
            | Expr::TryBlock(_)
            | Expr::Unsafe(_)
            | Expr::While(_)
    )
}
