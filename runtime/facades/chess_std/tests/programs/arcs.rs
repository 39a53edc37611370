//! Arc and Weak: coercions, conversions, counts, and Wake.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::error::Error;
use std::ffi::{CStr, CString, OsStr};
use std::fmt::Debug;
use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::mem::MaybeUninit;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

trait Speaks {
    fn speak(self: Arc<Self>) -> String;
    fn pinned(self: Pin<Arc<Self>>) -> String;
    fn borrowed(self: &Arc<Self>) -> usize
    where
        Self: Sized;
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
struct Dog(u8);

impl Speaks for Dog {
    fn speak(self: Arc<Self>) -> String {
        format!("woof {} {}", self.0, Arc::strong_count(&self))
    }
    fn pinned(self: Pin<Arc<Self>>) -> String {
        format!("pinned {}", self.0)
    }
    fn borrowed(self: &Arc<Self>) -> usize {
        Arc::strong_count(self)
    }
}

struct Tree {
    me: Weak<Tree>,
    name: &'static str,
}

/// Compiles only if the drop of an `Arc` is declared to access no borrowed data (`may_dangle`).
struct Borrows<'a>(Arc<&'a String>);

struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn main() {
    counts();
    coercions();
    conversions();
    wakers();
    let (owner, text);
    text = String::from("lent");
    owner = Borrows(Arc::new(&text));
    println!("{}", owner.0);
}

fn counts() {
    let mut arc = Arc::new(Dog(1));
    println!("{arc:?} {}", format!("{arc:p}") == format!("{:p}", &*arc));
    println!("{:?}", Arc::get_mut(&mut arc));
    let weak = Arc::downgrade(&arc);
    let another = Arc::clone(&arc);
    println!("{} {} {} {}", Arc::strong_count(&arc), Arc::weak_count(&arc), weak.strong_count(), weak.weak_count());
    println!("{} {}", Arc::ptr_eq(&arc, &another), arc == another);
    println!("{:?} {:?}", Arc::get_mut(&mut arc), Arc::try_unwrap(another));
    Arc::make_mut(&mut arc).0 = 2;
    println!("{arc:?} {:?} {weak:?}", weak.upgrade());
    println!("{:?} {:?}", Arc::into_inner(arc.clone()), Arc::unwrap_or_clone(arc));
    println!("{:?} {:?}", Weak::<u8>::new().upgrade(), Weak::<u8>::default().ptr_eq(&Weak::new()));
    let tree = Arc::new_cyclic(|me| Tree { me: me.clone(), name: "root" });
    println!("{} {}", tree.me.upgrade().unwrap().name, Arc::weak_count(&tree));
    unsafe {
        let raw = Arc::into_raw(Arc::new(7));
        Arc::increment_strong_count(raw);
        let arc = Arc::from_raw(raw);
        println!("{} {} {}", *raw, Arc::strong_count(&arc), Arc::as_ptr(&arc) == raw);
        Arc::decrement_strong_count(raw);
        println!("{}", Arc::strong_count(&arc));
        let weak = Weak::from_raw(Arc::downgrade(&arc).into_raw());
        println!("{}", weak.as_ptr() == raw);
    }
}

fn coercions() {
    let dog = Arc::new(Dog(3));
    let speaks: Arc<dyn Speaks> = dog.clone();
    println!("{} {} {}", dog.borrowed(), speaks.speak(), Pin::new(dog.clone()).pinned());
    let weak: Weak<dyn Debug + Send + Sync> = Arc::downgrade(&(dog.clone() as Arc<dyn Debug + Send + Sync>));
    println!("{:?}", weak.upgrade());
    let any: Arc<dyn Any + Send + Sync> = dog;
    let any = any.downcast::<u8>().unwrap_err();
    println!("{:?}", any.downcast::<Dog>());
    let slice: Arc<[u8]> = Arc::new([1, 2, 3]);
    println!("{slice:?} {:?}", <Arc<[u8; 3]>>::try_from(slice.clone()));
    let call: Arc<dyn Fn(u8) -> u8> = Arc::new(|n| n + 1);
    println!("{}", call(1));
    let future: Pin<Arc<str>> = Pin::new(Arc::from("pinned"));
    println!("{future} {:?}", Pin::<Arc<Dog>>::default());
    let error: Arc<dyn Error + Send + Sync> = Arc::from(Box::<dyn Error + Send + Sync>::from("failed"));
    println!("{error} {:?}", error.source().is_none());
    assert!(size_of::<Option<Arc<u8>>>() == size_of::<usize>());
    match &*Arc::new(Dog(4)) {
        Dog(4) => println!("matched"),
        _ => unreachable!(),
    }
}

fn conversions() {
    let text: Arc<str> = "text".into();
    let bytes: Arc<[u8]> = text.clone().into();
    println!("{text} {bytes:?} {:?}", Arc::<str>::from(String::from("owned")));
    println!("{:?} {:?}", Arc::<[u8]>::from(vec![1]), Arc::<[String]>::from(&["a".to_string()][..]));
    println!("{:?} {:?}", Arc::<[u8]>::from([4; 2]), Arc::<u8>::from(Box::new(1)));
    println!("{:?} {:?}", Arc::<Path>::from(Path::new("p")), Arc::<OsStr>::from(OsStr::new("o")));
    println!("{:?} {:?}", Arc::<CStr>::from(CString::new("c").unwrap()), Arc::<CStr>::default());
    println!("{:?} {:?}", Arc::<str>::from(Cow::Borrowed("cow")), Arc::<[u8]>::from(Cow::Owned(vec![5])));
    println!("{:?} {:?}", (0..3).collect::<Arc<[i32]>>(), Arc::<str>::default());
    let set: HashSet<Arc<str>> = [text.clone()].into();
    println!("{} {:?}", set.contains("text"), [Arc::new(2), Arc::new(1)].into_iter().collect::<BTreeSet<_>>());
    println!("{:?} {}", Arc::new(1).cmp(&Arc::new(2)), Arc::new(1.0) < Arc::new(2.0));
    unsafe {
        println!("{:?}", Arc::<[u8]>::new_zeroed_slice(2).assume_init());
        println!("{}", Arc::<u32>::new_zeroed().assume_init());
        let mut fresh: Arc<MaybeUninit<u8>> = Arc::new_uninit();
        Arc::get_mut(&mut fresh).unwrap().write(6);
        println!("{}", fresh.assume_init());
    }
    let mut file = Arc::new(File::open("/dev/null").unwrap());
    println!("{:?}", file.read(&mut [0]).unwrap());
}

fn wakers() {
    let counts = Arc::new(Counts(AtomicUsize::new(0)));
    let waker: Waker = counts.clone().into();
    println!("{} {}", Arc::strong_count(&counts), waker.will_wake(&waker.clone()));
    waker.wake_by_ref();
    let mut future = std::pin::pin!(std::future::poll_fn(|cx: &mut Context<'_>| {
        cx.waker().clone().wake();
        Poll::<()>::Pending
    }));
    println!("{:?}", future.as_mut().poll(&mut Context::from_waker(&waker)));
    waker.wake();
    println!("{:?} {}", counts.0, Arc::strong_count(&counts));
}
