//! The sites of a file, their identities, and the reasons to leave some unchanged.

use rewriter::{Accesses, Declarations, Kind, Left, Request, Rewrite, Site, SiteId, rewrite};

fn declarations(texts: &[&str]) -> Declarations {
    let mut declarations = Declarations::default();
    for text in texts {
        declarations.add(text).unwrap();
    }
    declarations
}

fn find(text: &str, declarations: &Declarations, without: &[SiteId]) -> Rewrite {
    let request = Request {
        accesses: Some(Accesses {
            declarations,
            without,
            only_borrows: false,
        }),
        ..Request::default()
    };
    let found = rewrite(text, &request).unwrap();
    assert_eq!(found.apply(text).lines().count(), text.lines().count());
    found
}

/// Returns the sites and edits in the body of an unsafe function.
fn found(statements: &str) -> Rewrite {
    let text = in_function(statements);
    find(&text, &declarations(&[&text]), &[])
}

fn in_function(statements: &str) -> String {
    format!("unsafe fn f() {{{statements}}}")
}

fn body(statements: &str) -> String {
    let whole = found(statements).apply(&in_function(statements));
    let inner = whole.strip_prefix("unsafe fn f() {").unwrap();
    inner.strip_suffix('}').unwrap().to_owned()
}

/// Returns the kind and column of each site within the statements, and the reason why it was left,
/// if any.
fn sites(statements: &str) -> Vec<(Kind, usize, Option<Left>)> {
    let before = in_function("").len() - 1;
    let sites = found(statements).sites;
    let row = |site: &Site| (site.id.kind, site.id.column - before, site.left);
    sites.iter().map(row).collect()
}

fn unchanged(text: &str) {
    let all = declarations(&[text]);
    assert_eq!(find(text, &all, &[]).apply(text), text);
}

#[test]
fn places_are_told_of_before_they_are_read() {
    assert_eq!(body("x = *p;"), "x = ({__chess::read(&raw const *p);*p});");
    assert_eq!(
        body("f((*p).a.0[i + 1])"),
        "f(({__chess::read(&raw const (*p).a.0[i + 1]);(*p).a.0[i + 1]}))"
    );
    assert_eq!(
        body("x = (*(*p).next).a;"),
        "x = ({__chess::read(&raw const (*p).next);__chess::read(&raw const (*(*p).next).a);(*(*p).next).a});"
    );
    assert_eq!(
        body("x = (*p)[f()];"),
        "x = (*__chess::read(&raw const (*p)[f()]));"
    );
}

#[test]
fn what_computes_a_pointer_is_evaluated_once() {
    assert_eq!(
        body("x = *c.get();"),
        "x = *match (c.get()){__chess_p=>{__chess::read(&raw const *__chess_p);__chess_p}};"
    );
    assert_eq!(
        body("&mut (*c.get()).a"),
        "&mut (*match (c.get()){__chess_p=>{__chess::borrow_mut(&raw const (*__chess_p).a);__chess_p}}).a"
    );
    assert_eq!(
        body("(*c.get()).a.f(*p)"),
        "(*match (c.get()){__chess_p=>{__chess::receive(&raw const (*__chess_p).a);__chess_p}}).a.f(({__chess::read(&raw const *p);*p}))"
    );
}

#[test]
fn places_stay_places() {
    assert_eq!(
        body("*p = 1; *p += 1;"),
        "*__chess::write(&raw mut *p) = 1; *__chess::update(&raw mut *p) += 1;"
    );
    assert_eq!(
        body("(*p, [*q]) = x"),
        "(*__chess::write(&raw mut *p), [*__chess::write(&raw mut *q)]) = x"
    );
    assert_eq!(
        body("f(&*p, &mut *p)"),
        "f(&*__chess::borrow(&raw const *p), &mut *__chess::borrow_mut(&raw mut *p))"
    );
    assert_eq!(
        body("if let A(ref mut x) = *p {} match *p { A => 1, _ => 2 }"),
        "if let A(ref mut x) = *__chess::borrow_mut(&raw mut *p) {} match *__chess::inspect(&raw const *p) { A => 1, _ => 2 }"
    );
    assert_eq!(
        body("*(*p).next = 1"),
        "*__chess::write({__chess::read(&raw const (*p).next);&raw mut *(*p).next}) = 1"
    );
}

#[test]
fn methods_are_told_of_before_they_are_called() {
    assert_eq!(
        body("p.read(); p.add(1).write(x);"),
        "({__chess::read_through(&raw const p);},p.read()).1; (match (p.add(1)){__chess_p=>{__chess::write_through(&raw const __chess_p);__chess_p}}).write(x);"
    );
    assert_eq!(
        body("p.copy_from(q, n)"),
        "({__chess::copy_from_through(&raw const p,&q,n);},p.copy_from(q, n)).1"
    );
    assert_eq!(
        body("self.ptr.copy_from(a[i], 1)"),
        "({__chess::copy_from_through(&raw const self.ptr,&raw const a[i],1);},self.ptr.copy_from(a[i], 1)).1"
    );
    assert_eq!(
        body("p.copy_from_nonoverlapping(q.add(1), n)"),
        "({__chess::copy_from_through(&raw const p,&(q.add(1)),n);},p.copy_from_nonoverlapping(q.add(1), n)).1"
    );
    assert_eq!(
        body("p.swap(&mut l); p.copy_to(&mut l.x, 1); p.copy_from(&l, 1);"),
        "({__chess::swap_through(&raw const p,&(&raw mut l));},p.swap(&mut l)).1; \
         ({__chess::copy_to_through(&raw const p,&(&raw mut l.x),1);},p.copy_to(&mut l.x, 1)).1; \
         ({__chess::copy_from_through(&raw const p,&(&l),1);},p.copy_from(&l, 1)).1;"
    );
    assert_eq!(
        body("(*p).slot.write(x)"),
        "({__chess::write_through(&raw const (*p).slot);},(*p).slot.write(x)).1"
    );
    assert_eq!(
        body("((*p).call)(x)"),
        "({__chess::receive(&raw const ((*p).call));},((*p).call)(x)).1"
    );
    assert_eq!(
        body("p.write(a, b); p.read(b); p.copy_from(q)"),
        "p.write(a, b); p.read(b); p.copy_from(q)"
    );
}

#[test]
fn an_address_is_no_access_but_the_pointers_to_it_are() {
    unchanged(
        "unsafe fn f() { &raw const (*p).a; &raw mut *p; addr_of!((*p).a); let _ = *p; _ = *p; }",
    );
    assert_eq!(
        body("x = addr_of!((*(*p).next).a); &raw const (*(*p).next).a"),
        "x = ({__chess::read(&raw const (*p).next);addr_of!((*(*p).next).a)}); ({__chess::read(&raw const (*p).next);&raw const (*(*p).next).a})"
    );
}

#[test]
fn mutable_statics_of_the_whole_package_are_known() {
    let text = "fn f() { unsafe { x = COUNT; m::COUNT += 1; TABLE[1] = 1; OTHER + HEAD.len() } }";
    let all = declarations(&[
        "static mut COUNT: u8 = 0; extern { static mut TABLE: [u8; 2]; } static OTHER: u8 = 1;",
        "m! { static mut HEAD: u8 = 1; }",
    ]);
    assert_eq!(
        find(text, &all, &[]).apply(text),
        "fn f() { unsafe { x = ({__chess::read(&raw const COUNT);COUNT}); *__chess::update(&raw mut m::COUNT) += 1; *__chess::write(&raw mut TABLE[1]) = 1; OTHER + ({__chess::receive(&raw const HEAD);},HEAD.len()).1 } }"
    );
    unchanged(text);
}

#[test]
fn only_unsafe_code_that_runs_is_looked_at() {
    unchanged("fn f(p: &u8) -> u8 { *p }");
    unchanged("unsafe fn f() { fn g(p: &u8) -> u8 { *p } }");
    unchanged("#![no_implicit_prelude] unsafe fn f() { *p }");
    let text = "const unsafe fn f() { *p } static X: u8 = unsafe { *p }; unsafe fn g() { const { unsafe { *p } } }";
    unchanged(text);
    let left = find(text, &Declarations::default(), &[]).sites;
    let left: Vec<_> = left.iter().map(|site| site.left).collect();
    assert_eq!(left, [Some(Left::Constant); 3]);
    assert_eq!(body("|| *p"), "|| ({__chess::read(&raw const *p);*p})");
}

#[test]
fn arguments_of_macros_are_looked_at() {
    assert_eq!(
        body("assert!(*p, \"no\"); assert_eq!(*p, 1); println!(\"{}\", *p); vec![*p]"),
        "assert!(*__chess::inspect(&raw const *p), \"no\"); assert_eq!(*__chess::inspect(&raw const *p), 1); println!(\"{}\", *__chess::inspect(&raw const *p)); vec![*__chess::inspect(&raw const *p)]"
    );
    let text = "cfg_rt! { unsafe fn f() { *p = 1; } } cfg_if! { if #[cfg(x)] { unsafe fn g() { *p = 1; } } else { } }";
    let told = find(text, &Declarations::default(), &[]).apply(text);
    assert_eq!(told.matches("__chess::write").count(), 2, "{told}");
    assert_eq!(
        body("assert!(*p == 1); assert!((*p).f(\"\"))"),
        "assert!(*__chess::inspect(&raw const *p) == 1, \"assertion failed: *p == 1\"); assert!((*p).f(\"\"))"
    );
    assert_eq!(
        body("m!(*p, a * b, x as *const u8, u8 => *p, *p;)"),
        "m!(*__chess::inspect(&raw const *p), a * b, x as *const u8, u8 => *p, *p;)"
    );
    assert_eq!(
        sites("m!(u8 => *p); dbg!(*p)"),
        [
            (Kind::Read, 10, Some(Left::Macro)),
            (Kind::Read, 20, Some(Left::Macro))
        ]
    );
    let text = "macro_rules! m { ($p:expr) => { unsafe { *$p } } }";
    unchanged(text);
    let sites = find(text, &Declarations::default(), &[]).sites;
    assert_eq!(sites[0].left, Some(Left::Macro));
}

#[test]
fn what_cannot_be_told_of_is_left_with_a_reason() {
    assert_eq!(
        sites("let x = &*f().p;"),
        [(Kind::Borrow, 10, Some(Left::Temporary))]
    );
    assert_eq!(sites("g(&*f().p);"), [(Kind::Borrow, 4, None)]);
    assert_eq!(
        sites("(*p)[f()].g(); p.copy_to(q, f());"),
        [
            (Kind::Receive, 2, Some(Left::Computed)),
            (Kind::CopyThrough, 18, Some(Left::Computed))
        ]
    );
    let text = "#[repr(C, packed(2))] pub(crate) struct P { pub wide: u64 } unsafe fn f() { (*p).wide = 1; x = (*p).wide; (*p).other = 1; }";
    let sites = find(text, &declarations(&[text]), &[]).sites;
    let left: Vec<_> = sites.iter().map(|site| site.left).collect();
    assert_eq!(left, [Some(Left::Packed), None, None]);
}

#[test]
fn sites_are_known_by_their_place_in_the_original_text() {
    let text = "// é\nfn f() {\n    let ä = unsafe { (*p).a + p.read() };\n}\n";
    let none = Declarations::default();
    let all = find(text, &none, &[]);
    let ids: Vec<_> = all.sites.iter().map(|site| site.id).collect();
    let id = |column, kind| SiteId {
        line: 3,
        column,
        kind,
    };
    assert_eq!(ids, [id(23, Kind::Read), id(33, Kind::ReadThrough)]);
    let one = find(text, &none, &ids[..1]);
    assert_eq!(one.sites[0].left, Some(Left::Refused));
    assert_eq!(
        one.apply(text),
        text.replace(
            "p.read()",
            "({__chess::read_through(&raw const p);},p.read()).1"
        )
    );
}

#[test]
fn what_rustc_says_leads_to_the_innermost_site() {
    let text = "fn f() {\n    unsafe { (*p).a.b(1, *q.get()) }\n}\n";
    let all = find(text, &Declarations::default(), &[]);
    let told = all.apply(text);
    let line = told.lines().nth(1).unwrap();
    let at = |part: &str| {
        let column = line.find(part).unwrap() + 1;
        let site = all.site_at(text, 2, column);
        site.map(|site| (site.id.kind, all.original_place(text, 2, column)))
    };
    assert_eq!(at("__chess::receive"), Some((Kind::Receive, (2, 15))));
    assert_eq!(at("(*p).a.b"), Some((Kind::Receive, (2, 14))));
    assert_eq!(at("__chess::read"), Some((Kind::Read, (2, 26))));
    assert_eq!(at("q.get"), Some((Kind::Read, (2, 27))));
    assert_eq!(at("unsafe"), None);
}

#[test]
fn text_of_several_lines_is_told_of_in_one() {
    assert_eq!(
        body("x = (*p) // the first\n    .a;"),
        "x = ({__chess::read(&raw const (* p) . a);(*p) // the first\n    .a});"
    );
    assert_eq!(
        body("x = (*c\n    .get())\n    .a;"),
        "x = (*match (c\n    .get()){__chess_p=>{__chess::read(&raw const (* __chess_p) . a);__chess_p}})\n    .a;"
    );
}

#[test]
fn only_the_lines_that_are_asked_for_tell() {
    let text = "unsafe fn f() {\n    *p = 1;\n    *p = 2;\n}\n";
    let none = Declarations::default();
    let request = Request {
        lines: &[3..=3],
        accesses: Some(Accesses {
            declarations: &none,
            without: &[],
            only_borrows: false,
        }),
        ..Request::default()
    };
    let found = rewrite(text, &request).unwrap();
    assert_eq!(found.sites.len(), 1);
    assert_eq!(
        found.apply(text),
        text.replace("*p = 2", "*__chess::write(&raw mut *p) = 2")
    );
}

#[test]
fn what_may_begin_a_file_and_ends_of_lines_do_not_matter() {
    let text = "\u{feff}#!/bin/sh\r\nunsafe fn f() {\r\n    x = (*p)\r\n        .é;\r\n    *p = 1;\r\n}\r\n";
    let told = find(text, &Declarations::default(), &[]);
    assert_eq!(
        told.apply(text),
        "\u{feff}#!/bin/sh\r\nunsafe fn f() {\r\n    x = ({__chess::read(&raw const (* p) . é);(*p)\r\n        .é});\r\n    *__chess::write(&raw mut *p) = 1;\r\n}\r\n"
    );
    let places: Vec<_> = told
        .sites
        .iter()
        .map(|it| (it.id.line, it.id.column))
        .collect();
    assert_eq!(places, [(3, 10), (5, 5)]);
    let text = "\u{feff}unsafe fn f() { *p = 1; }";
    assert_eq!(
        find(text, &Declarations::default(), &[]).sites[0].id.column,
        17
    );
    let text = "unsafe fn async(try: *mut Fn(u8)) { *await = 1; }";
    assert_eq!(find(text, &Declarations::default(), &[]).sites.len(), 1);
}
