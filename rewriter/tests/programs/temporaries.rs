//! The drop order of values: temporaries of statements, conditions, arms and closures.

use std::cell::RefCell;

/// Prints a message when it is dropped.
struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        println!("drop {}", self.0);
    }
}

impl Noisy {
    fn get(&self) -> Option<u32> {
        println!("get {}", self.0);
        Some(self.0.len() as u32)
    }

    fn is(&self) -> bool {
        self.get().is_some()
    }

    fn unit(&self) {
        println!("unit {}", self.0);
    }
}

fn tail() -> usize {
    let local = RefCell::new(vec![1, 2]);
    let _noisy = Noisy("tail local");
    let length = local.borrow().len();
    length + Noisy("tail temporary").get().unwrap() as usize
}

fn conditions(turns: u32) {
    if let Some(_) = Noisy("if let").get() {
        println!("then");
    } else if Noisy("else if").is() {
        println!("never");
    }
    if Noisy("first").get().is_none() {
        println!("never");
    } else if let Some(length) = Noisy("second").get() {
        println!("second was {length}");
    } else {
        println!("never");
    }
    let mut turn = 0;
    while turn < turns && Noisy("while").is() {
        turn += 1
    }
    while let Some(length) = Noisy("while let").get() {
        turn += 1;
        if length as u32 + turn > 12 {
            break;
        }
    }
    for turn in 0..Noisy("for").get().unwrap().min(turns) {
        let _noisy = Noisy("in for");
        println!("turn {turn}");
    }
    for _ in 0..turns {
        Noisy("unit tail").unit()
    }
    for _ in 0..turns {
        let _local = Noisy("local of unit tail");
        Noisy("unit tail with a local").unit()
    }
    for turn in 0..turns {
        match Noisy("match tail").get() {
            Some(_) if turn == 0 => continue,
            Some(_) => Noisy("arm").unit(),
            None => {}
        }
    }
}

fn last_statements(goes: bool) {
    let local = Noisy("local");
    if goes {
        let _inner = Noisy("inner");
        if Noisy("last condition").is() {
            println!("last then");
        }
    } else {
        let _inner = Noisy("inner");
        while !Noisy("last while").is() {}
    }
    {
        let _inner = Noisy("inner of if let");
        if let Some(_) = Noisy("last if let").get() {
            println!("last if let");
        }
    }
    let _other = Noisy("other");
    for _ in local.get().into_iter().chain(Noisy("last for").get()) {
        Noisy("turn").unit()
    }
}

fn extended() -> u32 {
    let borrowed = &Noisy("extended");
    let chosen = match borrowed.is() {
        true => &Noisy("extended by an arm"),
        false => &Noisy("never"),
    };
    let other = if chosen.is() { Noisy("then").get() } else { None };
    let guarded = match Noisy("scrutinee").get() {
        Some(length) if Noisy("guard").is() => length + Noisy("arm of scrutinee").get().unwrap(),
        _ => 0,
    };
    println!("end of extended");
    guarded + other.unwrap()
}

fn closures() {
    let plain = |name| Noisy(name).get();
    println!("{:?}", plain("closure"));
    let nested = |first| move |second| Noisy(first).get().unwrap() + Noisy(second).get().unwrap();
    println!("{}", nested("outer")("inner"));
    let typed = |noisy: Noisy| -> u32 { noisy.get().unwrap() };
    println!("{}", typed(Noisy("typed")));
    let owner = Noisy("moved");
    let moved = move || drop(owner);
    moved();
    let boxed: Box<dyn Fn(&'static str) -> Noisy> = Box::new(|name| Noisy(name));
    boxed("boxed").unit()
}

fn let_else(name: &'static str) -> u32 {
    let Some(length) = Noisy(name).get().filter(|length| *length > 3) else {
        return Noisy("else").get().unwrap();
    };
    length
}

fn main() {
    println!("{}", tail());
    conditions(2);
    last_statements(true);
    last_statements(false);
    println!("{}", extended());
    closures();
    println!("{} {}", let_else("abc"), let_else("abcd"));
    let value = { Noisy("block").get() };
    println!("{value:?}");
    let moved = Noisy("statement");
    moved;
    println!("end");
}
