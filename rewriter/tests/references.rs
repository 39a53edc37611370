//! The files that a file refers to.

use rewriter::references;

#[track_caller]
fn found(text: &str, name: &str, is_root: bool) -> Vec<String> {
    let found = references(text, name, is_root).unwrap();
    let words = found.iter().map(|it| {
        let root = if it.is_root { " (root)" } else { "" };
        format!("{}{root}", it.path.display())
    });
    words.collect()
}

#[test]
fn modules_lie_beside_a_root_file_and_below_others() {
    assert_eq!(found("mod a;", "lib.rs", true), ["a.rs", "a/mod.rs (root)"]);
    assert_eq!(
        found("pub mod r#fn;", "ring.rs", false),
        ["ring/fn.rs", "ring/fn/mod.rs (root)"]
    );
}

#[test]
fn paths_are_beside_the_file_but_in_inline_modules() {
    let text = "#[path = \"../x.rs\"] mod a; mod b { #[path = \"y.rs\"] mod c; mod d; }";
    assert_eq!(
        found(text, "ring.rs", false),
        [
            "../x.rs (root)",
            "ring/b/y.rs (root)",
            "ring/b/d.rs",
            "ring/b/d/mod.rs (root)"
        ]
    );
}

#[test]
fn included_files_are_named_at_each_place() {
    let text = "include!(\"../items.rs\"); fn f() { let t = include!(\"t.rs\"); \
                include!(concat!(env!(\"OUT_DIR\"), \"/g.rs\")); include_str!(\"s.rs\"); }";
    assert_eq!(found(text, "a.rs", false), ["../items.rs", "t.rs"]);
}
