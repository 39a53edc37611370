//! The arguments of calls that reserve memory.

use rewriter::{Borrows, MARK, MutableStatics, Request, rewrite};

#[track_caller]
fn rewritten(text: &str) -> String {
    let request = Request {
        marks: true,
        ..Request::default()
    };
    rewrite(text, &request)
        .unwrap()
        .apply(text)
        .replace(MARK, "")
}

#[test]
fn the_argument_of_a_reservation_is_given_to_the_engine() {
    assert_eq!(
        rewritten("fn f() { v.try_reserve(n + 1)?; }"),
        "fn f() { v.try_reserve(__chess::reserve(n + 1))?; }"
    );
    assert_eq!(
        rewritten("fn f() { g(v.try_reserve_exact(n)); }"),
        "fn f() { g(v.try_reserve_exact(__chess::reserve(n))); }"
    );
}

#[test]
fn calls_with_another_number_of_arguments_and_constants_stay() {
    for text in [
        "fn f() { sender.try_reserve(); }",
        "fn f() { v.try_reserve(1, 2); }",
        "const fn f() { v.try_reserve(1); }",
        "const A: usize = v.try_reserve(1);",
        "fn f() { m!(v.try_reserve(1)); }",
    ] {
        assert_eq!(rewritten(text), text);
    }
}

#[test]
fn a_borrow_in_the_argument_stays_inside() {
    let text = "fn f() { unsafe { v.try_reserve((*p).len()) }; }";
    let request = Request {
        marks: true,
        borrows: Some(Borrows {
            statics: &MutableStatics::default(),
            without: &[],
        }),
        ..Request::default()
    };
    let rewritten = rewrite(text, &request).unwrap().apply(text);
    let (before, _) = rewritten.split_once("__chess::reserve(").unwrap();
    assert!(before.ends_with("v.try_reserve("), "{rewritten}");
    syn::parse_file(&rewritten).unwrap();
}
