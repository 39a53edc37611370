//! Declarations of a package that change how accesses in any of its files are reported.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::source::{Source, SyntaxError};

/// The names of the mutable statics of a package and of the fields of its packed types.
///
/// They are searched in tokens, so that declarations in macros are found too.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Declarations {
    statics: BTreeSet<String>,
    packed: BTreeSet<String>,
}

impl Declarations {
    /// Adds the declarations of a file of the package.
    pub fn add(&mut self, text: &str) -> Result<(), SyntaxError> {
        if text.contains("static mut") || text.contains("packed") {
            self.scan(Source::new(text).tokens()?);
        }
        Ok(())
    }

    pub(crate) fn is_mutable_static(&self, name: &str) -> bool {
        self.statics.contains(name)
    }

    pub(crate) fn is_packed(&self, field: &str) -> bool {
        self.packed.contains(field)
    }

    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut is_packed = false;
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "static" => {
                    if let [TokenTree::Ident(mutable), TokenTree::Ident(name), ..] =
                        &tokens[index + 1..]
                        && mutable == "mut"
                    {
                        self.statics.insert(name.to_string());
                    }
                }
                TokenTree::Group(group) => {
                    match group.delimiter() {
                        Delimiter::Bracket => is_packed |= says_packed(group),
                        Delimiter::Brace | Delimiter::Parenthesis if is_packed => {
                            // `pub(crate)`, and `struct Name(..)`.
                            is_packed = names_visibility(&tokens[..index]);
                            if !is_packed {
                                self.add_fields(group);
                            }
                        }
                        _ => {}
                    }
                    self.scan(group.stream());
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => is_packed = false,
                _ => {}
            }
        }
    }

    fn add_fields(&mut self, fields: &Group) {
        let tokens: Vec<_> = fields.stream().into_iter().collect();
        if fields.delimiter() == Delimiter::Parenthesis {
            let commas = tokens.iter().filter(|token| is_punct(token, ','));
            let last = commas.count();
            self.packed
                .extend((0..=last).map(|index| index.to_string()));
        }
        for pair in tokens.windows(2) {
            if let [TokenTree::Ident(name), colon] = pair
                && is_punct(colon, ':')
            {
                self.packed.insert(name.to_string());
            }
        }
    }
}

fn says_packed(attribute: &Group) -> bool {
    let mut tokens = attribute.stream().into_iter();
    let is_repr = matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "repr" || name == "cfg_attr");
    is_repr && tokens.any(|token| has_word(&token, "packed"))
}

fn has_word(token: &TokenTree, word: &str) -> bool {
    match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => group.stream().into_iter().any(|it| has_word(&it, word)),
        _ => false,
    }
}

fn names_visibility(before: &[TokenTree]) -> bool {
    matches!(before.last(), Some(TokenTree::Ident(word)) if word == "pub")
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
