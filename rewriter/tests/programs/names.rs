//! Names in edition 2015 that are keywords in later editions.

trait Async { fn async(&self) -> u32; fn await(self) -> u32; }

impl Async for u32 {
    fn async(&self) -> u32 { let await = *self; await + 1 }
    fn await(self) -> u32 { self.async() * 2 }
}

fn parse(text: &str) -> Result<u32, std::num::ParseIntError> {
    let number = try!(text.parse::<u32>());
    Ok(number.await())
}

type Action = Fn(&u32) -> u32 + Send;

fn call(action: &Action, other: &mut FnMut(u32), any: Box<std::any::Any + Send>) -> bool {
    other(action(&1));
    any.is::<u32>() && 1 + 2 > 2
}

fn bounded<F: Fn() -> u32, G>(f: F, g: G) -> u32 where G: Clone + Fn() -> u32 { f() + g.clone()() }

fn main() {
    let try = 3; println!("{}", try.async());
    println!("{:?} {}", parse("12"), parse("x").is_err());
    let object: Box<Fn(u32) -> u32> = Box::new(|x| x.async().await()); println!("{}", object(1));
    let mut sum = 0; println!("{}", call(&|x| x.async(), &mut |x| sum += x, Box::new(3u32))); println!("{}", sum);
    println!("{}", bounded(|| 1, || 2));
}
