//! Visits those arguments of macros that are known to be Rust code, and reports the references
//! that they create. Their loads and stores need no report in the text: the compiler instruments
//! them (`wrapper/instrument_accesses.rs` of cargo-chess).

use proc_macro2::{Delimiter, Punct, Spacing, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Block, Expr, File, Macro, Token};

use super::find::Finder;
use super::forms::text_of;
use super::methods;
use super::site::{Kind, Left};
use crate::edit::Edit;
use crate::extent;

/// Macros whose arguments are expressions. Temporary values in the arguments are dropped at the
/// end of the macro.
const OF_EXPRESSIONS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "panic",
    "print",
    "println",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Macros that print or inspect the source text of their arguments.
const OF_TEXT: &[&str] = &[
    "asm",
    "cfg",
    "compile_error",
    "concat",
    "dbg",
    "env",
    "include",
    "include_bytes",
    "include_str",
    "json",
    "quote",
    "stringify",
];

/// Macros whose first argument is an expression. Their other arguments are not.
const OF_ONE: &[&str] = &["assert_matches", "debug_assert_matches", "matches", "ready"];

impl Finder<'_> {
    /// Visits a macro in the position of an expression or a statement.
    pub(super) fn expression_macro(&mut self, invoked: &Macro) {
        let name = name_of(invoked);
        let is = |names: &[&str]| names.contains(&name.as_str());
        if is(OF_EXPRESSIONS)
            && let Ok(arguments) =
                invoked.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)
        {
            let is_reported = is(&["assert", "debug_assert"]) && arguments.len() == 1;
            return self.apart(|finder| match arguments.first() {
                Some(condition) if is_reported => finder.condition(condition),
                _ => arguments.iter().for_each(|it| finder.argument(it)),
            });
        }
        if is(OF_ONE)
            && let Ok(first) = invoked.parse_body_with(first_expression)
        {
            return self.apart(|finder| finder.visit_expr(&first));
        }
        if name.starts_with("cfg_")
            && let Ok(statements) = Block::parse_within.parse2(invoked.tokens.clone())
        {
            return self.apart(|finder| {
                for statement in &statements {
                    finder.visit_stmt(statement);
                }
            });
        }
        if is(OF_TEXT) {
            return self.unknown_tokens(invoked.tokens.clone());
        }
        self.unknown_arguments(invoked.tokens.clone());
    }

    /// Visits the condition of an assertion without a message. The default message contains the
    /// source text of the condition. So an edit of the condition also adds the original text as an
    /// explicit message.
    fn condition(&mut self, condition: &Expr) {
        let text = text_of(self.source, condition);
        let Some(text) = text.filter(|text| !text.contains(['{', '}', '"', '\\'])) else {
            return self.leaving(Left::Message, |finder| finder.visit_expr(condition));
        };
        let before = self.openings.len();
        self.visit_expr(condition);
        if let Some(site) = self.openings.get(before).and_then(|edit| edit.site) {
            let end = extent::end_of(self.source, condition);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let message = format!(", \"assertion failed: {text}\"");
            self.closings.push(Edit::of_site(end, message, site));
        }
    }

    /// Visits the arguments of an unknown macro. A part between commas counts as an expression if
    /// it parses as one.
    fn unknown_arguments(&mut self, tokens: TokenStream) {
        let mut part = Vec::new();
        let end = TokenTree::from(Punct::new(',', Spacing::Alone));
        for token in tokens.into_iter().chain([end]) {
            if !matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
                part.push(token);
                continue;
            }
            let tokens: TokenStream = std::mem::take(&mut part).into_iter().collect();
            match syn::parse2::<Expr>(tokens.clone()) {
                Ok(argument) => self.argument(&argument),
                Err(_) => self.unknown_tokens(tokens),
            }
        }
    }

    /// Visits a macro in the position of an item.
    pub(super) fn item_macro(&mut self, invoked: &Macro) {
        match name_of(invoked).as_str() {
            "macro_rules" => self.unknown_tokens(invoked.tokens.clone()),
            "cfg_if" => {
                for token in invoked.tokens.clone() {
                    match token {
                        TokenTree::Group(branch) if branch.delimiter() == Delimiter::Brace => {
                            self.items(branch.stream());
                        }
                        _ => {}
                    }
                }
            }
            _ => self.items(invoked.tokens.clone()),
        }
    }

    fn items(&mut self, tokens: TokenStream) {
        match syn::parse2::<File>(tokens.clone()) {
            Ok(file) if !file.items.is_empty() => self.visit_file(&file),
            _ => self.unknown_tokens(tokens),
        }
    }

    fn argument(&mut self, argument: &Expr) {
        match argument {
            // `format!("{name}", name = value)`.
            Expr::Assign(named) if matches!(*named.left, Expr::Path(_)) => {
                self.visit_expr(&named.right);
            }
            argument => self.visit_expr(argument),
        }
    }

    /// Adds a site without edits for each possible borrow in tokens that may not be Rust.
    pub(super) fn unknown_tokens(&mut self, tokens: TokenStream) {
        self.scan(tokens, self.is_unsafe);
    }

    fn scan(&mut self, tokens: TokenStream, is_unsafe: bool) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let (before, behind) = (&tokens[..index], &tokens[index + 1..]);
            let found = match token {
                TokenTree::Group(group) => {
                    let opens = matches!(before, [.., TokenTree::Ident(it)] if it == "unsafe");
                    self.scan(group.stream(), is_unsafe || opens);
                    None
                }
                TokenTree::Punct(and) if and.as_char() == '&' && is_reference(before, behind) => {
                    borrowed_target(behind)
                }
                TokenTree::Punct(dot) if dot.as_char() == '.' => called_method(behind),
                _ => None,
            };
            if let Some((span, kind)) = found.filter(|_| is_unsafe) {
                self.unknown_site(span, kind);
            }
        }
    }
}

/// Whether `&` between these tokens creates a reference. If not, the `&` is an operator with two
/// operands, or a part of `&&`.
fn is_reference(before: &[TokenTree], behind: &[TokenTree]) -> bool {
    let is_and = |it: &Punct| it.as_char() == '&';
    let follows_other = match before.last() {
        Some(TokenTree::Ident(word)) => !is_keyword(&word.to_string()),
        Some(TokenTree::Literal(_) | TokenTree::Group(_)) => true,
        Some(TokenTree::Punct(punct)) => is_and(punct) && punct.spacing() == Spacing::Joint,
        None => false,
    };
    !follows_other && !matches!(behind.first(), Some(TokenTree::Punct(it)) if is_and(it))
}

/// Returns the place of the `*` and the kind of a borrow, if these tokens after `&` begin with a
/// dereferenced pointer: `mut *p`, `(*p).field`.
fn borrowed_target(behind: &[TokenTree]) -> Option<(Span, Kind)> {
    let (target, kind) = match behind {
        [TokenTree::Ident(word), rest @ ..] if word == "mut" => (rest, Kind::BorrowMut),
        _ => (behind, Kind::Borrow),
    };
    match target {
        [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            dereferencing(&inner)
        }
        _ => dereferencing(target),
    }
    .map(|star| (star, kind))
}

/// Returns the span of the `*` at the start of the tokens. Returns `None` if the tokens do not
/// begin with a `*`, or if the `*` is part of a type (`*const T`).
fn dereferencing(tokens: &[TokenTree]) -> Option<Span> {
    match tokens {
        [TokenTree::Punct(_), TokenTree::Ident(word), ..] if word == "const" || word == "mut" => {
            None
        }
        [TokenTree::Punct(star), _, ..] if star.as_char() == '*' => Some(star.span()),
        _ => None,
    }
}

/// Returns the span of a method's name and the kind of a borrow, if these tokens after `.` begin
/// with a call of a method that may borrow memory.
fn called_method(behind: &[TokenTree]) -> Option<(Span, Kind)> {
    match behind {
        [TokenTree::Ident(name), TokenTree::Group(arguments), ..]
            if arguments.delimiter() == Delimiter::Parenthesis && arguments.stream().is_empty() =>
        {
            methods::named(&name.to_string()).map(|method| (name.span(), method.kind))
        }
        _ => None,
    }
}

fn name_of(invoked: &Macro) -> String {
    let name = invoked.path.segments.last();
    name.map_or_else(String::new, |name| name.ident.to_string())
}

fn is_keyword(word: &str) -> bool {
    [
        "return", "in", "if", "match", "while", "else", "mut", "break",
    ]
    .contains(&word)
}

fn first_expression(input: ParseStream) -> syn::Result<Expr> {
    let first = input.parse()?;
    let _: TokenStream = input.parse()?;
    Ok(first)
}
