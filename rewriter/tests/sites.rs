//! The sites of a file, their identities, and the reasons to leave some unchanged.

use rewriter::{Borrows, Kind, Left, MutableStatics, Request, Rewrite, Site, SiteId, rewrite};

fn statics(texts: &[&str]) -> MutableStatics {
    let mut statics = MutableStatics::default();
    for text in texts {
        statics.add(text).unwrap();
    }
    statics
}

fn find(text: &str, statics: &MutableStatics, without: &[SiteId]) -> Rewrite {
    let request = Request {
        borrows: Some(Borrows { statics, without }),
        ..Request::default()
    };
    let found = rewrite(text, &request).unwrap();
    assert_eq!(found.apply(text).lines().count(), text.lines().count());
    found
}

/// Returns the sites and edits in the body of an unsafe function.
fn found(statements: &str) -> Rewrite {
    let text = in_function(statements);
    find(&text, &statics(&[&text]), &[])
}

fn in_function(statements: &str) -> String {
    format!("unsafe fn f() {{{statements}}}")
}

fn body(statements: &str) -> String {
    let whole = found(statements).apply(&in_function(statements));
    let inner = whole.strip_prefix("unsafe fn f() {").unwrap();
    inner.strip_suffix('}').unwrap().to_owned()
}

/// Returns the kind and column of each site within the statements, and the reason why the site is
/// not changed, if there is one.
fn sites(statements: &str) -> Vec<(Kind, usize, Option<Left>)> {
    let before = in_function("").len() - 1;
    let sites = found(statements).sites;
    let row = |site: &Site| (site.id.kind, site.id.column - before, site.left);
    sites.iter().map(row).collect()
}

fn unchanged(text: &str) {
    let all = statics(&[text]);
    assert_eq!(find(text, &all, &[]).apply(text), text);
}

#[track_caller]
fn has_no_site(statements: &str) {
    assert_eq!(sites(statements), [], "{statements}");
}

#[test]
fn references_to_places_are_reported() {
    assert_eq!(
        body("f(&*p, &mut *p)"),
        "f(&*__chess::borrow(&raw const *p), &mut *__chess::borrow_mut(&raw mut *p))"
    );
    assert_eq!(
        body("x = &(*(*p).next).a.0[i + 1];"),
        "x = &*__chess::borrow(&raw const (*(*p).next).a.0[i + 1]);"
    );
    assert_eq!(
        body("x = &(*p)[f(&mut *q)];"),
        "x = &*__chess::borrow(&raw const (*p)[f(&mut *__chess::borrow_mut(&raw mut *q))]);"
    );
}

#[test]
fn bindings_by_reference_are_reported_if_they_borrow_the_whole_place() {
    assert_eq!(
        body("let ref x = *p; let ref mut y: u8 = (*p).a;"),
        "let ref x = *__chess::borrow(&raw const *p); let ref mut y: u8 = *__chess::borrow_mut(&raw mut (*p).a);"
    );
    assert_eq!(
        body("match *p { ref x if f(x) => 1, _ => 2 }"),
        "match *__chess::borrow(&raw const *p) { ref x if f(x) => 1, _ => 2 }"
    );
    has_no_site("if let A(ref mut x) = *p {} match *p { A => 1, ref x => 2 }");
    has_no_site("let B { ref x, y } = *p; let ref x @ Some(_) = *p else { return };");
}

#[test]
fn code_that_computes_a_pointer_is_evaluated_once() {
    assert_eq!(
        body("x = &*c.get();"),
        "x = &*match (c.get()){__chess_p=>{__chess::borrow(&raw const *__chess_p);__chess_p}};"
    );
    assert_eq!(
        body("&mut (*c.get()).a"),
        "&mut (*match (c.get()){__chess_p=>{__chess::borrow_mut(&raw const (*__chess_p).a);__chess_p}}).a"
    );
    assert_eq!(
        body("&mut (*c.get(&*p))[f()]"),
        "&mut *__chess::borrow_mut(&raw mut (*c.get(&*__chess::borrow(&raw const *p)))[f()])"
    );
}

#[test]
fn methods_are_reported_before_they_are_called() {
    assert_eq!(
        body("p.as_ref(); p.add(1).as_mut();"),
        "({__chess::borrow_through(&raw const p);},p.as_ref()).1; (match (p.add(1)){__chess_p=>{__chess::borrow_mut_through(&raw const __chess_p);__chess_p}}).as_mut();"
    );
    assert_eq!(
        body("(*p).slot[i].drop_in_place()"),
        "({__chess::drop_through(&raw const (*p).slot[i]);},(*p).slot[i].drop_in_place()).1"
    );
    assert_eq!(
        body("(*c.get()).slot.assume_init_mut()"),
        "(*match (c.get()){__chess_p=>{__chess::borrow_mut_through(&raw const (*__chess_p).slot);__chess_p}}).slot.assume_init_mut()"
    );
    assert_eq!(
        body("(p as *mut u8).as_ref()"),
        "(match ((p as *mut u8)){__chess_p=>{__chess::borrow_through(&raw const __chess_p);__chess_p}}).as_ref()"
    );
    let names = [
        ("as_ref_unchecked", Kind::BorrowThrough),
        ("assume_init_ref", Kind::BorrowThrough),
        ("as_mut_unchecked", Kind::BorrowMutThrough),
        ("assume_init_mut", Kind::BorrowMutThrough),
        ("assume_init_drop", Kind::DropThrough),
    ];
    for (name, kind) in names {
        assert_eq!(sites(&format!("p.{name}()")), [(kind, 3, None)]);
        has_no_site(&format!("p.{name}(x)"));
    }
}

#[test]
fn loads_stores_and_addresses_are_no_sites() {
    has_no_site("x = *p; *p = (*p).a; *p += 1; (*p, [*q]) = x; (*(*p).next).a");
    has_no_site("p.read(); p.write(x); p.copy_from(q, n); p.replace(x); p.swap(q);");
    has_no_site("(*p).f(); ((*p).call)(x); (*c.get()).push(1); match *p { A => 1, _ => 2 }");
    has_no_site("&raw const (*p).a; &raw mut *p; addr_of!((*p).a); let _ = *p; _ = *p;");
    has_no_site("f(&x, &mut x.y[1], &f(*p), &{ *p }, &a[*p])");
}

#[test]
fn mutable_statics_of_the_whole_package_are_known() {
    let text = "fn f() { unsafe { x = &COUNT; f(&mut m::COUNT); &mut TABLE[1]; &OTHER; HEAD.as_ref(); COUNT += 1; } }";
    let all = statics(&[
        "static mut COUNT: u8 = 0; extern { static mut TABLE: [u8; 2]; } static OTHER: u8 = 1;",
        "m! { static mut HEAD: *mut u8 = null_mut(); }",
    ]);
    assert_eq!(
        find(text, &all, &[]).apply(text),
        "fn f() { unsafe { x = &*__chess::borrow(&raw const COUNT); f(&mut *__chess::borrow_mut(&raw mut m::COUNT)); &mut *__chess::borrow_mut(&raw mut TABLE[1]); &OTHER; ({__chess::borrow_through(&raw const HEAD);},HEAD.as_ref()).1; COUNT += 1; } }"
    );
    let none = find(text, &MutableStatics::default(), &[]);
    assert_eq!(none.sites.len(), 1, "only the method is one");
}

#[test]
fn only_unsafe_code_that_runs_is_searched() {
    unchanged("fn f(p: &u8) -> &u8 { p.as_ref(); &*p }");
    unchanged("unsafe fn f() { fn g(p: &u8) -> &u8 { &*p } }");
    unchanged("#![no_implicit_prelude] unsafe fn f() { &*p }");
    let text = "const unsafe fn f() { &*p } static X: u8 = unsafe { &*p }; unsafe fn g() { const { unsafe { &*p } } }";
    unchanged(text);
    let left = find(text, &MutableStatics::default(), &[]).sites;
    let left: Vec<_> = left.iter().map(|site| site.left).collect();
    assert_eq!(left, [Some(Left::Constant); 3]);
    assert_eq!(body("|| &*p"), "|| &*__chess::borrow(&raw const *p)");
}

#[test]
fn arguments_of_macros_are_searched() {
    assert_eq!(
        body("assert!(f(&*p), \"no\"); assert_eq!(&*p, &1); println!(\"{}\", x = &*p); vec![&*p]"),
        "assert!(f(&*__chess::borrow(&raw const *p)), \"no\"); assert_eq!(&*__chess::borrow(&raw const *p), &1); println!(\"{}\", x = &*__chess::borrow(&raw const *p)); vec![&*__chess::borrow(&raw const *p)]"
    );
    let text = "cfg_rt! { unsafe fn f() { &*p; } } cfg_if! { if #[cfg(x)] { unsafe fn g() { &*p; } } else { } }";
    let rewritten = find(text, &MutableStatics::default(), &[]).apply(text);
    assert_eq!(rewritten.matches("__chess::borrow").count(), 2);
    assert_eq!(
        body("assert!(&*p == &1); assert!((&*p).f(\"\"))"),
        "assert!(&*__chess::borrow(&raw const *p) == &1, \"assertion failed: &*p == &1\"); assert!((&*p).f(\"\"))"
    );
    assert_eq!(sites("assert!((&*p).f(\"\"))")[0].2, Some(Left::Message));
    assert_eq!(
        body("m!(&*p, a * b, x as *const u8, u8 => &*p, &*p;)"),
        "m!(&*__chess::borrow(&raw const *p), a * b, x as *const u8, u8 => &*p, &*p;)"
    );
}

#[test]
fn borrows_in_unknown_tokens_are_counted() {
    let left = Some(Left::Macro);
    assert_eq!(
        sites("m!(u8 => &*p; &mut (*p).a); dbg!(p.as_ref(), *p)"),
        [
            (Kind::Borrow, 11, left),
            (Kind::BorrowMut, 21, left),
            (Kind::BorrowThrough, 36, left)
        ]
    );
    has_no_site("m!(u8 => *p; &x; &*const u8; &mut *mut u8; a & *p; a && *p; &&*p; &f(*p); &)");
    has_no_site("m!(u8 => p.as_ref(1); as_ref(); p.as_ref; p.read())");
    let text = "macro_rules! m { ($p:expr) => { unsafe { &*$p } } ($($x:ty)&*) => { &*x } }";
    unchanged(text);
    let sites = find(text, &MutableStatics::default(), &[]).sites;
    assert_eq!(sites.len(), 1);
    assert_eq!(sites[0].left, Some(Left::Macro));
}

#[test]
fn a_site_that_cannot_be_reported_is_left_with_a_reason() {
    let left = Some(Left::Temporary);
    assert_eq!(sites("let x = &*f().p;"), [(Kind::Borrow, 10, left)]);
    assert_eq!(sites("let x = m!(&*f().p);"), [(Kind::Borrow, 13, left)]);
    assert_eq!(sites("g(&*f().p);"), [(Kind::Borrow, 4, None)]);
    assert_eq!(
        sites("(*p)[f()].as_ref(); f().p.as_mut();"),
        [
            (Kind::BorrowThrough, 11, Some(Left::Computed)),
            (Kind::BorrowMutThrough, 27, Some(Left::Computed))
        ]
    );
}

#[test]
fn sites_are_identified_by_their_place_in_the_original_text() {
    let text = "// é\nfn f() {\n    let ä = unsafe { g(&(*p).a, p.as_ref()) };\n}\n";
    let none = MutableStatics::default();
    let all = find(text, &none, &[]);
    let ids: Vec<_> = all.sites.iter().map(|site| site.id).collect();
    let id = |column, kind| SiteId {
        line: 3,
        column,
        kind,
    };
    assert_eq!(ids, [id(26, Kind::Borrow), id(35, Kind::BorrowThrough)]);
    let one = find(text, &none, &ids[..1]);
    assert_eq!(one.sites[0].left, Some(Left::Refused));
    assert_eq!(
        one.apply(text),
        text.replace(
            "p.as_ref()",
            "({__chess::borrow_through(&raw const p);},p.as_ref()).1"
        )
    );
}

#[test]
fn places_of_errors_lead_to_the_innermost_site() {
    let text = "fn f() {\n    unsafe { (*p).a.as_ref().b(1, &*q.get()) }\n}\n";
    let all = find(text, &MutableStatics::default(), &[]);
    let rewritten = all.apply(text);
    let line = rewritten.lines().nth(1).unwrap();
    let at = |part: &str| {
        let column = line.find(part).unwrap() + 1;
        let site = all.site_at(text, 2, column);
        site.map(|site| (site.id.kind, all.original_place(text, 2, column)))
    };
    let method = Kind::BorrowThrough;
    assert_eq!(at("__chess::borrow_through"), Some((method, (2, 21))));
    assert_eq!(at("(*p).a.as_ref"), Some((method, (2, 14))));
    assert_eq!(at("__chess::borrow("), Some((Kind::Borrow, (2, 36))));
    assert_eq!(at("q.get"), Some((Kind::Borrow, (2, 37))));
    assert_eq!(at("unsafe"), None);
}

#[test]
fn text_of_several_lines_is_repeated_in_one() {
    assert_eq!(
        body("x = (*p) // the first\n    .a.as_ref();"),
        "x = ({__chess::borrow_through(&raw const (* p) . a);},(*p) // the first\n    .a.as_ref()).1;"
    );
    assert_eq!(
        body("x = &(*c\n    .get())\n    .a;"),
        "x = &(*match (c\n    .get()){__chess_p=>{__chess::borrow(&raw const (* __chess_p) . a);__chess_p}})\n    .a;"
    );
}

#[test]
fn only_the_requested_lines_are_reported() {
    let text = "unsafe fn f() {\n    f(&*p);\n    g(&*p);\n}\n";
    let none = MutableStatics::default();
    let request = Request {
        lines: &[3..=3],
        borrows: Some(Borrows {
            statics: &none,
            without: &[],
        }),
        ..Request::default()
    };
    let found = rewrite(text, &request).unwrap();
    assert_eq!(found.sites.len(), 1);
    assert_eq!(
        found.apply(text),
        text.replace("g(&*p)", "g(&*__chess::borrow(&raw const *p))")
    );
}

#[test]
fn starts_of_files_and_ends_of_lines_do_not_matter() {
    let text = "\u{feff}#!/bin/sh\r\nunsafe fn f() {\r\n    x = (*p)\r\n        .é.as_ref();\r\n    f(&*p);\r\n}\r\n";
    let found = find(text, &MutableStatics::default(), &[]);
    assert_eq!(
        found.apply(text),
        "\u{feff}#!/bin/sh\r\nunsafe fn f() {\r\n    x = ({__chess::borrow_through(&raw const (* p) . é);},(*p)\r\n        .é.as_ref()).1;\r\n    f(&*__chess::borrow(&raw const *p));\r\n}\r\n"
    );
    let places: Vec<_> = found
        .sites
        .iter()
        .map(|it| (it.id.line, it.id.column))
        .collect();
    assert_eq!(places, [(4, 12), (5, 8)]);
    let text = "\u{feff}unsafe fn f() { &*p; }";
    assert_eq!(
        find(text, &MutableStatics::default(), &[]).sites[0]
            .id
            .column,
        18
    );
    let text = "unsafe fn async(try: *mut Fn(u8)) { &*await; }";
    assert_eq!(find(text, &MutableStatics::default(), &[]).sites.len(), 1);
}
