//! Sources of small libraries that several tests use.

/// A test that loses an update if it is preempted after its first load.
pub const LOSES_AN_UPDATE: &str = "\
#[test]
fn counts() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst));
        count.store(count.load(SeqCst) + 1, SeqCst);
    });
    assert_eq!(count.into_inner(), 2);
}
";

/// Two functions that run some work in a thread beside an update of a counter. `lose` loses an
/// update if the thread runs between the load and the store: one preemption. `keep` is correct.
pub const LOSE_AND_KEEP: &str = "
#[cfg(test)]
mod updates {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::thread;

    pub fn lose(work: impl FnOnce() + Send) {
        let total = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                work();
                total.fetch_add(1, SeqCst);
            });
            let before = total.load(SeqCst);
            total.store(before + 1, SeqCst);
        });
        assert_eq!(total.into_inner(), 2);
    }

    pub fn keep(work: impl FnOnce() + Send) {
        let total = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                work();
                total.fetch_add(1, SeqCst);
            });
            total.fetch_add(1, SeqCst);
        });
        assert_eq!(total.into_inner(), 2);
    }
}
";
