//! Conversion of tokens of edition 2015 to a later edition, with the same spans.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// Words that are names in edition 2015, and keywords since then.
const KEYWORDS_OF_2018: &[&str] = &["async", "await", "try"];

/// Traits whose trait objects may lack `dyn` in editions 2015 and 2018.
const CALLABLE: &[&str] = &["Fn", "FnMut", "FnOnce"];

/// Returns the tokens with raw identifiers for names that are keywords today, and with `dyn` before
/// trait objects.
///
/// Used for files that do not parse in the newest edition. Finds only the trait objects of the
/// traits in [`CALLABLE`], and those with the bound `Send`, `Sync` or a lifetime.
pub(crate) fn modernize(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut modern = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(ident) => {
                let follows = index.checked_sub(1).map(|before| &tokens[before]);
                if !follows.is_some_and(begins_bounds) && is_object(&tokens[index..]) {
                    modern.push(Ident::new("dyn", ident.span()).into());
                }
                modern.push(unkeyword(ident).into());
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), modernize(group.stream()));
                inner.set_span(group.span());
                modern.push(inner.into());
            }
            token => modern.push(token.clone()),
        }
    }
    modern.into_iter().collect()
}

fn unkeyword(ident: &Ident) -> Ident {
    if KEYWORDS_OF_2018.iter().any(|word| ident == word) {
        Ident::new_raw(&ident.to_string(), ident.span())
    } else {
        ident.clone()
    }
}

/// Whether the token after `token` belongs to a bound or to the rest of a path, so that it must not
/// get a `dyn`.
fn begins_bounds(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => matches!(punct.as_char(), ':' | '+' | '>' | '?'),
        TokenTree::Ident(ident) => ident == "dyn" || ident == "impl",
        _ => false,
    }
}

/// Whether these tokens begin with a trait object: `Fn(...)`, `path + Send`, `path + 'static`.
fn is_object(tokens: &[TokenTree]) -> bool {
    let mut rest = tokens;
    while let [TokenTree::Ident(_), colon, other, after @ ..] = rest {
        if !(is_punct(colon, ':') && is_punct(other, ':')) {
            break;
        }
        rest = after;
    }
    match rest {
        [TokenTree::Ident(name), TokenTree::Group(arguments), ..] => {
            arguments.delimiter() == Delimiter::Parenthesis
                && CALLABLE.iter().any(|callable| name == callable)
        }
        [TokenTree::Ident(_), plus, bound, ..] if is_punct(plus, '+') => {
            is_punct(bound, '\'')
                || matches!(bound, TokenTree::Ident(bound) if bound == "Send" || bound == "Sync")
        }
        _ => false,
    }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
