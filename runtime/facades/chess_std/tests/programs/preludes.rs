//! Names without a `use`: the prelude, macros, and `std` under all its names.

#[macro_use]
extern crate std as renamed;
extern crate core as bare;

mod inner {
    use std::sync::Arc;
    thread_local!(static LOCAL: ::std::cell::Cell<u8> = ::std::cell::Cell::new(1));

    pub fn show() -> String {
        let shared = Arc::new(vec![1, 2]);
        format!("{:?} {}", shared, LOCAL.with(|local| local.get()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
struct Derived {
    field: Option<u8>,
}

macro_rules! names_std {
    () => {
        ::std::sync::Mutex::new(::std::vec::Vec::<u8>::new())
    };
}

fn same<T>(_: &T, _: &T) {}

fn main() {
    println!("{} {:?}", inner::show(), Derived::default().clone());
    same(&names_std!(), &renamed::sync::Mutex::new(Vec::new()));
    same(&bare::sync::atomic::AtomicU8::new(1), &::std::sync::atomic::AtomicU8::new(1));
    assert_eq!(vec![Some(1)].into_iter().flatten().map(String::from_utf8_lossy_of).count(), 1);
    let text: String = "text".to_string() + &5.to_string();
    assert!(matches!(text.as_str(), "text5"), "{}", text);
    eprintln!("{}", env!("PATH").len() > 0);
    println!("{}", concat!("a", 1, true));
    let result: Result<u8, ::std::num::ParseIntError> = (|| Ok("7".parse::<u8>()?))();
    println!("{:?} {}", result, ::std::any::type_name::<Derived>().len());
}

trait Lossy {
    fn from_utf8_lossy_of(n: i32) -> String;
}

impl Lossy for String {
    fn from_utf8_lossy_of(n: i32) -> String {
        n.to_string()
    }
}
