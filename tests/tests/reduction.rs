//! What the reduced searches reach, of random programs on the real engine, is what all schedules reach.
//!
//! Random programs of a model are compared with brute force inside the runtime (its
//! `search/model`). These here are ordinary programs, of threads that spawn and join
//! others, of locks, atomics and owners, and so show whether the engine tells a search
//! of all that matters. A fence makes a search take every schedule there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use end_to_end::Workspace;

/// How many programs there are of each kind: as many as the environment's
/// `CHESS_PROGRAMS` says.
fn programs() -> usize {
    const USUAL: usize = 40;
    let asked = std::env::var("CHESS_PROGRAMS");
    asked.map_or(USUAL, |text| {
        text.parse().expect("CHESS_PROGRAMS is a number")
    })
}

/// A random program, and what runs it.
const LIBRARY: &str = r#"
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst, fence};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};

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
    Spawn(Vec<Act>),
    Join,
    Ended,
    Owners,
    /// Gives up an owner whose last one adds to a cell.
    Leave,
}

#[derive(Default)]
pub struct Shared {
    cells: [AtomicU64; 2],
    locks: [Mutex<u64>; 2],
    shares: [RwLock<u64>; 2],
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

/// What a task does; `tasks` many may still be spawned, and all do `steps` more.
fn acts(random: &mut Random, tasks: &mut usize, steps: &mut usize, most: usize) -> Vec<Act> {
    let mut acts = Vec::new();
    for _ in 0..1 + random.below(most) {
        let which = random.below(2);
        let act = match random.below(16) {
            0 | 1 => Act::Add(which),
            2 => Act::Store(which),
            3 | 4 => Act::Load(which),
            5 | 6 => Act::Lock(which),
            7 => Act::LockTwo(which),
            8 => Act::TryLock(which),
            9 => Act::Read(which),
            10 => Act::Write(which),
            11 => Act::Join,
            12 => Act::Ended,
            13 => Act::Owners,
            14 => Act::Leave,
            _ if *tasks > 0 => {
                *tasks -= 1;
                Act::Spawn(self::acts(random, tasks, steps, 2))
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

/// Runs the program `seed`, with all its schedules or not, and tells what it came to.
pub fn run<L: Looks>(name: &str, seed: u64, all: bool) {
    let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut tasks, mut steps) = (1, 9);
    let mut own = vec![];
    for _ in 0..2 {
        own.push(Act::Spawn(acts(&mut random, &mut tasks, &mut steps, 3)));
    }
    own.extend(acts(&mut random, &mut tasks, &mut steps, 3));
    if all {
        fence(SeqCst);
    }
    let shared = Arc::new(Shared::default());
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

/// That it is there is enough: all that could be seen becomes a scheduling point.
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

/// The programs of one kind, as tests.
fn tests_of(kind: &str, looks: &str, sets: &[(&str, bool)]) -> String {
    use std::fmt::Write as _;
    let mut tests = format!("use small::Looks;\n\nstruct Kind;\n{looks}\n");
    for seed in 0..programs() {
        for (set, all) in sets {
            let call = format!("small::run::<Kind>({kind:?}, {seed}, {all});");
            write!(tests, "#[test]\nfn {set}_{seed}() {{\n    {call}\n}}\n\n").expect("a string");
        }
    }
    tests
}

/// What each program came to, by its kind and seed, with all schedules or reduced.
type Outcomes = BTreeMap<String, BTreeSet<String>>;

fn outcomes(workspace: &Workspace, arguments: &[&str]) -> Outcomes {
    let directory = workspace.root().join("outcomes");
    _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).expect("it can be made");
    let common = ["test", "--schedules=3000000", "--time=600s"];
    let run = workspace.chess(&[&common, arguments].concat()).run();
    run.assert_code(0);
    let files = fs::read_dir(&directory).expect("it is there");
    let files = files.map(|file| file.expect("it can be listed"));
    let lines = |path| {
        let text = fs::read_to_string(path).expect("it can be read");
        text.lines().map(str::to_owned).collect()
    };
    files
        .map(|file| {
            (
                file.file_name().into_string().expect("ours"),
                lines(file.path()),
            )
        })
        .collect()
}

/// What the program came to of which `outcomes` are those of the reduced search.
fn of_all<'a>(name: &str, all: &'a Outcomes) -> &'a BTreeSet<String> {
    &all[&name.replace("-false", "-true")]
}

#[test]
fn reduced_searches_reach_what_all_schedules_reach() {
    let workspace = Workspace::with_library(LIBRARY);
    let (reduced, all) = (("reduced", false), ("all", true));
    let plain = tests_of("plain", "impl Looks for Kind {}", &[reduced]);
    workspace.write("tests/plain.rs", &plain);
    workspace.write("tests/watched.rs", &tests_of("plain", COULD_LOOK, &[all]));
    let looking = tests_of("looking", LOOKS, &[reduced, all]);
    workspace.write("tests/looking.rs", &looking);
    let mut all = Outcomes::new();
    for bound in ["0", "1", "2"] {
        let bound = format!("--preemptions={bound}");
        let icb = |set| outcomes(&workspace, &["--strategy=icb", &bound, set]);
        let reduced = icb("reduced");
        all = icb("all");
        assert_eq!(reduced.len(), 2 * programs());
        for (name, outcomes) in &reduced {
            assert_eq!(outcomes, of_all(name, &all), "{name} {bound}");
        }
    }
    // Without a bound there are too many; more than within the last one it must reach.
    for (name, outcomes) in &outcomes(&workspace, &["--strategy=dpor", "reduced"]) {
        let missing: Vec<_> = of_all(name, &all).difference(outcomes).collect();
        assert!(missing.is_empty(), "{name} dpor: {missing:?}");
    }
}
