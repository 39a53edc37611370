//! Signatures as text, extracted from HTML and normalised, so that different
//! spellings of the same signature are equal.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the text of a piece of HTML, with single spaces.
pub(crate) fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut pieces = html.split('<');
    text.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        let (tag, rest) = piece.split_once('>').unwrap_or((piece, ""));
        if tag.starts_with("div") || tag.starts_with("br") {
            text.push(' ');
        }
        text.push_str(rest);
    }
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", " ")
        .replace("&#39;", "'")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replace('ⓘ', "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the name in a signature: that of a method, or that of an implementation's trait.
pub(crate) fn name(normalised: &str) -> &str {
    let words: Vec<&str> = normalised.split(' ').collect();
    let marker = words
        .iter()
        .position(|word| *word == "fn" || *word == "impl");
    marker
        .and_then(|at| words.get(at + 1))
        .copied()
        .unwrap_or(normalised)
}

/// The parts of a signature. `head` is everything except generics and bounds.
pub(crate) struct Signature {
    head: Vec<String>,
    bounds: BTreeSet<Vec<String>>,
}

type Tokens = Vec<String>;

impl Signature {
    pub(crate) fn parse(code: &str) -> Signature {
        let code = code.replace("Sync + Send", "Send + Sync");
        let mut tokens = resolve_projections(drop_allocators(&tokenise(&code)));
        let mut bounds = BTreeSet::new();
        if let Some(at) = tokens.iter().position(|token| token == "where") {
            for predicate in split(&tokens.split_off(at)[1..], ",") {
                add_bounds(&predicate, &mut bounds);
            }
        }
        // Generics stand after `impl`, or after a function's name.
        let start = match tokens.iter().position(|token| token == "fn") {
            Some(at) => at + 2,
            None => 1,
        };
        if tokens.get(start).is_some_and(|token| token == "<") {
            let end = start + closing(&tokens[start..]);
            let generics: Tokens = tokens.drain(start..=end).collect();
            for parameter in split(&generics[1..generics.len() - 1], ",") {
                add_bounds(&parameter, &mut bounds);
            }
        }
        let mut signature = Signature {
            head: tokens,
            bounds,
        };
        if signature.head.contains(&"!".to_owned()) {
            // The compiler prints no bounds for a negative implementation.
            signature.bounds.clear();
        }
        signature
    }

    /// Returns the type of an inherent implementation.
    fn implementor(&self) -> &[String] {
        &self.head[1..]
    }

    /// Adds the bounds and the `Self` type of the implementation to a method.
    pub(crate) fn within(mut self, implementation: &Signature) -> Signature {
        let implementor = implementation.implementor();
        let mut head = implementor.to_vec();
        head.push("::".to_owned());
        head.extend(replace_self(&self.head, implementor));
        self.head = head;
        self.bounds = self
            .bounds
            .iter()
            .map(|bound| replace_self(bound, implementor))
            .collect();
        self.bounds.extend(implementation.bounds.iter().cloned());
        self
    }

    /// Whether this implements a trait named by `names` for a type.
    pub(crate) fn implements(&self, names: &[&str]) -> bool {
        let Some(at) = self.head.iter().position(|token| token == "for") else {
            return false;
        };
        self.head[..at]
            .iter()
            .any(|token| names.contains(&token.as_str()))
    }

    pub(crate) fn implements_a_trait(&self) -> bool {
        self.head.contains(&"for".to_owned())
    }

    /// Returns the same text for all equivalent signatures: lifetimes are named by their order.
    pub(crate) fn normalised(&self) -> String {
        let mut names = BTreeMap::new();
        let mut anonymous = 0;
        let mut rename = |token: &String| match token.as_str() {
            "'static" => token.clone(),
            "'_" => {
                anonymous += 1;
                format!("'{}", names.len() + anonymous)
            }
            lifetime if lifetime.starts_with('\'') => {
                let next = names.len() + anonymous + 1;
                format!("'{}", names.entry(lifetime.to_owned()).or_insert(next))
            }
            _ => token.clone(),
        };
        let mut text = self
            .head
            .iter()
            .map(&mut rename)
            .collect::<Tokens>()
            .join(" ");
        for (index, bound) in self.bounds.iter().enumerate() {
            text.push_str(if index == 0 { " where " } else { ", " });
            text.push_str(&bound.iter().map(&mut rename).collect::<Tokens>().join(" "));
        }
        text
    }
}

fn replace_self(tokens: &[String], implementor: &[String]) -> Tokens {
    let by_token = tokens.iter().map(|token| match token.as_str() {
        "Self" => implementor,
        _ => std::slice::from_ref(token),
    });
    by_token.flatten().cloned().collect()
}

fn tokenise(code: &str) -> Tokens {
    let mut tokens = Tokens::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            '\'' => 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("->") || rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let token = rest[..length].trim();
        let closes = [")", "]", ">"].contains(&token);
        if closes && tokens.last().is_some_and(|last| last == ",") {
            tokens.pop();
        }
        if !token.is_empty() {
            tokens.push(token.to_owned());
        }
        rest = &rest[length..];
    }
    tokens
}

/// Removes the allocator parameter, which stable code cannot name.
fn drop_allocators(tokens: &[String]) -> Tokens {
    let mut kept = Tokens::new();
    let mut at = 0;
    while at < tokens.len() {
        let argument = tokens[at] == "," && tokens.get(at + 1).is_some_and(|token| token == "A");
        let ends = |token: &String| token == "," || token == ">";
        if argument && tokens.get(at + 2).is_some_and(ends) {
            at += 2;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Writes `<T as Trait>::Name` as `T::Name`.
fn resolve_projections(mut tokens: Tokens) -> Tokens {
    while let Some(at) = tokens.iter().position(|token| token == "as") {
        let encloses = |open: &usize| tokens[*open] == "<" && open + closing(&tokens[*open..]) > at;
        let Some(open) = (0..at).rev().find(encloses) else {
            break;
        };
        let close = open + closing(&tokens[open..]);
        tokens.drain(at..=close);
        tokens.remove(open);
    }
    tokens
}

/// Returns the index of the bracket that closes the first one.
fn closing(tokens: &[String]) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "<" | "(" | "[" => depth += 1,
            ">" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    panic!("brackets do not close in {tokens:?}");
}

/// Returns the parts between separators that are not enclosed in brackets.
fn split(tokens: &[String], separator: &str) -> Vec<Tokens> {
    let mut parts = vec![Tokens::new()];
    let mut depth = 0i32;
    for token in tokens {
        match token.as_str() {
            "<" | "(" | "[" => depth += 1,
            ">" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && token == separator {
            parts.push(Tokens::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token.clone());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Adds each bound of `T: This + That` separately. The types of constants, and the bounds of
/// lifetimes and of the allocator, are not compared.
fn add_bounds(parameter: &[String], bounds: &mut BTreeSet<Tokens>) {
    let sides = split(parameter, ":");
    let [subject, bound] = sides.as_slice() else {
        return;
    };
    if subject[0].starts_with('\'') || subject[0] == "const" || *subject == ["A"] {
        return;
    }
    for bound in split(bound, "+") {
        let mut whole = subject.clone();
        whole.push(":".to_owned());
        whole.extend(bound);
        bounds.insert(whole);
    }
}

#[test]
fn two_ways_of_writing_a_signature_are_equal() {
    let same = [
        (
            "impl<T: ?Sized + Sync> Sync for Guard<'_, T>",
            "impl<'a, T> Sync for Guard<'a, T> where T: Sync + ?Sized,",
        ),
        (
            "impl<T, A: Allocator> Deref for Arc<T, A>",
            "impl<T> Deref for Arc<T>",
        ),
        (
            "impl<T> !Sync for Cell<T> where T: ?Sized,",
            "impl<T> !Sync for Cell<T>",
        ),
        (
            "fn f( &self, t: T, ) -> Option<T>",
            "fn f(&self, t: T) -> Option<T>",
        ),
        (
            "impl<B> From<<B as ToOwned>::Owned> for C<B>",
            "impl<B> From<B::Owned> for C<B>",
        ),
    ];
    for (one, other) in same {
        assert_eq!(
            Signature::parse(one).normalised(),
            Signature::parse(other).normalised()
        );
    }
    let different = [
        ("pub const fn new() -> T", "pub fn new() -> T"),
        ("impl<T: Send> Send for Cell<T>", "impl<T> Send for Cell<T>"),
        (
            "fn f<'a, 'b>(a: &'a T, b: &'b T) -> &'a T",
            "fn f<'a, 'b>(a: &'a T, b: &'b T) -> &'b T",
        ),
    ];
    for (one, other) in different {
        assert_ne!(
            Signature::parse(one).normalised(),
            Signature::parse(other).normalised()
        );
    }
}
