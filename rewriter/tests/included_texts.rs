//! The paths of source files that are included as text.

use rewriter::{Request, rewrite};

#[track_caller]
fn rewritten(text: &str) -> String {
    let request = Request {
        directory: Some("/project/src"),
        ..Request::default()
    };
    rewrite(text, &request).unwrap().apply(text)
}

#[test]
fn the_path_of_a_source_file_becomes_absolute() {
    for (before, after) in [
        (
            r#"const A: &str = include_str!("lib.rs");"#,
            r#"const A: &str = include_str!("/project/src/lib.rs");"#,
        ),
        (
            r##"fn f() { assert!(!std::include_bytes!(r#"../tests/a.rs"#,).is_empty()); }"##,
            r##"fn f() { assert!(!std::include_bytes!(r#"/project/src/../tests/a.rs"#,).is_empty()); }"##,
        ),
        (
            r#"macro_rules! m { () => {} } const A: &str = include_str! { "a.rs" };"#,
            r#"macro_rules! m { () => {} } const A: &str = include_str! { "/project/src/a.rs" };"#,
        ),
    ] {
        assert_eq!(rewritten(before), after);
    }
}

#[test]
fn other_files_and_computed_paths_stay() {
    for text in [
        r#"const A: &str = include_str!("README.md");"#,
        r#"const A: &str = include_str!("/other/lib.rs");"#,
        r#"const A: &str = include_str!(concat!("a", ".rs"));"#,
        r#"include!("a.rs");"#,
        r#"const A: &str = "include_str!(a.rs)";"#,
    ] {
        assert_eq!(rewritten(text), text);
    }
}

#[test]
fn the_body_of_a_macro_is_left_out() {
    for text in [
        r#"macro_rules! m { () => { include_str!("a.rs") }; }"#,
        r#"macro_rules! m ( ($e:expr) => { [$e, include_str!("a.rs")] }; );"#,
    ] {
        assert_eq!(rewritten(text), text);
    }
}
