//! Once, OnceLock and LazyLock.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{LazyLock, Mutex, Once, OnceLock, ONCE_INIT};
use std::thread;

static ONCE: Once = Once::new();
static OLD: Once = ONCE_INIT;
static CELL: OnceLock<String> = OnceLock::new();
static LAZY: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(|| Mutex::new(vec![1]));

fn quietly<T>(f: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

fn main() {
    std::panic::set_hook(Box::new(|info| println!("panic: {}", info.payload_as_str().unwrap_or("?"))));
    println!("{ONCE:?} {}", ONCE.is_completed());
    println!("{}", quietly(|| ONCE.call_once(|| panic!("first"))));
    println!("{}", quietly(|| ONCE.call_once(|| {})));
    println!("{}", quietly(|| ONCE.wait()));
    ONCE.call_once_force(|state| println!("{state:?} {}", state.is_poisoned()));
    ONCE.wait();
    ONCE.wait_force();
    println!("{}", ONCE.is_completed());
    OLD.call_once(|| println!("old"));

    println!("{:?} {CELL:?}", CELL.get());
    println!("{}", quietly(|| CELL.get_or_init(|| panic!("cell"))));
    let seen: Vec<bool> = thread::scope(|scope| {
        let waiting = scope.spawn(|| CELL.wait().len());
        let setters: Vec<_> =
            (0..3).map(|n| scope.spawn(move || CELL.set(format!("{n}")).is_ok())).collect();
        println!("{}", waiting.join().unwrap());
        setters.into_iter().map(|setter| setter.join().unwrap()).collect()
    });
    println!("{}", seen.iter().filter(|set| **set).count());
    println!("{}", CELL.get_or_init(|| unreachable!()).len());
    let mut cell = OnceLock::from(3);
    println!("{cell:?} {:?} {}", cell.clone(), cell == OnceLock::default());
    *cell.get_mut().unwrap() += 1;
    println!("{:?} {:?} {:?}", cell.set(9), cell.take(), cell.into_inner());

    println!("{:?}", LazyLock::<u8>::default());
    LAZY.lock().unwrap().push(2);
    println!("{:?} {:?}", *LAZY, LazyLock::get(&LAZY));
    let add = 2;
    let mut captures = LazyLock::new(move || add + 1);
    println!("{captures:?}");
    println!("{:?}", LazyLock::get_mut(&mut captures));
    *captures += 1;
    println!("{} {captures:?}", *captures);
    println!("{}", LazyLock::force_mut(&mut captures));
    let failing: LazyLock<u8> = LazyLock::new(|| panic!("lazy"));
    println!("{}", quietly(|| *failing));
    println!("{} {failing:?}", quietly(|| LazyLock::force(&failing)));
    let unused = LazyLock::new(|| String::from("dropped as a closure"));
    drop(unused);
}
