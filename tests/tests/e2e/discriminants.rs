//! A check of the variant of an enum is reported as a read of the discriminant only, not of the
//! payload. This holds for each place of the enum and for each form of the check.
//!
//! Without optimisations, rustc also loads the payload. LLVM removes this load only after it has
//! inserted the announcement of the load: see `linker/dead_reads.rs`.

use std::fmt::Write as _;

use end_to_end::Workspace;

/// Types of payloads, with a value of each type.
const TYPES: &[(&str, &str)] = &[
    ("u8", "7"),
    ("u32", "7"),
    ("u64", "7"),
    ("u128", "7"),
    ("f64", "1.5"),
    ("(u32, u64)", "(1, 2)"),
    ("(u128, u8)", "(1, 2)"),
    ("&'static str", "\"a\""),
    ("Option<u64>", "None"),
];

const TYPES_OF_ENUMS: &str = "\
#![cfg(test)]
use std::cell::UnsafeCell;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::thread;

#[repr(transparent)]
pub struct Payload<T>(UnsafeCell<T>);
unsafe impl<T> Sync for Payload<T> {}
unsafe impl<T> Send for Payload<T> {}
impl<T> PartialEq for Payload<T> {
    fn eq(&self, _: &Self) -> bool { true }
}
impl<T> PartialOrd for Payload<T> {
    fn partial_cmp(&self, _: &Self) -> Option<Ordering> { Some(Ordering::Equal) }
}
impl<T> Hash for Payload<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
#[derive(PartialEq, PartialOrd, Hash)]
pub enum Three<T> { No, One(T), Two }
pub struct Beside<T> { pub byte: u8, pub part: T }
";

/// Returns the places in which an enum with a payload of type `of` can be stored. Each place has a
/// name, its declaration, the expression for the place, and the path of the variant.
fn places(of: &str, value: &str) -> [(&'static str, String, &'static str, &'static str); 5] {
    let payload = format!("Payload(UnsafeCell::new({value}))");
    let option = format!("Option<Payload<{of}>>");
    let three = format!("Three<Payload<{of}>>");
    let beside = format!("Beside {{ byte: 1, part: Three::One({payload}) }}");
    [
        (
            "static",
            format!("static X: {option} = Some({payload});"),
            "X",
            "Some",
        ),
        (
            "static_of_three",
            format!("static X: {three} = Three::One({payload});"),
            "X",
            "Three::One",
        ),
        (
            "static_field",
            format!("static X: Beside<{three}> = {beside};"),
            "X.part",
            "Three::One",
        ),
        (
            "boxed",
            format!("let x: &'static {option} = Box::leak(Box::new(Some({payload})));"),
            "(*x)",
            "Some",
        ),
        (
            "boxed_field",
            format!("let x: &'static Beside<{three}> = Box::leak(Box::new({beside}));"),
            "x.part",
            "Three::One",
        ),
    ]
}

/// Returns the forms of a check of the variant of an enum, and three forms that read the payload.
fn questions(place: &str, variant: &str, value: &str) -> [(&'static str, String); 13] {
    let other = match variant {
        "Some" => format!("{place}.is_none()"),
        _ => format!("matches!({place}, Three::Two) || matches!({place}, Three::No)"),
    };
    let empty = match variant {
        "Some" => "None",
        _ => "Three::Two",
    };
    [
        (
            "if_let",
            format!("if let {variant}(_) = {place} {{ black_box(()); }}"),
        ),
        (
            "matches",
            format!("black_box(matches!(&{place}, {variant}(_)));"),
        ),
        ("other", format!("black_box({other});")),
        (
            "match",
            format!("match &{place} {{ {variant}(_) => black_box(1), _ => black_box(2) }};"),
        ),
        (
            "reference",
            format!("if let {variant}(payload) = &{place} {{ black_box(payload as *const _); }}"),
        ),
        (
            "discriminant",
            format!("black_box(std::mem::discriminant(&{place}));"),
        ),
        ("equals", format!("black_box({place} == {empty});")),
        ("equals_itself", format!("black_box({place} == {place});")),
        ("is_less", format!("black_box({place} < {empty});")),
        (
            "hashes",
            format!("{place}.hash(&mut DefaultHasher::new());"),
        ),
        (
            "copy_reads",
            format!(
                "let copy = unsafe {{ std::ptr::read(&{place}) }}; black_box(matches!(copy, {variant}(_)));"
            ),
        ),
        (
            "comparison_reads",
            format!(
                "if let {variant}(payload) = &{place} {{ if unsafe {{ *payload.0.get() }} == {value} {{ black_box(()); }} }}"
            ),
        ),
        (
            "reads",
            format!(
                "if let {variant}(payload) = &{place} {{ black_box(unsafe {{ *payload.0.get() }}); }}"
            ),
        ),
    ]
}

fn tests() -> String {
    let mut text = TYPES_OF_ENUMS.to_owned();
    for (number, (of, value)) in TYPES.iter().enumerate() {
        for (name, declaration, place, variant) in places(of, value) {
            for (how, question) in questions(place, variant, value) {
                _ = write!(
                    text,
                    "\n#[test]\nfn payload_{number}_{name}_{how}() {{\n    \
                     {declaration}\n    \
                     let {variant}(payload) = &{place} else {{ unreachable!() }};\n    \
                     let write = || unsafe {{ payload.0.get().write({value}) }};\n    \
                     thread::scope(|scope| {{\n        scope.spawn(write);\n        \
                     {question}\n    }});\n}}\n"
                );
            }
        }
    }
    text
}

#[test]
fn the_variant_of_an_enum_is_read_without_its_payload() {
    let workspace = Workspace::with_library(&tests());
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), TYPES.len() * 65);
    for verdict in verdicts {
        let test = verdict["test"].as_str().expect("it has a name");
        let reads = test.ends_with("_reads");
        assert_eq!(verdict["kind"] == "race", reads, "{test}: {verdict}");
    }
}
