//! The expression that a call acts on, found by the line and column of the call.
//!
//! The search uses tokens only, so it also works in the arguments of macros. For a call of a
//! method, the expression is the receiver, to the left of the method's name. For a call of a type's
//! function, it is the first argument.

use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};

use crate::source::{Source, SyntaxError};

/// The length of the longest expression that is used as a name, in characters. Longer expressions
/// are shortened.
const LONGEST: usize = 28;

/// Methods whose result means the same as the receiver for a reader. Calls of these methods are
/// left out at the end of a name.
const TRANSPARENT: &[&str] = &[
    "as_mut", "as_ref", "await", "borrow", "by_ref", "clone", "deref", "expect", "unwrap",
];

/// The tokens of a file, in which the expressions that calls act on are found.
pub struct Subjects(Vec<Token>);

struct Token {
    /// The line, from 1, and the column, from 1.
    at: (usize, usize),
    kind: Kind,
    text: String,
    /// For a bracket: the index of the matching bracket.
    partner: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open,
    Close,
    Word,
    Number,
    Sign,
    Other,
}

impl Subjects {
    /// Returns the tokens of a file's text.
    pub fn of(text: &str) -> Result<Self, SyntaxError> {
        let mut tokens = Vec::new();
        flatten(Source::new(text).tokens()?, &mut tokens);
        Ok(Self(tokens))
    }

    /// Returns the expression that the call at a line and a column, both from 1, acts on:
    /// `self.head` for `self.head.load(..)` and `AtomicU32::load(&self.head, ..)`. A long path is
    /// shortened to its last fields. Returns `None` if there is no such call, if the expression is
    /// not a path of fields, calls and indices, or if its path is too long and does not end in a
    /// field.
    pub fn at(&self, line: u32, column: u32) -> Option<String> {
        let at = (line as usize, column as usize);
        let call = self.0.iter().position(|it| it.at == at)?;
        if self.0[call].kind != Kind::Word {
            return None;
        }
        let (start, end) = if call > 1 && self.is(call - 1, ".") {
            (self.start_of(call - 1)?, call - 1)
        } else {
            self.first_argument(call)?
        };
        self.name(start, self.without_transparent(start, end))
    }

    fn is(&self, place: usize, text: &str) -> bool {
        self.0.get(place).is_some_and(|it| it.text == text)
    }

    /// Returns the start of the path of fields, calls and indices that ends before `end`.
    fn start_of(&self, end: usize) -> Option<usize> {
        let mut start = end;
        loop {
            let token = &self.0[start.checked_sub(1)?];
            match token.kind {
                Kind::Close if token.text != "}" => {
                    start = token.partner;
                    // The called or indexed expression stands before the bracket.
                    let before = start.checked_sub(1).map(|it| &self.0[it]);
                    let continues = before.is_some_and(|it| {
                        matches!(it.kind, Kind::Word | Kind::Close) && !is_keyword(&it.text)
                            || it.text == "?"
                    });
                    if continues {
                        continue;
                    }
                    return Some(start);
                }
                Kind::Sign if token.text == "?" => {
                    start -= 1;
                    continue;
                }
                Kind::Word | Kind::Number => start -= 1,
                _ => return None,
            }
            if start > 0 && self.is(start - 1, ".") {
                start -= 1;
            } else if start > 1 && self.is(start - 1, ":") && self.is(start - 2, ":") {
                start -= 2;
            } else {
                return Some(start);
            }
        }
    }

    /// Returns the first argument of a call of a type's function, such as `Arc::clone(&x)`.
    fn first_argument(&self, call: usize) -> Option<(usize, usize)> {
        let mut path = vec![call];
        let mut next = call + 1;
        while self.is(next, ":") && self.is(next + 1, ":") {
            path.push(next + 2);
            next += 3;
        }
        let [.., owner, _] = path[..] else {
            return None;
        };
        let is_type = self.0[owner].text.starts_with(char::is_uppercase);
        if !is_type || !self.is(next, "(") {
            return None;
        }
        let close = self.0[next].partner;
        let mut start = next + 1;
        while self.is(start, "&") || self.is(start, "*") || self.is(start, "mut") {
            start += 1;
        }
        let mut end = start;
        while end < close && !self.is(end, ",") {
            end = match self.0[end].kind {
                Kind::Open => self.0[end].partner + 1,
                _ => end + 1,
            };
        }
        let is_path = end > start && self.start_of(end) == Some(start);
        is_path.then_some((start, end))
    }

    /// Returns the end of the expression without calls such as `.unwrap()` at its end.
    fn without_transparent(&self, start: usize, mut end: usize) -> usize {
        loop {
            let last = &self.0[end - 1];
            if last.text == "?" && end - 1 > start {
                end -= 1;
                continue;
            }
            let before = if last.text == ")" { last.partner } else { end };
            let is_transparent = before > start + 2
                && self.is(before - 2, ".")
                && TRANSPARENT.contains(&self.0[before - 1].text.as_str());
            if !is_transparent {
                return end;
            }
            end = before - 2;
        }
    }

    /// Returns the text of a range of tokens, if it can serve as a name.
    fn name(&self, start: usize, end: usize) -> Option<String> {
        // Parentheses around the whole expression are left out.
        if self.is(start, "(") && self.0[start].partner + 1 == end {
            let mut start = start + 1;
            while self.is(start, "&") || self.is(start, "*") {
                start += 1;
            }
            let is_path = start < end - 1 && self.start_of(end - 1) == Some(start);
            return is_path.then(|| self.name(start, end - 1)).flatten();
        }
        let first = self.0.get(start)?;
        let is_path = first.kind == Kind::Word && !is_keyword(&first.text);
        let text: String = self.0[start..end].iter().map(|it| &*it.text).collect();
        let fits = is_path && text != "self" && text != "Self";
        if fits && text.chars().count() <= LONGEST {
            return Some(text);
        }
        // A long path is reduced to as many of its last fields as fit.
        let (mut fields, mut length) = (end, 0);
        while fits
            && fields >= start + 2
            && self.0[fields - 1].kind == Kind::Word
            && self.is(fields - 2, ".")
        {
            length += self.0[fields - 1].text.chars().count() + 1;
            if length > LONGEST + 1 {
                break;
            }
            fields -= 2;
        }
        let text: String = self.0[fields..end].iter().map(|it| &*it.text).collect();
        let text = text.trim_start_matches('.');
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn is_keyword(word: &str) -> bool {
    let keywords = [
        "break", "else", "if", "in", "let", "match", "move", "mut", "ref", "return", "unsafe",
        "while", "yield",
    ];
    keywords.contains(&word)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let token = |span: Span, kind, text: String| {
        let LineColumn { line, column } = span.start();
        Token {
            at: (line, column + 1),
            kind,
            text,
            partner: 0,
        }
    };
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let Some((open, close)) = brackets(&group) else {
                    flatten(group.stream(), tokens);
                    continue;
                };
                let first = tokens.len();
                tokens.push(token(group.span_open(), Kind::Open, open.to_owned()));
                flatten(group.stream(), tokens);
                let last = tokens.len();
                tokens[first].partner = last;
                let mut close = token(group.span_close(), Kind::Close, close.to_owned());
                close.partner = first;
                tokens.push(close);
            }
            TokenTree::Ident(it) => tokens.push(token(it.span(), Kind::Word, it.to_string())),
            TokenTree::Punct(it) => {
                tokens.push(token(it.span(), Kind::Sign, it.as_char().to_string()));
            }
            TokenTree::Literal(it) => {
                let text = it.to_string();
                let is_number = text.starts_with(|c: char| c.is_ascii_digit());
                let kind = if is_number { Kind::Number } else { Kind::Other };
                tokens.push(token(it.span(), kind, text));
            }
        }
    }
}

fn brackets(group: &Group) -> Option<(&'static str, &'static str)> {
    match group.delimiter() {
        Delimiter::Parenthesis => Some(("(", ")")),
        Delimiter::Bracket => Some(("[", "]")),
        Delimiter::Brace => Some(("{", "}")),
        Delimiter::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the subject of the call whose name follows `#` in `line`.
    fn subject(line: &str) -> Option<String> {
        let column = u32::try_from(line.find('#').expect("a mark") + 1).expect("a short line");
        let text = line.replacen('#', "", 1);
        Subjects::of(&text).expect("tokens").at(1, column)
    }

    #[test]
    fn of_a_method_it_is_the_receiver() {
        for (line, expected) in [
            ("stock.#lock().unwrap();", "stock"),
            ("let n = self.head.#load(SeqCst);", "self.head"),
            ("return *slot.state.#lock()", "slot.state"),
            ("COUNT.#fetch_add(1, Relaxed);", "COUNT"),
            ("crate::COUNT.#fetch_add(1, Relaxed);", "crate::COUNT"),
            ("self.0.#lock()", "self.0"),
            ("self.slots[i + 1].state.#store(1)", "self.slots[i+1].state"),
            ("a.lock().unwrap().next.#lock()", "a.lock().unwrap().next"),
            ("self.inner.as_ref().unwrap().#lock()", "self.inner"),
            ("tx.clone().#send(1)", "tx"),
            ("(*self.flag).#load(Relaxed)", "self.flag"),
            ("if stock.#lock().is_ok() {}", "stock"),
            ("assert_eq!(shared.left.#load(SeqCst), 1);", "shared.left"),
            ("pool.get(3)?.#lock()", "pool.get(3)"),
            (
                "self.quite_long_name_of_a_thing.and_another.#lock()",
                "and_another",
            ),
        ] {
            assert_eq!(subject(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn of_a_function_of_a_type_it_is_the_first_argument() {
        for (line, expected) in [
            ("let m = #Arc::clone(&self.map);", Some("self.map")),
            ("#std::sync::Mutex::lock(&m)", Some("m")),
            ("#AtomicU32::load(&COUNT, Relaxed)", Some("COUNT")),
            ("#Arc::clone(&(a + b))", None),
            ("#drop(guard)", None),
            ("#thread::spawn(worker)", None),
        ] {
            assert_eq!(subject(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn hidden_text_has_no_subject() {
        for line in [
            "#lock_all!(a, b);",
            "self.#lock()",
            "{ a }.#lock()",
            "#x + 1",
            "Vec::<u8>::new().#len()",
        ] {
            assert_eq!(subject(line), None, "{line}");
        }
        assert!(Subjects::of("fn f(").is_err());
    }
}
