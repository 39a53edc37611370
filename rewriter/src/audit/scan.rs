//! Imports and paths, found in tokens, so that the arguments of macros are included.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::{ItemUse, UseTree};

use super::{Reach, meaning};
use crate::source::Source;

/// The crates that the build replaces by facades.
const ROOTS: &[&str] = &["std", "core", "alloc"];

/// Lists the controlled items that tokens refer to.
pub(super) fn scan(source: &Source, tokens: TokenStream) -> Vec<Reach> {
    let mut scanner = Scanner {
        source,
        found: Vec::new(),
    };
    scanner.tokens(tokens, Scope::default());
    scanner.found
}

/// The names of crates and of imported modules that are in scope, with their full paths.
#[derive(Clone, Default)]
struct Scope {
    names: BTreeMap<String, Vec<String>>,
}

impl Scope {
    fn of_crate() -> Self {
        let roots = ROOTS.iter().map(|root| {
            let root = (*root).to_owned();
            (root.clone(), vec![root])
        });
        Self {
            names: roots.collect(),
        }
    }
}

struct Scanner<'s> {
    source: &'s Source<'s>,
    found: Vec<Reach>,
}

impl Scanner<'_> {
    /// Visits the tokens of a file, a module or another group. The names in `outer` are in scope
    /// before the first import of the tokens.
    fn tokens(&mut self, tokens: TokenStream, outer: Scope) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut scope = if outer.names.is_empty() {
            Scope::of_crate()
        } else {
            outer
        };
        // Imports and modules are in scope before their declaration, too.
        for index in 0..tokens.len() {
            match &tokens[index..] {
                [TokenTree::Ident(word), ..] if word == "use" => {
                    self.import(&tokens[index..], &mut scope);
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), ..] if word == "mod" => {
                    scope.names.remove(&name.to_string());
                }
                _ => {}
            }
        }
        let mut index = 0;
        while index < tokens.len() {
            index += self.token(&tokens, index, &scope);
        }
    }

    /// Visits the group, import, path or single token that begins at `index`, and returns the
    /// number of its tokens.
    fn token(&mut self, tokens: &[TokenTree], index: usize, scope: &Scope) -> usize {
        match &tokens[index] {
            TokenTree::Group(group) => {
                let is_module = matches!(
                    tokens[..index],
                    [.., TokenTree::Ident(ref word), TokenTree::Ident(_)] if word == "mod"
                ) && group.delimiter() == Delimiter::Brace;
                let scope = if is_module {
                    Scope::of_crate()
                } else {
                    scope.clone()
                };
                self.tokens(group.stream(), scope);
                1
            }
            TokenTree::Ident(word) if word == "use" => length_of_import(&tokens[index..]),
            TokenTree::Ident(name) if !is_keyword(name) && begins_path(&tokens[..index]) => {
                let segments = path(&tokens[index..]);
                let length = 3 * segments.len() - 2;
                let is_macro = matches!(tokens.get(index + 1), Some(it) if is_punct(it, '!'));
                if segments.len() > 1 {
                    self.path(&segments, scope);
                } else if is_macro && *name == "thread_local" {
                    self.reach(&["std", "thread_local"], name.span(), false);
                }
                length
            }
            _ => 1,
        }
    }

    fn path(&mut self, segments: &[&Ident], scope: &Scope) {
        let first = segments[0].to_string();
        let Some(start) = scope.names.get(&first) else {
            return;
        };
        let rest = segments[1..].iter().map(ToString::to_string);
        let path: Vec<_> = start.iter().cloned().chain(rest).collect();
        let path: Vec<_> = path.iter().map(String::as_str).collect();
        // A part of an item, as in `Ordering::SeqCst` and `Instant::now`, has the meaning of the
        // item.
        self.reach(&path, segments[segments.len() - 1].span(), false);
    }

    /// Adds a path, if it refers to an item under control.
    fn reach(&mut self, path: &[&str], at: Span, is_import: bool) {
        if path.len() < 2 {
            return;
        }
        if let Some(meaning) = meaning::of(&path[1..]) {
            let start = at.start();
            self.found.push(Reach {
                line: self.source.line_of(start),
                column: start.column + 1,
                path: path.join("::"),
                is_import,
                meaning,
            });
        }
    }

    fn import(&mut self, tokens: &[TokenTree], scope: &mut Scope) {
        let tokens = tokens[..length_of_import(tokens)].iter().cloned();
        if let Ok(item) = syn::parse2::<ItemUse>(tokens.collect()) {
            self.tree(&item.tree, &mut Vec::new(), scope);
        }
    }

    fn tree(&mut self, tree: &UseTree, before: &mut Vec<String>, scope: &mut Scope) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before, scope);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before, scope);
                }
            }
            UseTree::Name(name) => self.leaf(&name.ident, None, before, scope),
            UseTree::Rename(rename) => {
                self.leaf(&rename.ident, Some(&rename.rename), before, scope);
            }
            UseTree::Glob(glob) => {
                let mut path: Vec<_> = before.iter().map(String::as_str).collect();
                path.push("*");
                if ROOTS.contains(&path[0]) {
                    self.reach(&path, glob.star_token.span, true);
                }
            }
        }
    }

    fn leaf(
        &mut self,
        name: &Ident,
        known_as: Option<&Ident>,
        before: &[String],
        scope: &mut Scope,
    ) {
        let mut path = before.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let Some(last) = path.last() else { return };
        let known_as = known_as.map_or_else(|| last.clone(), ToString::to_string);
        if !ROOTS.contains(&path[0].as_str()) {
            // `use crate::sync::thread` imports another module.
            scope.names.remove(&known_as);
            return;
        }
        let names: Vec<_> = path.iter().map(String::as_str).collect();
        if names.len() == 1 || meaning::is_module(&names[1..]) {
            scope.names.insert(known_as, path.clone());
        }
        self.reach(&names, name.span(), true);
    }
}

/// Whether a path may begin directly after the tokens `before`.
fn begins_path(before: &[TokenTree]) -> bool {
    match before {
        [.., last, colon, other] if is_punct(colon, ':') && is_punct(other, ':') => match last {
            // True for `return ::std::..`, but not for `a::b`.
            TokenTree::Ident(word) => is_keyword(word),
            TokenTree::Punct(punct) => punct.as_char() != '>',
            TokenTree::Group(_) | TokenTree::Literal(_) => true,
        },
        [.., last] => !is_punct(last, '.') && !is_punct(last, '$') && !is_punct(last, '\''),
        [] => true,
    }
}

fn is_keyword(word: &Ident) -> bool {
    [
        "as", "break", "const", "dyn", "else", "for", "if", "impl", "in", "let", "match", "move",
        "mut", "ref", "return", "unsafe", "where",
    ]
    .iter()
    .any(|keyword| word == keyword)
}

/// Returns the names of the path at the start of the tokens.
fn path(tokens: &[TokenTree]) -> Vec<&Ident> {
    let mut segments = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(name), after @ ..] = rest {
        segments.push(name);
        match after {
            [colon, other, after @ ..] if is_punct(colon, ':') && is_punct(other, ':') => {
                rest = after;
            }
            _ => break,
        }
    }
    segments
}

/// Returns the number of tokens of the `use` declaration at the start of the tokens, with its
/// semicolon. Returns 1 if there is no semicolon.
fn length_of_import(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| is_punct(token, ';'));
    end.map_or(1, |end| end + 1)
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
