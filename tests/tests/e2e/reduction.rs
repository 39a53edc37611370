//! The reduced searches reach the outcomes of all schedules, for random programs on the real
//! engine.
//!
//! Random programs of a model are compared with brute force in the crate of the search
//! (`runtime/search/src/testing`). The programs here are ordinary ones, with threads that spawn and
//! join others, and with locks, atomics and owners. They therefore show whether the engine reports
//! all relevant events to a search. Assembly that synchronizes disables the reduction of a search.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use end_to_end::Workspace;
use serde_json::Value;

/// Returns the number of programs of each kind: the environment variable `CHESS_PROGRAMS`, or a
/// default.
fn programs() -> usize {
    const USUAL: usize = 25;
    let asked = std::env::var("CHESS_PROGRAMS");
    asked.map_or(USUAL, |text| {
        text.parse().expect("CHESS_PROGRAMS is a number")
    })
}

/// A random program, and its interpreter.
const LIBRARY: &str = r#"
use std::arch::asm;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst, fence};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Looks at what most programs do not look at, or does not.
pub trait Looks: Send + 'static {
    fn ended(_: &JoinHandle<u64>) -> bool {
        false
    }
    fn owners(_: &Arc<Shared>) -> usize {
        0
    }
}

#[derive(Clone, Debug)]
enum Act {
    Add(usize),
    Store(usize),
    Load(usize),
    Lock(usize),
    LockTwo(usize),
    TryLock(usize),
    Read(usize),
    Write(usize),
    Exchange(usize),
    Wait(usize),
    NotifyOne(usize),
    NotifyAll(usize),
    Send,
    Receive,
    Init,
    Fence,
    Sleep(usize),
    WaitTimeout(usize),
    ReceiveTimeout,
    ParkTimeout,
    Unpark,
    Clock(usize),
    Spawn(Vec<Act>),
    Join,
    Ended,
    Owners,
    /// Gives up an owner whose last one adds to a cell.
    Leave,
}

pub struct Shared {
    cells: [AtomicU64; 2],
    locks: [Mutex<u64>; 2],
    shares: [RwLock<u64>; 2],
    changes: [Condvar; 2],
    sender: Sender<u64>,
    receiver: Mutex<Receiver<u64>>,
    first: OnceLock<u64>,
    start: Instant,
}

const MOMENT: Duration = Duration::from_millis(1);

impl Shared {
    fn new() -> Self {
        let (sender, receiver) = channel();
        Self {
            cells: Default::default(),
            locks: Default::default(),
            shares: Default::default(),
            changes: Default::default(),
            sender,
            receiver: Mutex::new(receiver),
            first: OnceLock::new(),
            start: Instant::now(),
        }
    }
}

struct Loud(Arc<Shared>);

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.cells[0].fetch_add(1000, SeqCst);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// What a task does, of these kinds; `tasks` many may still be spawned, and all do
/// `steps` more.
fn acts(
    random: &mut Random,
    kinds: &[usize],
    tasks: &mut usize,
    steps: &mut usize,
    most: usize,
) -> Vec<Act> {
    let mut acts = Vec::new();
    for _ in 0..1 + random.below(most) {
        let which = random.below(2);
        let act = match kinds[random.below(kinds.len())] {
            0 => Act::Add(which),
            1 => Act::Store(which),
            2 => Act::Load(which),
            3 => Act::Lock(which),
            4 => Act::LockTwo(which),
            5 => Act::TryLock(which),
            6 => Act::Read(which),
            7 => Act::Write(which),
            8 => Act::Join,
            9 => Act::Ended,
            10 => Act::Owners,
            11 => Act::Leave,
            12 => Act::Exchange(which),
            13 => Act::Wait(which),
            14 => Act::NotifyOne(which),
            15 => Act::NotifyAll(which),
            16 => Act::Send,
            17 => Act::Receive,
            18 => Act::Init,
            19 => Act::Fence,
            21 => Act::Sleep(which),
            22 => Act::WaitTimeout(which),
            23 => Act::ReceiveTimeout,
            24 => Act::ParkTimeout,
            25 => Act::Unpark,
            26 => Act::Clock(which),
            _ if *tasks > 0 => {
                *tasks -= 1;
                Act::Spawn(self::acts(random, kinds, tasks, steps, 2))
            }
            _ => continue,
        };
        if *steps == 0 {
            break;
        }
        *steps -= 1;
        acts.push(act);
    }
    acts
}

fn perform<L: Looks>(shared: Arc<Shared>, loud: Arc<Loud>, acts: Vec<Act>, name: u64) -> u64 {
    let (mut seen, mut loud) = (name, Some(loud));
    let mut see = |value: u64| seen = (seen.wrapping_mul(31).wrapping_add(value)) % 1_000_003;
    let mut children: Vec<JoinHandle<u64>> = Vec::new();
    for act in acts {
        match act {
            Act::Add(at) => see(shared.cells[at].fetch_add(name, SeqCst)),
            Act::Store(at) => shared.cells[at].store(name, SeqCst),
            Act::Load(at) => see(shared.cells[at].load(SeqCst)),
            Act::Lock(at) => {
                let mut guard = shared.locks[at].lock().unwrap();
                *guard = *guard * 3 + name;
            }
            Act::LockTwo(at) => {
                let outer = shared.locks[0].lock().unwrap();
                let mut inner = shared.locks[1].lock().unwrap();
                *inner = *inner * 5 + *outer + at as u64;
            }
            Act::TryLock(at) => match shared.locks[at].try_lock() {
                Ok(mut guard) => *guard = *guard * 3 + name,
                Err(_) => see(77),
            },
            Act::Read(at) => see(*shared.shares[at].read().unwrap()),
            Act::Write(at) => {
                let mut guard = shared.shares[at].write().unwrap();
                *guard = *guard * 3 + name;
            }
            Act::Exchange(at) => {
                let exchanged = shared.cells[at].compare_exchange(0, name, SeqCst, SeqCst);
                see(u64::from(exchanged.is_ok()));
            }
            // For ever, perhaps: then that execution tells nothing.
            Act::Wait(at) => {
                let mut guard = shared.locks[at].lock().unwrap();
                if *guard % 2 == 0 {
                    guard = shared.changes[at].wait(guard).unwrap();
                }
                *guard = *guard * 3 + name;
            }
            Act::NotifyOne(at) => {
                *shared.locks[at].lock().unwrap() += 1;
                shared.changes[at].notify_one();
            }
            Act::NotifyAll(at) => shared.changes[at].notify_all(),
            Act::Send => shared.sender.send(name).unwrap(),
            Act::Receive => {
                let received = shared.receiver.lock().unwrap().try_recv();
                see(received.unwrap_or(99));
            }
            Act::Init => see(*shared.first.get_or_init(|| {
                shared.cells[1].fetch_add(1, SeqCst);
                name
            })),
            Act::Fence => fence(SeqCst),
            Act::Sleep(at) => thread::sleep(MOMENT * (1 + at as u32)),
            Act::WaitTimeout(at) => {
                let mut guard = shared.locks[at].lock().unwrap();
                if *guard % 2 == 0 {
                    let result;
                    (guard, result) = shared.changes[at].wait_timeout(guard, MOMENT).unwrap();
                    see(u64::from(result.timed_out()));
                }
                *guard = *guard * 3 + name;
            }
            Act::ReceiveTimeout => {
                let received = shared.receiver.lock().unwrap().recv_timeout(MOMENT);
                see(received.unwrap_or(98));
            }
            Act::ParkTimeout => thread::park_timeout(MOMENT),
            Act::Unpark => {
                if let Some(child) = children.last() {
                    child.thread().unpark();
                }
            }
            // To read the clock is no scheduling point.
            Act::Clock(at) => {
                see(shared.cells[at].load(SeqCst));
                see(shared.start.elapsed().as_millis() as u64);
            }
            Act::Spawn(acts) => {
                let (shared, loud) = (shared.clone(), loud.clone());
                let name = name * 4 + children.len() as u64 + 1;
                let Some(loud) = loud else { continue };
                children.push(thread::spawn(move || perform::<L>(shared, loud, acts, name)));
            }
            Act::Join => {
                if let Some(child) = children.pop() {
                    see(child.join().unwrap());
                }
            }
            Act::Ended => {
                if let Some(child) = children.last() {
                    see(u64::from(L::ended(child)));
                }
            }
            Act::Owners => see(L::owners(&shared) as u64),
            Act::Leave => loud = None,
        }
    }
    // Some are left to themselves.
    if seen % 4 != 0 {
        for child in children {
            seen = (seen * 31 + child.join().unwrap()) % 1_000_003;
        }
    }
    seen
}

/// Runs the program `seed`, which may wait for time or not, with all its schedules or not,
/// and tells what it came to.
pub fn run<L: Looks>(name: &str, seed: u64, timed: bool, all: bool) {
    let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut tasks, mut steps) = (1, 9);
    // Programs about few kinds of objects have more races.
    let kinds: Vec<usize> = (0..6).map(|_| random.below(if timed { 27 } else { 21 })).collect();
    let mut own = vec![];
    for _ in 0..2 {
        let acts = acts(&mut random, &kinds, &mut tasks, &mut steps, 3);
        own.push(Act::Spawn(acts));
    }
    own.extend(acts(&mut random, &kinds, &mut tasks, &mut steps, 3));
    if all {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // SAFETY: it changes what may be changed.
        unsafe { asm!("lock inc qword ptr [{}]", in(reg) COUNT.as_ptr()) };
    }
    let shared = Arc::new(Shared::new());
    let loud = Arc::new(Loud(shared.clone()));
    let seen = perform::<L>(shared.clone(), loud, own, 1);
    let cells = shared.cells.each_ref().map(|cell| cell.load(SeqCst));
    let locks = shared.locks.each_ref().map(|lock| *lock.lock().unwrap());
    let shares = shared.shares.each_ref().map(|lock| *lock.read().unwrap());
    let path = format!("outcomes/{name}-{seed}-{all}");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{seen} {cells:?} {locks:?} {shares:?}").unwrap();
}
"#;

const LOOKS: &str = "
impl Looks for Kind {
    fn ended(child: &std::thread::JoinHandle<u64>) -> bool {
        child.is_finished()
    }
    fn owners(shared: &std::sync::Arc<small::Shared>) -> usize {
        std::sync::Arc::strong_count(shared)
    }
}
";

/// A test in addition to the random programs. The presence of its code makes every event that it
/// could observe a scheduling point of these programs, too.
const COULD_LOOK: &str = "
impl Looks for Kind {}

#[test]
fn looks() {
    let owner = std::sync::Arc::new(());
    let thread = std::thread::spawn(|| {});
    while !thread.is_finished() {
        std::thread::yield_now();
    }
    assert_eq!(std::sync::Arc::strong_count(&owner), 1);
}
";

/// Returns the source of tests that run the programs of one kind. Each seed has one test for each
/// of `sets`: the start of the test's name, and whether all schedules are explored.
fn tests_of(kind: &str, looks: &str, timed: bool, sets: &[(&str, bool)]) -> String {
    use std::fmt::Write as _;
    let mut tests = format!("use small::Looks;\n\nstruct Kind;\n{looks}\n");
    for seed in 0..programs() {
        for (set, all) in sets {
            let call = format!("small::run::<Kind>({kind:?}, {seed}, {timed}, {all});");
            write!(tests, "#[test]\nfn {set}_{seed}() {{\n    {call}\n}}\n\n").expect("a string");
        }
    }
    tests
}

/// The results of a run: the outcomes of each test, the tests that were explored to completion,
/// and the number of pruned schedules of all tests.
struct Outcomes {
    reached: BTreeMap<String, BTreeSet<String>>,
    complete: BTreeSet<String>,
    pruned: u64,
}

impl Outcomes {
    fn of(workspace: &Workspace, arguments: &[&str]) -> Self {
        let directory = workspace.root().join("outcomes");
        _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("it can be made");
        // Tests that wait for ever fail, and must not end the exploration of others.
        let keep_going = ["--keep-going", "--no-fail-fast", "--message-format=json"];
        let common = ["test", "--schedules=3000000", "--time=600s"];
        let run = workspace.chess(&[&common, &keep_going, arguments].concat());
        let run = run.run();
        assert!(matches!(run.code, Some(0 | 100)), "{run:?}");
        let verdicts = run.verdicts();
        let complete = verdicts
            .iter()
            .filter(|verdict| verdict["complete"] == true);
        let name = |verdict: &Value| format!("{} {}", verdict["binary"], verdict["test"]);
        let files = fs::read_dir(&directory).expect("it is there");
        let files = files.map(|file| file.expect("it can be listed"));
        let lines = |path| {
            let text = fs::read_to_string(path).expect("it can be read");
            text.lines().map(str::to_owned).collect()
        };
        let name_of = |file: &fs::DirEntry| file.file_name().into_string().expect("ours");
        Self {
            reached: files
                .map(|file| (name_of(&file), lines(file.path())))
                .collect(),
            complete: complete
                .map(|verdict| name(verdict).replace('"', ""))
                .collect(),
            pruned: verdicts
                .iter()
                .filter_map(|verdict| verdict["pruned"].as_u64())
                .sum(),
        }
    }

    /// Returns the outcomes of the program of the test `reduced`, but under all schedules.
    fn of_all(&self, reduced: &str) -> &BTreeSet<String> {
        &self.reached[&reduced.replace("-false", "-true")]
    }
}

#[test]
fn reduced_searches_reach_the_outcomes_of_all_schedules() {
    let workspace = Workspace::with_library(LIBRARY);
    let (reduced, all) = (("reduced", false), ("all", true));
    let none = "impl Looks for Kind {}";
    for (file, kind, looks, timed, sets) in [
        ("plain", "plain", none, false, &[reduced][..]),
        ("watched", "plain", COULD_LOOK, false, &[all]),
        ("looking", "looking", LOOKS, false, &[reduced, all]),
        ("timed", "timed", none, true, &[reduced, all]),
    ] {
        let tests = tests_of(kind, looks, timed, sets);
        workspace.write(&format!("tests/{file}.rs"), &tests);
    }
    let icb = |bound: &str, timers: &str, set| {
        let bound = format!("--preemptions={bound}");
        let arguments = ["--strategy=icb", &bound, "--timers", timers, set];
        Outcomes::of(&workspace, &arguments)
    };
    for (bound, timers) in [("0", "any"), ("1", "any"), ("2", "any"), ("1", "last")] {
        let (reduced, all) = (icb(bound, timers, "reduced"), icb(bound, timers, "all"));
        assert!(reduced.reached.len() > programs());
        assert!(reduced.pruned > 0);
        assert_eq!(all.pruned, 0);
        for (name, outcomes) in &reduced.reached {
            let named = format!("{name} up to {bound}, timers {timers}");
            assert_eq!(outcomes, all.of_all(name), "{named}");
        }
    }
    // The two phases together reach the same outcomes as a single search with timeouts at any
    // time. They reach more outcomes than the phase without early timeouts.
    let reached = |timers| icb("1", timers, "reduced_").reached;
    let (any, both) = (reached("any"), reached("last-then-any"));
    assert_eq!(any, both);
    assert!(
        reached("last")
            .iter()
            .any(|(name, last)| both[name] != *last)
    );
    // Without a bound there are too many schedules. All outcomes within the largest completed
    // bound must be reached.
    let (reduced, all) = (
        Outcomes::of(&workspace, &["--strategy=dpor", "reduced"]),
        icb("2", "any", "all"),
    );
    assert!(reduced.complete.len() > programs());
    for (name, outcomes) in &reduced.reached {
        let [kind, seed, _] = name.split('-').collect::<Vec<_>>()[..] else {
            panic!("{name}");
        };
        if reduced
            .complete
            .contains(&format!("small::{kind} reduced_{seed}"))
        {
            let missing: Vec<_> = all.of_all(name).difference(outcomes).collect();
            assert!(missing.is_empty(), "{name} dpor: {missing:?}");
        }
    }
}
