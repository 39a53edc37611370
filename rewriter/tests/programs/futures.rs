//! Futures: statements around `await`, futures that must be `Send`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

struct Yield(bool);

impl Future for Yield {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(7);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

struct Count(Mutex<u32>);

impl Wake for Count {
    fn wake(self: Arc<Self>) { *self.0.lock().unwrap() += 1 }
}

fn block_on<F: Future>(future: F) -> (F::Output, u32) {
    let count = Arc::new(Count(Mutex::new(0)));
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return (value, *count.0.lock().unwrap())
        }
    }
}

fn sendable<F: Future + Send>(future: F) -> F { future }

async fn sum(turns: u32) -> u32 {
    let mut sum = 0;
    for _ in 0..turns { sum += Yield(false).await }
    let add = async |more: u32| Yield(false).await + more;
    while sum < 100 { sum = add(sum).await; }
    sum
}

async fn fallible(fails: bool) -> Result<u32, String> {
    if fails { Err("failed".to_owned())? }
    let value = match Yield(false).await { 7 => sum(1).await, _ => unreachable!() };
    Ok(value)
}

fn main() {
    println!("{:?}", block_on(sendable(sum(3))));
    println!("{:?}", block_on(sendable(async move { let first = sum(1).await; let second = Yield(false).await; first + second })));
    println!("{:?} {:?}", block_on(fallible(true)), block_on(fallible(false)));
    let boxed: Vec<Pin<Box<dyn Future<Output = u32> + Send>>> = vec![Box::pin(sum(0)), Box::pin(async { 1 })];
    for future in boxed { println!("{:?}", block_on(future)) }
}
