//! `cargo chess explain --html` writes a page to step through a failure. It is tested in a real
//! browser.

use std::path::PathBuf;

use end_to_end::{Browser, Workspace};

/// A program, and the page about its failure.
struct Page {
    workspace: Workspace,
    file: PathBuf,
}

impl Page {
    fn of(source: &str) -> Self {
        let workspace = Workspace::with_library(source);
        workspace.chess(&["test"]).run().assert_code(100);
        let run = workspace.chess(&["explain", "--last", "--html"]).run();
        run.assert_code(0);
        let (_, path) = run.stderr.split_once("Written ").expect("it says where");
        let file = workspace.root().join(path.trim());
        Self { workspace, file }
    }

    fn open(&self, width: u32, hash: &str) -> Browser {
        let mut browser = Browser::start(width, 900);
        browser.open(&self.file, hash);
        assert_eq!(browser.errors, Vec::<serde_json::Value>::new());
        browser
    }
}

/// Returns the current step, by its position on the page and by the address.
fn step(browser: &mut Browser) -> u64 {
    let said = browser.text("#position");
    let number = said
        .strip_prefix("step ")
        .and_then(|it| it.split(' ').next());
    let number = number.expect("a step").parse().expect("a number");
    let hash = browser.eval("location.hash");
    let hash = hash.as_str().expect("an address").trim_start_matches('#');
    assert_eq!(hash.split('&').next(), Some(&*format!("step={number}")));
    number
}

/// Selects an option of a list.
fn choose(browser: &mut Browser, list: &str, value: &str) {
    browser.eval(&format!(
        "(() => {{ const it = document.getElementById({list:?}); it.value = {value:?}; \
         it.dispatchEvent(new Event('change')); }})()"
    ));
}

/// Two tasks that lock in opposite orders, and a flag.
const CROSSED: &str = r"
#[test]
fn crossed() {
    use std::sync::{Mutex, atomic::{AtomicBool, Ordering::SeqCst}};
    let (left, right) = (Mutex::new(0), Mutex::new(0));
    let begun = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, SeqCst);
            let _a = left.lock();
            let _b = right.lock();
        });
        scope.spawn(|| {
            let _b = right.lock();
            let _a = left.lock();
        });
    });
}
";

#[test]
fn keys_and_buttons_step_and_source_and_locks_follow() {
    if !Browser::is_there() {
        return;
    }
    let page = Page::of(CROSSED);
    let mut browser = page.open(1300, "");
    assert_eq!(browser.text("h1"), "deadlock: small crossed");
    assert!(
        browser
            .text("#why")
            .contains("was switched out at src/lib.rs:")
    );

    // The page begins where a task is switched out.
    let begin = step(&mut browser);
    let next = browser.text(&format!(
        ".row[data-event='{}'] + .mark.preempted",
        begin - 1
    ));
    assert!(next.contains("is preempted before Mutex::lock"), "{next}");

    // Keys and buttons select the step.
    browser.press("ArrowRight");
    assert_eq!(step(&mut browser), begin + 1);
    browser.press("k");
    assert_eq!(step(&mut browser), begin);
    browser.click("#forward");
    assert_eq!(step(&mut browser), begin + 1);
    browser.click("#back");
    assert_eq!(step(&mut browser), begin);
    browser.press("Home");
    assert_eq!(step(&mut browser), 1);
    browser.press("ArrowLeft");
    assert_eq!(step(&mut browser), 1);
    browser.press("n");
    assert_eq!(
        browser.text(".row.current .number"),
        step(&mut browser).to_string()
    );
    assert!(browser.text("#event .what").contains(": start"));

    // The source is scrolled to the line of the step.
    browser.press("End");
    assert!(browser.text("#event").contains("Mutex::lock"));
    let current = browser.text("#source .code .current:nth-child(3n)");
    assert!(current.contains(".lock();"), "{current}");
    let in_sight = "(() => { const line = document.querySelector('#source .current').getBoundingClientRect(); \
        const pane = document.getElementById('source').getBoundingClientRect(); \
        return line.top >= pane.top && line.bottom <= pane.bottom; })()";
    assert_eq!(browser.eval(in_sight), true);

    // Locks, and the wait-for relation of tasks.
    let locks = browser.text("#locks");
    assert!(locks.contains("left") && locks.contains("right"), "{locks}");
    let graph = browser.eval("document.querySelector('#graph svg').getAttribute('aria-label')");
    assert_eq!(graph, "task 1 waits for task 2; task 2 waits for task 1");
    assert_eq!(
        browser.eval("document.querySelectorAll('#graph .cycle').length"),
        2
    );
    assert_eq!(browser.text("#values"), "begun: true");
    browser.press("Home");
    assert_eq!(browser.text("#locks"), "No lock is held.");

    // The page can show another theme, and the other execution.
    let theme = browser.eval("document.documentElement.dataset.theme");
    browser.press("t");
    let other = browser.eval("document.documentElement.dataset.theme");
    assert_ne!(other, theme);
    choose(&mut browser, "run", "1");
    browser.press("End");
    assert!(browser.text(".row.current").contains("exit"));
    assert_eq!(browser.errors, Vec::<serde_json::Value>::new());
}

#[test]
fn arrows_filters_searches_and_links_lead_to_steps() {
    if !Browser::is_there() {
        return;
    }
    let page = Page::of(CROSSED);
    let mut browser = page.open(1300, "#step=1");

    // Of the happens-before arrows, those of the current step are highlighted, and are links.
    browser.press("ArrowRight");
    assert!(browser.text("#event .what").contains("spawn task 1"));
    assert_eq!(
        browser.eval("document.querySelectorAll('.arrow.near').length"),
        1
    );
    let target = browser.text("#event a");
    browser.click("#event a");
    assert!(
        target.starts_with(&format!("{} (task 1: start", step(&mut browser))),
        "{target}"
    );

    // A filter by object shows only the events of this object, and the keys select only these.
    choose(&mut browser, "filter", "right");
    let rows = "[...document.querySelectorAll('.row:not(.mark)')].every(it => it.textContent.includes('right'))";
    assert_eq!(browser.eval(rows), true);
    browser.press("ArrowRight");
    browser.press("ArrowLeft");
    assert!(browser.text("#event .what").contains("right"));
    assert!(
        browser
            .eval("location.hash")
            .as_str()
            .is_some_and(|it| it.ends_with("&object=right"))
    );
    browser.press("f");
    assert_eq!(browser.eval("document.getElementById('filter').value"), "");

    // A search, by keyboard only.
    browser.press("Home");
    browser.press("/");
    browser.type_in("store begun");
    assert_eq!(browser.text("#found"), "1 found");
    browser.press("Enter");
    assert_eq!(browser.text("#found"), "1 of 1");
    assert!(
        browser
            .text(".row.current.hit")
            .contains("store begun: true")
    );
    browser.press("Escape");
    let found = step(&mut browser);

    assert_eq!(browser.errors, Vec::<serde_json::Value>::new());

    // A deep link leads to its step, in a page that is newly opened.
    let mut other = page.open(1300, &format!("#step={found}"));
    assert!(other.text("#event .what").contains("store begun: true"));
    other.eval("location.hash = '#step=4'");
    while step(&mut other) != 4 {}
}

#[test]
fn on_a_phone_nothing_is_wider_than_the_screen() {
    if !Browser::is_there() {
        return;
    }
    let page = Page::of(CROSSED);
    let mut browser = page.open(1300, "");
    let phone =
        serde_json::json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", &phone);
    browser.open(&page.file, "#step=5");
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), 390);
    let timeline = browser.eval("document.getElementById('timeline').scrollWidth");
    assert!(timeline.as_u64() <= Some(390), "{timeline}");
    browser.click("#forward");
    assert_eq!(step(&mut browser), 6);
    assert_eq!(browser.errors, Vec::<serde_json::Value>::new());
}

#[test]
fn the_output_of_the_program_is_text_and_no_part_of_the_page() {
    if !Browser::is_there() {
        return;
    }
    let page = Page::of(
        r#"
#[test]
fn hostile() {
    let task = std::thread::Builder::new().name("<i>&amp;</i>".into());
    task.spawn(|| ()).unwrap().join().unwrap();
    panic!("</script><script>document.title = 'taken'</script><b id=taken>");
}
"#,
    );
    let mut browser = page.open(1300, "#step=2");
    assert_eq!(browser.eval("document.title"), "panic: small hostile");
    assert_eq!(
        browser.eval("document.getElementById('taken')"),
        serde_json::Value::Null
    );
    assert!(browser.text("#message").starts_with("</script><script>"));
    assert_eq!(browser.text("#tasks span:last-child"), "<i>&amp;</i>");
}

#[test]
fn of_a_long_execution_only_the_rows_in_sight_exist() {
    if !Browser::is_there() {
        return;
    }
    let page = Page::of(
        r"
#[test]
fn long() {
    use std::sync::{Mutex, atomic::{AtomicU32, Ordering::SeqCst}};
    let (lock, count) = (Mutex::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..9 {
            scope.spawn(|| {
                for _ in 0..550 {
                    *lock.lock().unwrap() += 1;
                    count.fetch_add(1, SeqCst);
                    std::thread::yield_now();
                }
            });
        }
    });
    panic!();
}
",
    );
    let mut browser = page.open(1500, "#step=1");
    let events: u64 = browser.eval("run().count").as_u64().expect("a number");
    assert!(events > 19_000, "{events}");
    assert_eq!(
        browser.eval("document.querySelectorAll('#tasks span').length"),
        10
    );
    for key in ["End", "ArrowLeft", "p", "Home", "]"] {
        browser.press(key);
        assert_eq!(
            browser.eval("document.querySelectorAll('.row.current').length"),
            1
        );
        let rows = browser.eval("document.querySelectorAll('.row').length");
        assert!(rows.as_u64() < Some(100), "{rows}");
    }
    browser.press("/");
    browser.type_in("4000 ");
    browser.press("Enter");
    assert!(
        browser
            .text(".row.current")
            .contains("fetch_add count: 3999 \u{2192} 4000")
    );
    assert_eq!(browser.errors, Vec::<serde_json::Value>::new());
}

#[test]
fn the_page_is_written_where_it_is_wanted() {
    let page = Page::of(CROSSED);
    let html = page
        .workspace
        .chess(&["explain", "--html=out/page.html"])
        .run();
    html.assert_code(0);
    assert!(html.stderr.contains("Written out/page.html"), "{html:?}");
    assert!(page.workspace.root().join("out/page.html").exists());
    let refused = page
        .workspace
        .chess(&["explain", "--html=src/lib.rs/page.html"])
        .run();
    refused.assert_code(101);
    assert!(
        refused
            .stderr
            .contains("could not create the directory src/lib.rs"),
        "{refused:?}"
    );
}

/// Returns a page about a library with a dependency that is not a member of the workspace.
fn shop() -> Page {
    let workspace = Workspace::copy_of("calls");
    workspace
        .chess(&["test", "tests::buggy"])
        .run()
        .assert_code(100);
    let run = workspace.chess(&["explain", "--last", "--html"]).run();
    run.assert_code(0);
    let (_, path) = run.stderr.split_once("Written ").expect("it says where");
    let file = workspace.root().join(path.trim());
    Page { workspace, file }
}

#[test]
fn a_call_of_a_dependency_is_one_row_that_opens() {
    let page = shop();
    let mut browser = page.open(1300, "#step=8");
    assert_eq!(step(&mut browser), 8);
    let row = browser.text(".row.current");
    assert!(row.contains("Shelf::get: 3 events"), "{row}");
    assert!(row.contains("src/lib.rs:17"), "{row}");
    assert!(browser.text("#event").contains("called from src/lib.rs:17"));

    // The next row belongs to the other task.
    browser.press("ArrowRight");
    assert_eq!(step(&mut browser), 11);
    browser.press("ArrowLeft");
    assert_eq!(step(&mut browser), 8);

    browser.press("Enter");
    assert!(
        browser
            .text(".row.current")
            .contains("fetch_add self.calls")
    );
    browser.press("ArrowRight");
    assert_eq!(step(&mut browser), 9);
    assert!(
        browser
            .text(".row.current")
            .contains("Mutex::lock self.goods")
    );
    browser.press("Enter");
    assert_eq!(step(&mut browser), 8);
    assert!(
        browser
            .text(".row.current")
            .contains("Shelf::get: 3 events")
    );
    assert!(page.workspace.root().exists());
    assert_eq!(browser.errors, Vec::<serde_json::Value>::new());
}
