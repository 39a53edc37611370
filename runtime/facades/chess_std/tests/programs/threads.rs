//! Threads: how they are spawned, named, joined, scoped and parked.

use std::cell::{Cell, RefCell};
use std::os::unix::thread::JoinHandleExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::{self, Builder, JoinHandle, LocalKey, Thread, ThreadId};
use std::time::{Duration, Instant};

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(1) };
    static LIST: RefCell<Vec<u8>> = RefCell::new(vec![]);
}

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

struct OnExit;

impl Drop for OnExit {
    fn drop(&mut self) {
        DESTROYED.fetch_add(1, SeqCst);
    }
}

thread_local!(static ON_EXIT: OnExit = OnExit);

fn main() {
    std::panic::set_hook(Box::new(|info| {
        let thread = thread::current();
        println!("{:?} panicked: {}", thread.name(), info.payload_as_str().unwrap_or("?"));
    }));
    spawning();
    scopes();
    parking();
    locals();
    let start = Instant::now();
    thread::sleep(Duration::from_millis(2));
    thread::sleep_ms(1);
    thread::yield_now();
    println!("{}", start.elapsed() >= Duration::from_millis(3));
    println!("{:?} {}", thread::available_parallelism(), thread::panicking());
}

fn spawning() {
    let handle: JoinHandle<u8> = thread::spawn(|| 3);
    println!("{handle:?} {:?}", handle.thread().name());
    println!("{:?}", handle.join());
    let result = thread::spawn(|| -> u8 { panic!("no result") }).join();
    println!("{:?}", result.unwrap_err().downcast_ref::<&str>());
    let named = Builder::new().name("worker".into()).stack_size(1 << 20);
    println!("{named:?}");
    let handle = named.spawn(|| thread::current().name().map(str::to_owned)).unwrap();
    println!("{:?}", handle.thread().name());
    println!("{:?}", handle.join());
    let nul = catch_unwind(|| Builder::new().name("a\0b".into()).spawn(|| {}));
    println!("{}", nul.is_err());
    let borrowed = String::from("borrowed");
    let length = unsafe { Builder::new().spawn_unchecked(|| borrowed.len()) }.unwrap().join();
    println!("{length:?}");

    let main: Thread = thread::current();
    let id: ThreadId = main.id();
    let other = thread::spawn(thread::current).join().unwrap();
    println!("{:?} {} {} {id:?}", main.name(), id == thread::current().id(), id == other.id());
    println!("{}", format!("{main:?}").starts_with("Thread { id: ThreadId(1), name: Some(\"main\"), .. }"));
    println!("{}", std::mem::size_of::<Option<ThreadId>>());

    let done = Arc::new(AtomicBool::new(false));
    let signal = done.clone();
    let handle = thread::spawn(move || {
        while !signal.load(SeqCst) {
            thread::yield_now();
        }
    });
    println!("{}", handle.is_finished());
    done.store(true, SeqCst);
    while !handle.is_finished() {
        thread::yield_now();
    }
    println!("{}", handle.as_pthread_t() != 0);
    handle.join().unwrap();
}

fn scopes() {
    let mut numbers = vec![1, 2, 3];
    let total = thread::scope(|scope| {
        let (left, right) = numbers.split_at_mut(1);
        let one = scope.spawn(|| left.iter().sum::<i32>());
        let nested = scope.spawn(move || {
            let inner = scope.spawn(|| 10);
            right[0] += 1;
            right.iter().sum::<i32>() + inner.join().unwrap()
        });
        println!("{one:?} {:?}", one.thread().name());
        let named = Builder::new().name("scoped".into());
        let name = named.spawn_scoped(scope, || thread::current().name().map(str::to_owned)).unwrap();
        println!("{:?}", name.join());
        one.join().unwrap() + nested.join().unwrap()
    });
    println!("{total} {numbers:?}");
    let unjoined = catch_unwind(|| thread::scope(|scope| drop(scope.spawn(|| panic!("unjoined")))));
    println!("{:?}", unjoined.unwrap_err().downcast_ref::<&str>());
    let joined = thread::scope(|scope| scope.spawn(|| panic!("joined")).join().is_err());
    println!("{joined}");
    let finished = AtomicBool::new(false);
    let own = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(2));
                finished.store(true, SeqCst);
            });
            panic!("the scope itself");
        })
    }));
    println!("{:?} {finished:?}", own.unwrap_err().downcast_ref::<&str>());
}

fn parking() {
    thread::current().unpark();
    thread::park();
    thread::park_timeout(Duration::from_millis(1));
    thread::park_timeout_ms(1);
    let main = thread::current();
    let handle = thread::spawn(move || main.unpark());
    thread::park();
    handle.join().unwrap();
}

fn locals() {
    fn bump(key: &'static LocalKey<Cell<u32>>) -> u32 {
        key.set(key.get() + 1);
        key.get()
    }
    println!("{} {} {:?}", bump(&COUNT), thread::spawn(|| bump(&COUNT)).join().unwrap(), COUNT);
    LIST.with_borrow_mut(|list| list.push(1));
    println!("{:?} {:?}", LIST.take(), LIST.try_with(|list| list.borrow().len()));
    thread::spawn(|| ON_EXIT.with(|_| {})).join().unwrap();
    println!("{}", DESTROYED.load(SeqCst));
}
