//! Lines and columns that the program itself observes.

use std::panic::Location;

#[track_caller]
fn here(values: &mut Vec<(u32, u32)>) -> bool {
    let place = Location::caller();
    values.push((place.line(), place.column()));
    true
}

fn main() {
    let mut v = vec![];
    here(&mut v);
    here(&mut v); here(&mut v); if here(&mut v) { here(&mut v); } else if here(&mut v) { here(&mut v); }
    let ä = "ünïcödé"; here(&mut v); let _ = (ä, here(&mut v));
    let mut closure = |v: &mut Vec<_>| here(v);
    closure(&mut v); for _ in 0..2 { here(&mut v); } for _ in 0..2 { drop(here(&mut v)) }
    match here(&mut v) { true => here(&mut v), false => here(&mut v) };
    /* before */ here(&mut v); /* after */ here(&mut v); // here(&mut v);
	here(&mut v);	here(&mut v);
    let _ = { here(&mut v); here(&mut v) }; if !here(&mut v) {} else if { here(&mut v) } { here(&mut v); }
    for (line, column) in v {
        println!("{} {}", line, column);
    }
}
