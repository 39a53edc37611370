//! The parsers of text that other programs and people write accept each text or refuse it with an
//! error.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_chess::fuzz::{
    chess_toml, protocol_line, schedule_file, schedule_file_of, schedule_word,
};
use chess_fuzz::Target;
use chess_runtime::shim::asm::Asm;
use rewriter::{
    Borrows, MutableStatics, Request, Subjects, audit, inline_asm, module_lines, references,
    rewrite,
};

/// Returns the texts of the files with this ending below a directory of the repository. Build
/// directories and symbolic links are left out.
fn files(directory: &str, ending: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut open = vec![root.join(directory)];
    let mut found: Vec<PathBuf> = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("the type of a file");
            if kind.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if kind.is_file() && path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    // The order of a directory is not defined.
    found.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).expect("a text");
    found.iter().map(read).collect()
}

#[test]
fn source_text_is_rewritten_or_refused() {
    let target = Target {
        name: "source text",
        words: &[
            "unsafe {",
            "}",
            "*p",
            "&raw const ",
            "&mut *p",
            "(*p).f()",
            "const fn ",
            "async ",
            "loop {",
            "if let Some(x) = ",
            "match x { _ if *p => 1, _ => 2 }",
            "else {",
            "move || ",
            "#![no_implicit_prelude]",
            "#[cfg(test)]",
            "mod m {",
            "macro_rules! m { ($e:expr) => { $e } }",
            "asm!(\"lock\")",
            "println!(\"{}\", &*p)",
            "static mut X: u32 = 0;",
            "&mut (*p).a",
            ".as_ref()",
            "r#\"",
            "\"#",
            "b'x'",
            "'a: ",
            "// ",
            "/*",
            "*/",
            "//! x\n",
            "let x = ",
            "return ",
            "extern \"C\" ",
            "impl T for U {",
            "fn f() {",
            "use std::sync::{Mutex, *};",
            "\r\n",
            "..=",
        ],
        check: |text| {
            let mut statics = MutableStatics::default();
            let declared = statics.add(text).is_ok();
            let borrows = Some(Borrows {
                statics: &statics,
                without: &[],
            });
            let request = Request {
                marks: true,
                borrows,
                ..Request::default()
            };
            let found = audit(text).map(|it| it.len());
            let asm = inline_asm(text).map(|it| it.len());
            let names = references(text, "std", true).map(|it| it.len());
            let lines = module_lines(text, &["tests"]).is_ok();
            let subjects = Subjects::of(text);
            let rewritten = match rewrite(text, &request) {
                Ok(rewritten) => rewritten,
                Err(error) => return error.to_string(),
            };
            let after = rewritten.apply(text);
            let breaks = |text: &str| text.matches('\n').count();
            assert_eq!(breaks(text), breaks(&after), "no line moves");
            let again = rewrite(&after, &Request::default());
            assert!(
                again.is_ok(),
                "the rewritten text has correct syntax: {after}"
            );
            for (number, line) in after.lines().enumerate().take(50) {
                for column in [1, 2, line.chars().count() / 2 + 1, line.chars().count() + 1] {
                    rewritten.original_place(text, number + 1, column);
                    rewritten.site_at(text, number + 1, column);
                }
            }
            if let Ok(subjects) = subjects {
                (1..20).for_each(|column| _ = subjects.at(1, column));
            }
            format!(
                "{declared} {found:?} {asm:?} {names:?} {lines} {} {} {}",
                rewritten.edits.len().magnitude(),
                rewritten.sites.len().magnitude(),
                rewritten.marks.magnitude()
            )
        },
    };
    let samples = files("rewriter/tests/programs", ".rs");
    target.run([samples, files("fixtures/catalog/src", ".rs")].concat());
}

/// The order of magnitude of a number. An outcome contains it in place of the number, so that fewer
/// inputs have a new outcome. It is a letter, because the fuzzer does not distinguish digits.
trait Magnitude {
    fn magnitude(self) -> char;
}

impl Magnitude for usize {
    fn magnitude(self) -> char {
        let bits = usize::BITS - self.leading_zeros();
        u8::try_from(bits).map_or('z', |bits| char::from(b'A' + bits))
    }
}

/// A schedule as the text of a file of format 1. The one-word form of a schedule encodes the same
/// text.
const OLD_SCHEDULE: &str = "format = 1\npackage = bank\nbinary = bank::t\ntest = atomic\n\
    kind = panic\nmessage = a\\n  left: 1\\u{1b}\nlocation = src/lib.rs:42:9\npreemptions = 1\n\
    strategy = icb\nseed = 0\nmemory = sc\nmax-steps = 20000\nisolate = image\n\
    backend = fibers\nraces = warn\npoint = src/lib.rs:12\nunjoined-panic = src/lib.rs:3\n\
    cargo = --release\nsources = 9f86d081884c7d659a2feaa0c55ad015\n\
    preempted-at = src/a.rs:31: x\\nsrc/b.rs:40: \\s\ndecisions = 17\n\n0*12 1*3 ?1 0\n";

const SCHEDULE_WORDS: &[&str] = &[
    "format = 1\n",
    "format = 2\n",
    "kind = \"panic\"\n",
    "seed = ",
    "point = a:1\n",
    "\"\"\"",
    "'''",
    "0*12 ",
    "?1 ",
    "1*18446744073709551615 ",
    "\\u{110000}",
    "\\n",
    "\\u",
    "\\s",
    "[[a]]\n",
    "{ file = \"a\", line = 1, column = 2 }",
    "preempted-at = [",
    "\r\n",
    "# ",
    "chess1:",
];

#[test]
fn a_schedule_file_is_read_or_refused() {
    let target = Target {
        name: "schedule file",
        words: SCHEDULE_WORDS,
        check: schedule_file,
    };
    target.run(vec![
        OLD_SCHEDULE.to_owned(),
        schedule_file_of(OLD_SCHEDULE),
    ]);
}

#[test]
fn a_schedule_word_is_read_or_refused() {
    let target = Target {
        name: "schedule word",
        words: SCHEDULE_WORDS,
        check: schedule_word,
    };
    target.run(vec![OLD_SCHEDULE.to_owned()]);
}

#[test]
fn a_protocol_line_is_read_or_refused() {
    let target = Target {
        name: "protocol line",
        words: &[
            "null",
            "true",
            "{}",
            "[]",
            "\"\"",
            "\"kind\":\"panic\"",
            "\"schedule\":\"0*3 1\"",
            "\"op\":\"lock\"",
            "\"note\":",
            "\"object\":",
            "\\u0000",
            "\\ud800",
            "1e400",
            "-0",
            ",",
        ],
        check: protocol_line,
    };
    let lines = include_str!("../samples/protocol.jsonl").lines();
    target.run(lines.map(str::to_owned).collect());
}

#[test]
fn a_chess_toml_is_read_or_refused() {
    let target = Target {
        name: "Chess.toml",
        words: &[
            "[explore]\n",
            "[policy]\n",
            "[crates.a]\n",
            "[[test]]\n",
            "filter = \"a\"\n",
            "[profile.ci.explore]\n",
            "preemptions = 3\n",
            "time = \"5m\"\n",
            "strategy = [\"icb\"]\n",
            "work = \"25M\"\n",
            "schedules = 7_000\n",
            "explore = { preemptions = 1 }\n",
            "races = \"warn\"\n",
            "scope = [\"src/a.rs\"]\n",
            "policy = \"atomic\"\n",
            "\"\"\"",
            "1979-05-27",
            "nan",
            "inf",
        ],
        check: chess_toml,
    };
    let mut samples = files("cargo-chess/src/commands/init", "Chess.toml");
    samples.extend(files("fixtures", "Chess.toml"));
    // The initial file has its keys in comments.
    let uncommented = samples.iter().map(|text| text.replace("\n# ", "\n"));
    samples.extend(uncommented.collect::<Vec<_>>());
    target.run(samples);
}

#[test]
fn assembly_is_classified() {
    let target = Target {
        name: "assembly",
        words: &[
            "\"lock cmpxchg [{p}], {x}\"",
            "\"mfence\"",
            "\"syscall\"",
            "\"rdtsc\"",
            "\\n",
            "\\t",
            "\\\"",
            "concat!(",
            "\"xchg \"",
            "/*",
            "*/",
            "//",
            "#",
            ";",
            "[rsp]",
            "{0:e}",
            "in(reg) p",
            "'\"'",
            "r#\"",
            "\"#",
            "options(nostack)",
            "int 0x80",
            "rep ",
            ".byte 0xf0",
            "label:",
            "'\\\"'",
        ],
        check: |text| {
            // The fuzzer does not distinguish digits. So the digits of the bit set become letters.
            let classes = format!("{:?}", Asm::of(text));
            let letter = |c: char| c.to_digit(10).and_then(|it| char::from_digit(it + 10, 36));
            classes.chars().map(|c| letter(c).unwrap_or(c)).collect()
        },
    };
    let samples = [
        "\"lock xadd [{p}], {x}\", p = in(reg) p, x = inout(reg) x, options(nostack)",
        "\"mfence\", \"lfence\"",
        "\"syscall\", in(\"rax\") 1, lateout(\"rcx\") _",
        "concat!(\"lock \", \"inc dword ptr [{}]\"), in(reg) p",
        "\"lock; orq $0, (%rsp)\", options(att_syntax)",
        "\"xchg {x}, [{p}] // swap\\n /* lock */ rdrand {y}\"",
        "r#\"cpuid\"#, '\"', \"int 0x80\"",
    ];
    target.run(samples.map(str::to_owned).to_vec());
}
