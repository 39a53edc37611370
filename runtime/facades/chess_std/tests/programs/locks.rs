//! Mutexes, read-write locks, condition variables and barriers.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::thread;
use std::time::Duration;

static COUNTER: Mutex<Vec<u32>> = Mutex::new(Vec::new());
static TABLE: [RwLock<u8>; 2] = [RwLock::new(1), RwLock::new(2)];

fn quietly(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

fn covariant<'a, 'b: 'a>(guard: RwLockReadGuard<'a, &'b str>) -> RwLockReadGuard<'a, &'a str> {
    guard
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    mutex();
    rwlock();
    condvar();
    barrier();
}

fn mutex() {
    let m = Mutex::new(5);
    println!("{m:?}");
    {
        let mut guard = m.lock().unwrap();
        *guard += 1;
        println!("{guard:?} {guard} {m:?} {:?}", m.try_lock());
    }
    println!("{}", quietly(|| {
        let _guard = m.lock().unwrap();
        panic!("poison it");
    }));
    println!("{} {m:?} {:?} {:?}", m.is_poisoned(), m.lock(), m.try_lock());
    match m.try_lock() {
        Err(TryLockError::Poisoned(error)) => println!("{error} {}", error.get_ref()),
        _ => unreachable!(),
    }
    m.clear_poison();
    println!("{m:?}");
    let result: LockResult<_> = m.lock();
    *result.unwrap_or_else(PoisonError::into_inner) = 7;
    let mut m = m;
    *m.get_mut().unwrap() += 1;
    println!("{:?}", m.into_inner());
    COUNTER.lock().unwrap().push(3);
    println!("{:?} {:?}", COUNTER, Mutex::<u8>::default());
    let unsized_one: Arc<Mutex<dyn Send>> = Arc::new(Mutex::new(1u8));
    println!("{}", unsized_one.try_lock().is_ok());
    let slice: Box<Mutex<[u8]>> = Box::new(Mutex::new([1, 2, 3]));
    println!("{:?} {:?}", slice, Mutex::from("text"));
    // The drop of a guard during unwinding poisons the lock only if the lock was acquired before
    // the panic.
    struct Locks<'a>(&'a Mutex<u8>);
    impl Drop for Locks<'_> {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    let clean = Mutex::new(0);
    quietly(|| {
        let _locks = Locks(&clean);
        panic!("unwinds");
    });
    println!("{}", clean.is_poisoned());
}

fn rwlock() {
    let lock = RwLock::new(1);
    {
        let one = lock.read().unwrap();
        let two = lock.try_read().unwrap();
        println!("{one} {two:?} {} {lock:?}", lock.try_write().is_err());
    }
    {
        let mut guard = lock.write().unwrap();
        *guard = 2;
        println!("{} {lock:?}", lock.try_read().is_err());
        let read: RwLockReadGuard<i32> = RwLockWriteGuard::downgrade(guard);
        println!("{read} {}", lock.try_read().is_ok());
    }
    println!("{}", quietly(|| {
        let _guard = lock.read().unwrap();
        panic!("readers do not poison");
    }));
    println!("{}", lock.is_poisoned());
    quietly(|| {
        let _guard = lock.write().unwrap();
        panic!("writers do");
    });
    let attempt: TryLockResult<_> = lock.try_read();
    println!("{} {attempt:?}", lock.is_poisoned());
    drop(attempt);
    lock.clear_poison();
    println!("{:?} {:?}", TABLE, lock.into_inner());
    let text = String::from("shorter");
    let words = RwLock::new("static");
    println!("{} {text}", covariant(words.read().unwrap()));
}

fn condvar() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = pair.clone();
    let handle = thread::spawn(move || {
        for _ in 0..3 {
            *other.0.lock().unwrap() += 1;
            other.1.notify_all();
        }
    });
    let guard = pair.1.wait_while(pair.0.lock().unwrap(), |n| *n < 3).unwrap();
    println!("{guard} {:?}", pair.1);
    let (guard, result) = pair.1.wait_timeout(guard, Duration::from_millis(1)).unwrap();
    println!("{guard} {result:?} {}", result.timed_out());
    let (guard, result) =
        pair.1.wait_timeout_while(guard, Duration::from_millis(1), |n| *n == 3).unwrap();
    println!("{guard} {result:?}");
    let (guard, result) = pair.1.wait_timeout_while(guard, Duration::ZERO, |n| *n == 0).unwrap();
    println!("{guard} {result:?}");
    let (guard, in_time) = pair.1.wait_timeout_ms(guard, 1).unwrap();
    println!("{guard} {in_time}");
    drop(guard);
    handle.join().unwrap();
    quietly(|| {
        let _guard = pair.0.lock().unwrap();
        panic!("poison it");
    });
    let poisoned = pair.0.lock().unwrap_err().into_inner();
    println!("{}", pair.1.wait_timeout(poisoned, Duration::from_millis(1)).is_err());
}

fn barrier() {
    let barrier = Barrier::new(4);
    let leaders: usize = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..5).filter(|_| barrier.wait().is_leader()).count())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{leaders} {barrier:?} {:?}", Barrier::new(0).wait());
}
