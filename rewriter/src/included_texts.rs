//! Source files that `include_str!` and `include_bytes!` insert as text.
//!
//! The compiler reads a changed copy of the sources. A test that reads its own source in this way
//! must see the original, so the path in the call becomes absolute.

use std::path::Path;

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

use crate::edit::Edit;
use crate::source::Source;

const MACROS: [&str; 2] = ["include_str", "include_bytes"];

/// Finds the relative paths of source files in calls of `include_str!` and `include_bytes!`, and
/// returns the insertions of the original file's `directory`. The compiler resolves a path in the
/// body of a `macro_rules!` by the file that calls the macro, so these bodies are left out.
pub(crate) fn find(source: &Source, directory: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let fits = |directory: &str| !directory.contains(['"', '\\', '\n']);
    if fits(directory)
        && MACROS.iter().any(|name| source.from(0).contains(name))
        && let Ok(tokens) = source.tokens()
    {
        visit(source, tokens, directory, &mut edits);
    }
    edits
}

fn visit(source: &Source, tokens: TokenStream, directory: &str, edits: &mut Vec<Edit>) {
    // The last two tokens before a group: the name of a macro, and `!`.
    let mut before: [Option<TokenTree>; 2] = [None, None];
    let mut is_definition = false;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            let is_called = matches!(
                &before,
                [Some(TokenTree::Ident(name)), Some(TokenTree::Punct(mark))]
                    if mark.as_char() == '!' && MACROS.iter().any(|it| name == it)
            );
            if is_called && let Some(path) = only_literal(group.stream()) {
                edits.extend(edit(source, &path, directory));
            } else if !is_definition {
                visit(source, group.stream(), directory, edits);
            }
            // A definition ends with a group in braces, or with a semicolon.
            is_definition &= group.delimiter() != Delimiter::Brace;
        }
        match &token {
            TokenTree::Ident(name) if name == "macro_rules" || name == "macro" => {
                is_definition = true;
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_definition = false,
            _ => {}
        }
        before = [before[1].take(), Some(token)];
    }
}

/// The insertion at the start of a path, if it is the relative path of a source file.
fn edit(source: &Source, path: &Literal, directory: &str) -> Option<Edit> {
    let start = source.start_of(path.span());
    let text = source.between(start, source.end_of(path.span()));
    let quote = text.find('"')?;
    let name = text[quote + 1..].trim_end_matches('#').strip_suffix('"')?;
    let is_text = text.starts_with(['"', 'r']);
    let path = Path::new(name);
    let is_source = path.extension().is_some_and(|it| it == "rs") && path.is_relative();
    (is_text && is_source).then(|| Edit {
        at: start + quote + 1,
        text: format!("{directory}/").into(),
        site: None,
    })
}

/// The only token, if it is a literal. A comma may follow it.
fn only_literal(tokens: TokenStream) -> Option<Literal> {
    let mut tokens = tokens.into_iter();
    let TokenTree::Literal(literal) = tokens.next()? else {
        return None;
    };
    let is_comma = |token: TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ',');
    (tokens.next().is_none_or(is_comma) && tokens.next().is_none()).then_some(literal)
}
