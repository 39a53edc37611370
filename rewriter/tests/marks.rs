//! The positions of marks. `·` stands for a mark.

use std::fs;
use std::path::Path;

use rewriter::{MARK, Request, Rewrite, SyntaxError, module_lines, rewrite};

fn try_marked(text: &str) -> Result<String, SyntaxError> {
    let request = Request {
        marks: true,
        ..Request::default()
    };
    let rewritten = rewrite(text, &request)?;
    let marked = rewritten.apply(text);
    assert_eq!(marked.matches(MARK).count(), rewritten.marks);
    assert_eq!(marked.lines().count(), text.lines().count());
    assert!(rewritten.edits.is_sorted_by_key(|edit| edit.at));
    Ok(marked.replace(MARK, "·"))
}

#[track_caller]
fn marked(text: &str) -> String {
    try_marked(text).unwrap()
}

/// Returns the body of a function with its marks.
#[track_caller]
fn body(statements: &str) -> String {
    let whole = marked(&format!("fn f() {{{statements}}}"));
    let inner = whole.strip_prefix("fn f() {").unwrap();
    inner.strip_suffix('}').unwrap().to_owned()
}

#[track_caller]
fn unmarked(text: &str) {
    assert_eq!(marked(text), text);
}

#[test]
fn whole_programs() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    for name in ["temporaries", "control", "futures", "names"] {
        let text = fs::read_to_string(programs.join(name).with_extension("rs")).unwrap();
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(name, marked(&text));
        });
    }
}

#[test]
fn a_mark_stands_before_each_statement_that_may_call() {
    assert_eq!(body(" a(); b(); "), "· a();· b(); ");
    assert_eq!(body(" a(); b() "), "· a();· b() ");
    assert_eq!(body(" let x; a(); x = y; "), "· let x;· a();· x = y;· ");
    assert_eq!(body(" a(); m!(); m! {} "), "· a();· m!();· m! {} ");
    assert_eq!(
        body(" x + y; *x; x[0]; x.y; -x; "),
        "· x + y;· *x;· x[0];· x.y;· -x; "
    );
    assert_eq!(
        body(" a(); x?; x.await; &x.y "),
        "· a();· x?;· x.await;· &x.y "
    );
    assert_eq!(body(" a(); return; "), "· a();· return; ");
}

#[test]
fn statements_that_cannot_call_are_not_marked() {
    assert_eq!(
        body(" a(); 1; fn g() {} ; use x::y; "),
        "· a(); 1; fn g() {} ; use x::y; "
    );
    assert_eq!(
        body(" a(); let x = y; let z = (1, x); "),
        "· a(); let x = y; let z = (1, x);· "
    );
    assert_eq!(
        body(" a(); let x = Some((y, self.z)); x "),
        "· a(); let x = Some((y, self.z)); x "
    );
    assert_eq!(
        body(" a(); let c = |x| x; let f = async {}; "),
        "· a(); let c = |x| x; let f = async {};· "
    );
    unmarked(
        "impl X { fn len(&self) -> usize { self.len } fn unit(&self) {} fn one() -> u8 { 1 } }",
    );
}

#[test]
fn a_variable_that_is_dropped_alone_may_call() {
    assert_eq!(body(" a(); guard; "), "· a();· guard; ");
}

#[test]
fn comments_stay_behind_the_mark() {
    assert_eq!(
        body("\n    a(); // one; two\n    /* three */ b(); /* four */\n\n    // five\n    c()\n"),
        "·\n    a();· // one; two\n    /* three */ b();· /* four */\n\n    // five\n    c()\n"
    );
}

#[test]
fn a_statement_keeps_its_attributes_and_its_documentation() {
    assert_eq!(
        body(
            " a(); #[cfg(x)] let y = b(); /// Doc\n #[allow(unused)] { c(); } #[rustfmt::skip] d() "
        ),
        "· a();· #[cfg(x)] let y = b(); /// Doc\n #[allow(unused)] {· c(); } #[rustfmt::skip] d() "
    );
}

#[test]
fn no_mark_is_after_an_expression_that_cfg_may_make_the_value() {
    assert_eq!(
        body(" a(); #[cfg(x)] { b() } #[cfg(not(x))] c() "),
        "· a(); #[cfg(x)] {· b() } #[cfg(not(x))] c() "
    );
    assert_eq!(
        body(" #[cfg(x)] if a() { b } else { c } #[cfg(y)] m! {} #[cfg(z)] /* # */ return d(); "),
        "· #[cfg(x)] if a() { b } else { c } #[cfg(y)] m! {} #[cfg(z)] /* # */ return d(); "
    );
    assert_eq!(
        body(" { a() } #[cfg(x)] b(); c() "),
        "· {· a() }· #[cfg(x)] b();· c() "
    );
}

#[test]
fn inner_attributes_come_first() {
    assert_eq!(body(" #![allow(unused)] a() "), " #![allow(unused)]· a() ");
    assert_eq!(body(" /*! doc */ a() "), " /*! doc */· a() ");
    assert_eq!(body(" //! doc\n a() "), " //! doc\n ·a() ");
    assert_eq!(
        body(" { #![allow(unused)] a() } match x { #![allow(unused)] _ => {} } "),
        "· { #![allow(unused)]· a() } match x { #![allow(unused)] _ => {} } "
    );
}

#[test]
fn each_turn_of_a_loop_begins_and_ends_with_a_mark() {
    assert_eq!(body(" while a() { b(); } "), "· while a() {· b();· } ");
    assert_eq!(body(" while a() {} "), "· while a() {·} ");
    assert_eq!(
        body(" for x in y { if x { b() } } "),
        "· for x in y {· if x {· b() }· } "
    );
    assert_eq!(body(" for x in y { m!() } "), "· for x in y {· m!();· } ");
    assert_eq!(body(" for x in y { m! {} } "), "· for x in y {· m! {}· } ");
    assert_eq!(
        body(" 'l: loop { a(); break 'l } "),
        "· 'l: loop {· a();· break 'l } "
    );
    assert_eq!(body(" loop { x } "), "· loop {· x } ");
}

#[test]
fn the_unit_that_ends_a_turn_becomes_a_statement_of_unit_type() {
    assert_eq!(
        body(" for x in y {\n b(x)\n } "),
        "· for x in y {·let () = \n b(x);·\n } "
    );
    assert_eq!(
        body(" while a() { b(); c() } "),
        "· while a() {· b();·let () =  c();· } "
    );
    assert_eq!(
        body(" while a() { #[cfg(x)] c() } "),
        "· while a() {· #[cfg(x)] c() } "
    );
}

#[test]
fn a_value_with_variables_beside_it_stays_one() {
    assert_eq!(
        body(" while a() { let x = b(); x.c() } "),
        "· while a() {· let x = b();· x.c() } "
    );
    assert_eq!(
        body(" for x in y { let z = x; if let _ = z.a() {} } "),
        "· for x in y {· let z = x;· if let _ = z.a() {} } "
    );
}

#[test]
fn variables_are_dropped_in_a_step_of_their_own() {
    assert_eq!(body(" let x = a(); b(); "), "· let x = a();· b();· ");
    assert_eq!(body(" { let x = a(); } b() "), "· {· let x = a();· }· b() ");
    assert_eq!(
        body(" let x = a(); if x { b(); } "),
        "· let x = a(); if x {· b(); }· "
    );
    assert_eq!(
        body(" let x = a(); while x.b() {} "),
        "· let x = a();· while x.b() {·}· "
    );
    assert_eq!(
        body(" let x = a(); if x && let Some(_) = y.b() {} "),
        "· let x = a();· if x && let Some(_) = y.b() {} "
    );
    assert_eq!(body(" let x = a(); return; "), "· let x = a();· return; ");
}

#[test]
fn values_of_closures_arms_and_branches_begin_with_a_mark() {
    assert_eq!(body(" let c = |x| a(x); "), "· let c = |x|{· a(x)};· ");
    assert_eq!(
        body(" let c = move || |x| x.y(); "),
        "· let c = move || |x|{· x.y()};· "
    );
    assert_eq!(
        body(" let c = |x| -> u8 { a(); b(x) }; "),
        "· let c = |x| -> u8 {· a();· b(x) };· "
    );
    assert_eq!(
        body(" let c = || async { a().await }; "),
        "· let c = || async {· a().await };· "
    );
    assert_eq!(
        body(" let c = |x: &dyn Fn(u8) -> u8| x(1) as Vec<u8>; "),
        "· let c = |x: &dyn Fn(u8) -> u8|{· x(1) as Vec<u8>};· "
    );
    assert_eq!(
        body(
            " match x { 1 => a(), 2 => return, 3 => { b() } 4 => if c() {} 5 => (), _ => break y(), } "
        ),
        "· match x { 1 =>{· a()}, 2 =>{· return}, 3 => {· b() } 4 =>{· if c() {}} 5 => (), _ =>{· break y()}, } "
    );
    assert_eq!(
        body(" match x { 1 if a() => b(), // c\n _ => m! {}\n // d\n } "),
        "· match x { 1 if a() =>{· b()}, // c\n _ =>{· m! {}}\n // d\n } "
    );
    assert_eq!(
        body(" if a() {} else if b() { c() } else { d() } "),
        "· if a() {} else{· if b() {· c() } else {· d() }} "
    );
    assert_eq!(body(" if x {} else if y {} "), "· if x {} else if y {} ");
    assert_eq!(
        body(" let Some(x) = a() else { return b() }; "),
        "· let Some(x) = a() else {· return b() };· "
    );
}

#[test]
fn a_value_that_a_statement_would_cut_off_is_left_alone() {
    for value in [
        "{ x } & y",
        "match x { _ => 1 } + a()",
        // The compiler rejects the next two values. A mark would change its message.
        "let x = a()",
        "let x = a() && b()",
        "if x { 1 } else { 2 } as u8 + a()",
        "unsafe { x } == a()",
        "m! {}.y() - a()",
    ] {
        assert_eq!(
            body(&format!(" f(|x| {value}) ")),
            format!("· f(|x| {value}) ")
        );
    }
    assert_eq!(body(" f(|x| m! {}) "), "· f(|x|{· m! {}}) ");
}

#[test]
fn blocks_of_all_kinds_are_marked() {
    assert_eq!(
        body(" unsafe { a(); } async move { b() }; 'l: { c() } let x = { d(); e }; "),
        "· unsafe {· a(); } async move {· b() }; 'l: {· c() } let x = {· d(); e };· "
    );
}

#[test]
fn functions_of_all_kinds_are_marked() {
    assert_eq!(
        marked(
            "mod m { pub async fn f() { a() } } trait T { fn g() { b() } fn h(); } impl T for X { unsafe extern \"C\" fn g() { fn i() { c() } } }"
        ),
        "mod m { pub async fn f() {· a() } } trait T { fn g() {· b() } fn h(); } impl T for X { unsafe extern \"C\" fn g() {· fn i() {· c() } } }"
    );
}

#[test]
fn constant_expressions_are_not_marked() {
    unmarked("const fn f() -> u8 { a(); loop { b(); } }");
    unmarked(
        "impl X { const fn f(&self) -> u8 { if a() { b() } else if c() { d() } else { e() } } }",
    );
    unmarked("const X: u8 = { a(); b() }; static Y: [u8; { a(); 1 }] = [0; { b(); 1 }];");
    unmarked(
        "impl X { const Y: u8 = match a() { _ => b() }; } trait Z { const A: u8 = { b(); 1 }; }",
    );
    unmarked("enum E { A = { a(); 1 } } struct S<const N: usize = { a(); 1 }>([u8; { b(); 2 }]);");
    assert_eq!(
        body(" a::<{ b(); 1 }>(); let x: [u8; { c(); 1 }]; const { d(); e() }; [f(); { g(); 1 }] "),
        "· a::<{ b(); 1 }>(); let x: [u8; { c(); 1 }]; const { d(); e() };· [f(); { g(); 1 }] "
    );
}

#[test]
fn closures_and_functions_within_constants_run_later() {
    assert_eq!(
        marked("static X: Lazy<u8> = Lazy::new(|| a()); const _: () = { fn f() { b() } c(); };"),
        "static X: Lazy<u8> = Lazy::new(||{· a()}); const _: () = { fn f() {· b() } c(); };"
    );
    assert_eq!(
        marked("const fn f() -> fn() { g(|x| { a(); }, const || b()) }"),
        "const fn f() -> fn() { g(|x| {· a(); }, const || b()) }"
    );
}

#[test]
fn functions_that_attributes_make_constant_or_assembly_are_not_marked() {
    unmarked("#[unsafe(naked)] extern \"C\" fn f() { naked_asm!(\"ret\") }");
    unmarked("#[naked] fn f() { a(); }");
    unmarked("#[rustversion::attr(since(1.61), const)] fn f() { a(); }");
    unmarked("#[cfg_attr(feature = \"nightly\", const_fn::const_fn)] fn f() { a(); }");
    assert_eq!(
        marked("/// const\n#[allow(clippy::missing_const_for_fn)] #[skip(const_x)] fn f() { a() }"),
        "/// const\n#[allow(clippy::missing_const_for_fn)] #[skip(const_x)] fn f() {· a() }"
    );
}

#[test]
fn tokens_of_macros_are_left_alone() {
    unmarked("macro_rules! m { ($x:expr) => { { a(); $x } } } m! { fn f() { a(); b(); } }");
    assert_eq!(body(" m!({ a(); b() }); c() "), "· m!({ a(); b() });· c() ");
}

#[test]
fn a_module_without_prelude_is_left_alone() {
    unmarked("mod m { #![no_implicit_prelude] fn f() { a() } }");
    unmarked("#![no_implicit_prelude] fn f() { a() }");
}

#[test]
fn a_prefix_of_a_file_does_not_count_as_rust() {
    assert_eq!(marked("\u{feff}fn f() { a() }"), "\u{feff}fn f() {· a() }");
    assert_eq!(
        marked("#!/usr/bin/env run\r\nfn f() {\r\n    a();\r\n    b()\r\n}\r\n"),
        "#!/usr/bin/env run\r\nfn f() {·\r\n    a();·\r\n    b()\r\n}\r\n"
    );
    assert_eq!(
        marked("\u{feff}#!/bin/sh\nfn f() { a() }"),
        "\u{feff}#!/bin/sh\nfn f() {· a() }"
    );
    assert_eq!(
        marked("#! [allow(x)] fn f() { a() }"),
        "#! [allow(x)] fn f() {· a() }"
    );
    assert_eq!(marked(""), "");
    assert_eq!(marked("#!/bin/sh"), "#!/bin/sh");
}

#[test]
fn offsets_count_bytes() {
    assert_eq!(
        body(" let ä = \"日本 { ; }\"; a(r#\"{\"#, 'é', b'{'); r#match(ä); "),
        "· let ä = \"日本 { ; }\";· a(r#\"{\"#, 'é', b'{');· r#match(ä);· "
    );
}

#[test]
fn text_that_is_not_rust_is_an_error_with_its_place() {
    let error = try_marked("fn f() {\n    a(;)\n}").unwrap_err();
    assert_eq!(error.to_string(), "2:7: expected an expression");
    let error = try_marked("\u{feff}#!/bin/sh\nfn f( {\n").unwrap_err();
    assert_eq!((error.line, error.column), (2, 7));
}

#[test]
fn only_the_lines_that_are_asked_for_are_marked() {
    let text = "#!/bin/sh\nfn f() {\n    a();\n}\nmod m {\n    pub mod n {\n        fn g() {\n            b();\n        }\n    }\n    mod far;\n}\n";
    assert_eq!(module_lines(text, &["m"]).unwrap(), Some(5..=12));
    let lines = module_lines(text, &["m", "n"]).unwrap().unwrap();
    assert_eq!(lines, 6..=10);
    assert_eq!(module_lines(text, &["m", "far"]).unwrap(), None);
    assert_eq!(module_lines(text, &["n"]).unwrap(), None);
    let request = Request {
        marks: true,
        lines: &[lines],
        ..Request::default()
    };
    let marked = rewrite(text, &request).unwrap().apply(text);
    let expected = text.replace("fn g() {", "fn g() {__chess_mark!();");
    assert_eq!(marked, expected);
}

#[test]
fn a_table_that_is_included_as_a_value_has_nothing_to_mark() {
    let request = Request {
        marks: true,
        ..Request::default()
    };
    for table in ["[1, -2, (3 as u8)]", "&[Some(A::B), None, C { d: [0; 4] }]"] {
        assert_eq!(rewrite(table, &request), Ok(Rewrite::default()));
    }
    assert!(rewrite("{ f(); [1] }", &request).is_err());
}
