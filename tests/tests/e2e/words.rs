//! No program reads words that are meant for people: if each word is scrambled, reports,
//! explanations and pages still contain all their facts.

use std::fmt::Write as _;
use std::fs;

use chess_vocabulary::words::scrambled_text;
use chess_vocabulary::{NoteKind, ObjectKind, Op, TaskId, Token as _};
use end_to_end::{Chess, Workspace, without_durations};
use regex::Regex;
use serde_json::{Value, json};

const PROGRAMS: &str = r#"
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
    use std::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn crossed() {
        let (left, right) = (Mutex::new(0), Mutex::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _one = left.lock().unwrap();
                let _two = right.lock().unwrap();
            });
            scope.spawn(|| {
                let _one = right.lock().unwrap();
                let _two = left.lock().unwrap();
            });
        });
    }

    #[test]
    fn unheard() {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let sleeper = thread::spawn(move || {
            if !*other.0.lock().unwrap() {
                let guard = other.0.lock().unwrap();
                drop(other.1.wait(guard).unwrap());
            }
        });
        *shared.0.lock().unwrap() = true;
        shared.1.notify_one();
        sleeper.join().unwrap();
    }

    #[test]
    fn sold_twice() {
        let stock = RwLock::new(1);
        let sold = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    if *stock.read().unwrap() > 0 && stock.try_write().is_ok_and(|mut it| { *it = 0; true }) {
                        sold.store(sold.load(SeqCst) + 1, SeqCst);
                    } else {
                        sold.store(7, SeqCst);
                    }
                });
            }
        });
        assert_eq!(sold.into_inner(), 7);
    }

    #[test]
    fn weak() {
        let flag = AtomicBool::new(false);
        assert!(flag.compare_exchange_weak(false, true, SeqCst, SeqCst).is_ok());
    }

    #[test]
    fn spurious() {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *ready.lock().unwrap() = true;
                changed.notify_all();
            });
            let mut is_ready = ready.lock().unwrap();
            if !*is_ready {
                is_ready = changed.wait(is_ready).unwrap();
            }
            assert!(*is_ready);
        });
    }

    #[test]
    fn impatient() {
        let (sender, receiver) = mpsc::channel();
        let worker = thread::spawn(move || sender.send(1));
        assert!(receiver.recv_timeout(Duration::from_secs(30)).is_ok());
        let _ = worker.join().unwrap();
    }

    /// With an effect outside control and a warning.
    #[test]
    fn noted() {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        drop(thread::spawn(move || {
            other.store(true, SeqCst);
            panic!();
        }));
        assert!(!flag.load(SeqCst));
        assert!(std::process::Command::new("true").status().unwrap().success());
    }
}
"#;

/// The number of tests in the library.
const COUNT: usize = 7;

/// Returns all words: for each one, its scrambled form, the word, and whether a number follows it.
/// The longest scrambled forms come first.
fn table() -> Vec<(String, String, bool)> {
    let ops = Op::ALL.iter().map(|it| (it.name(), false));
    let notes = NoteKind::ALL.iter().map(|it| (it.words(), false));
    let objects = ObjectKind::ALL
        .iter()
        .map(|it| (it.words(), !it.is_single()));
    let others = [("Mutex", false), ("RwLock", false), ("main", false)];
    let all = ops.chain(notes).chain(objects).chain(others);
    let mut all: Vec<_> = all
        .map(|(words, number)| (scrambled_text(words), words.to_owned(), number))
        .collect();
    all.sort_by_key(|(scrambled, ..)| std::cmp::Reverse(scrambled.len()));
    assert_eq!(TaskId(2).to_string(), "task 2");
    all
}

/// Returns `text` with the original words in place of the scrambled ones.
fn unscrambled(text: &str, table: &[(String, String, bool)]) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_begin = !plain.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let found = table
            .iter()
            .filter(|_| is_begin)
            .find(|(scrambled, _, number)| {
                rest.strip_prefix(scrambled.as_str()).is_some_and(|after| {
                    let next = after.chars().next().unwrap_or(' ');
                    if *number {
                        next.is_ascii_digit()
                    } else {
                        !next.is_alphanumeric() && !"~|^_".contains(next)
                    }
                })
            });
        if let Some((scrambled, words, _)) = found {
            plain += words;
            rest = &rest[scrambled.len()..];
        } else {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    plain
}

fn scrambled(chess: Chess) -> Chess {
    chess.env("CHESS_TEST_WORDS", "scrambled")
}

/// Returns `text` without durations.
fn without_times(text: &str) -> String {
    let times = Regex::new(r"[0-9.]+s\b").expect("a pattern");
    times.replace_all(text, "TIME").into_owned()
}

/// Returns the words of a text, separated by single spaces.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const TEST: &[&str] = &[
    "test",
    "--no-fail-fast",
    "--spurious",
    "any",
    "--timing",
    "deny",
];

#[test]
fn every_report_explanation_and_page_has_its_facts_without_the_words() {
    let table = table();
    let workspace = Workspace::with_library(PROGRAMS);
    let verdicts = |of: fn(Chess) -> Chess| {
        let args = [TEST, &["--message-format", "json"]].concat();
        let run = of(workspace.chess(&args)).run();
        run.assert_code(100);
        without_durations(run.verdicts())
    };
    let without_words = verdicts(scrambled);
    // The failures of this run are explained below.
    let plain = verdicts(|chess| chess);
    assert_eq!(plain.len(), COUNT);
    let mut differences = String::new();
    for (plain, other) in plain.iter().zip(&without_words) {
        assert_eq!(plain["outcome"], "failed", "{plain}");
        let (Value::Object(plain), Value::Object(other)) = (plain, other) else {
            panic!("verdicts are objects");
        };
        // The name of a file has a digest of the message.
        for (key, value) in plain.iter().filter(|(key, _)| *key != "schedule") {
            let unscrambled = unscrambled(&other[key].to_string(), &table);
            differ(&mut differences, key, &unscrambled, &value.to_string());
        }
    }
    for key in ["warnings", "outside"] {
        let has_some = |verdict: &&Value| verdict[key] != json!([]);
        assert!(plain.iter().any(|verdict| has_some(&verdict)), "{key}");
    }
    for verdict in &plain {
        let schedule = verdict["schedule"].as_str().expect("it was saved");
        for command in [
            &["explain", schedule][..],
            &["explain", schedule, "--html=page.html"],
            &["replay", schedule],
            &["replay", schedule, "--trace"],
        ] {
            let run = |of: fn(Chess) -> Chess| {
                let page = workspace.root().join("page.html");
                let _ = fs::remove_file(&page);
                let chess = workspace.chess(command).env("CARGO_TERM_QUIET", "true");
                let run = of(chess).run();
                let page = fs::read_to_string(&page).unwrap_or_default();
                format!("{}\n{}\n{page}", run.stdout, without_times(&run.stderr))
            };
            let plain = run(|chess| chess);
            let without_words = run(scrambled);
            assert!(plain != without_words, "there are words: {plain}");
            differ(
                &mut differences,
                &command.join(" "),
                &in_one_line(&unscrambled(&without_words, &table)),
                &in_one_line(&plain),
            );
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// If two texts differ, adds the part of each text at which the difference begins to
/// `differences`.
fn differ(differences: &mut String, what: &str, other: &str, plain: &str) {
    let same = other.chars().zip(plain.chars());
    let same = same.take_while(|(a, b)| a == b).count();
    let from = |text: &str| -> String {
        let from = same.saturating_sub(60);
        text.chars().skip(from).take(160).collect()
    };
    if other != plain {
        let (plain, other) = (from(plain), from(other));
        writeln!(differences, "{what}:\n  plain {plain:?}\n  other {other:?}")
            .expect("a string takes all");
    }
}
