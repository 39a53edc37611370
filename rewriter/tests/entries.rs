//! Statements at the start of named functions.

use rewriter::{EntrySplice, Request, rewrite};

fn splice(function: &str) -> EntrySplice<'_> {
    EntrySplice {
        function,
        line: None,
        statement: "ask();",
    }
}

const TEXT: &str = "
use std::fmt;
fn draw() -> u32 { 1 }
pub struct Random<T>(T);
impl<T> Random<T> { pub fn draw(&mut self) -> u32 { #![allow(unused)] self.next() } const fn new() -> u8 { 1 } }
impl fmt::Debug for &Random<u8> { fn fmt(&self) -> u32 { fn draw() {} 2 } }
mod inner { trait Source { fn draw(&self) -> u32 { 3 } fn other(&self); } fn draw() {} }
macro_rules! random { () => { fn draw() {} } }
";

fn spliced(functions: &[&str], marks: bool) -> (String, usize, Vec<String>) {
    let entries: Vec<_> = functions.iter().copied().map(splice).collect();
    let request = Request {
        marks,
        entries: &entries,
        ..Request::default()
    };
    let rewritten = rewrite(TEXT, &request).unwrap();
    let lines = rewritten.apply(TEXT);
    let changed: Vec<_> = lines
        .lines()
        .filter(|line| line.contains("ask();"))
        .collect();
    (
        changed.join("\n"),
        rewritten.entries,
        rewritten.missing_entries,
    )
}

#[test]
fn a_method_is_named_with_its_type() {
    let (changed, entries, missing) = spliced(&["Random::draw"], false);
    assert_eq!(
        changed,
        "impl<T> Random<T> { pub fn draw(&mut self) -> u32 { #![allow(unused)]ask(); self.next() } const fn new() -> u8 { 1 } }"
    );
    assert_eq!((entries, missing.len()), (1, 0));
}

#[test]
fn a_trait_names_its_default_methods_and_a_reference_is_named_as_its_type() {
    let (changed, entries, _) = spliced(&["Source::draw", "Random::fmt"], false);
    assert_eq!(
        changed,
        "impl fmt::Debug for &Random<u8> { fn fmt(&self) -> u32 {ask(); fn draw() {} 2 } }\n\
         mod inner { trait Source { fn draw(&self) -> u32 {ask(); 3 } fn other(&self); } fn draw() {} }"
    );
    assert_eq!(entries, 2);
}

#[test]
fn a_name_alone_is_that_of_each_free_function() {
    let (changed, entries, _) = spliced(&["draw"], false);
    assert_eq!(
        changed,
        "fn draw() -> u32 {ask(); 1 }\n\
         impl fmt::Debug for &Random<u8> { fn fmt(&self) -> u32 { fn draw() {ask();} 2 } }\n\
         mod inner { trait Source { fn draw(&self) -> u32 { 3 } fn other(&self); } fn draw() {ask();} }"
    );
    assert_eq!(entries, 3);
}

#[test]
fn absent_and_constant_functions_are_missing() {
    let (changed, entries, missing) = spliced(&["Random::new", "Other::draw", "Random"], true);
    assert_eq!((changed.as_str(), entries), ("", 0));
    assert_eq!(missing, ["Random::new", "Other::draw", "Random"]);
}

#[test]
fn the_mark_stands_before_the_statement() {
    let (changed, ..) = spliced(&["Random::draw"], true);
    assert!(
        changed.contains("{ #![allow(unused)]__chess_mark!();ask(); self.next() }"),
        "{changed}"
    );
}

#[test]
fn every_function_is_named_at_once_but_those_that_may_run_while_it_is_compiled() {
    let (changed, entries, missing) = spliced(&[EntrySplice::EVERY], false);
    assert_eq!(
        changed,
        "fn draw() -> u32 {ask(); 1 }\n\
         impl<T> Random<T> { pub fn draw(&mut self) -> u32 { #![allow(unused)]ask(); self.next() } const fn new() -> u8 { 1 } }\n\
         impl fmt::Debug for &Random<u8> { fn fmt(&self) -> u32 {ask(); fn draw() {ask();} 2 } }\n\
         mod inner { trait Source { fn draw(&self) -> u32 {ask(); 3 } fn other(&self); } fn draw() {ask();} }"
    );
    assert_eq!((entries, missing.len()), (6, 0));
    let request = Request {
        entries: &[splice(EntrySplice::EVERY)],
        ..Request::default()
    };
    let none = rewrite("struct Empty;", &request).unwrap();
    assert!(none.missing_entries.is_empty());
}
