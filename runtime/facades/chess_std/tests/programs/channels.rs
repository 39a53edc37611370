//! mpsc: both kinds of channel, every way of receiving, and every error.

use std::rc::Rc;
use std::cell::Cell;
use std::sync::mpsc::{self, channel, sync_channel, Receiver, RecvTimeoutError, SyncSender, Sender, TrySendError};
use std::thread;
use std::time::Duration;

struct Counts(Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn main() {
    let (tx, rx): (Sender<u8>, Receiver<u8>) = channel();
    println!("{tx:?} {rx:?} {:?}", rx.try_recv());
    println!("{:?}", rx.recv_timeout(Duration::from_millis(1)));
    let another = tx.clone();
    thread::scope(|scope| {
        scope.spawn(move || (0..3).for_each(|n| tx.send(n).unwrap()));
        scope.spawn(move || (3..6).for_each(|n| another.send(n).unwrap()));
        let mut all: Vec<u8> = rx.iter().collect();
        all.sort();
        println!("{all:?} {:?}", rx.try_recv());
    });
    println!("{:?} {:?}", rx.recv(), rx.recv_timeout(Duration::ZERO) == Err(RecvTimeoutError::Disconnected));

    let (tx, rx) = channel();
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    println!("{:?} {:?}", rx.try_iter().collect::<Vec<_>>(), rx);
    tx.send(3).unwrap();
    drop(tx);
    println!("{:?}", (&rx).into_iter().map(|n| n * 2).collect::<Vec<_>>());
    println!("{:?} {:?}", rx.iter(), rx.try_iter());
    let owned = rx.into_iter();
    println!("{owned:?}");

    let drops = Rc::new(Cell::new(0));
    let (tx, rx) = channel();
    tx.send(Counts(drops.clone())).unwrap();
    drop(rx);
    println!("{}", drops.get());
    let refused = tx.send(Counts(drops.clone())).unwrap_err();
    println!("{refused:?} {refused}");
    drop(refused);
    println!("{}", drops.get());

    let (tx, rx): (SyncSender<u8>, _) = sync_channel(1);
    println!("{tx:?} {:?} {:?}", tx.try_send(1), tx.try_send(2));
    let error: TrySendError<u8> = tx.try_send(3).unwrap_err();
    println!("{error}");
    println!("{:?}", rx.recv());
    drop(rx);
    println!("{:?} {:?}", tx.try_send(4), tx.send(5));

    let (tx, rx) = sync_channel(0);
    println!("{:?}", tx.try_send(1));
    thread::scope(|scope| {
        let sender = scope.spawn(move || (0..3).map(|n| tx.send(n).is_ok()).collect::<Vec<_>>());
        println!("{:?}", rx.iter().collect::<Vec<_>>());
        println!("{:?}", sender.join().unwrap());
    });
    let (tx, rx) = mpsc::sync_channel::<u8>(0);
    thread::scope(|scope| {
        let sender = scope.spawn(move || tx.send(1).is_err());
        thread::sleep(Duration::from_millis(5));
        drop(rx);
        println!("{}", sender.join().unwrap());
    });
}
