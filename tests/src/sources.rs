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
