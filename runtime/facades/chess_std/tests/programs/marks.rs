//! The marks of statements, in all positions of statements.

mod inner {
    pub const fn constant() -> u8 {
        __chess_mark!();
        let one = 1;
        __chess_mark!();
        one
    }
}

struct Guard<'a>(&'a mut u8);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        __chess_mark!();
        *self.0 += 1;
    }
}

static FIXED: u8 = inner::constant();

fn main() {
    __chess_mark!();
    let mut dropped = 0;
    {
        __chess_mark!();
        Guard(&mut dropped);
    }
    let closure = |n: u8| {
        __chess_mark!();
        n + 1
    };
    let found = 'outer: loop {
        __chess_mark!();
        for n in 0.. {
            __chess_mark!();
            if closure(n) == 3 {
                __chess_mark!();
                break 'outer n;
            }
        }
    };
    match found {
        2 => {
            __chess_mark!();
        }
        _ => unreachable!(),
    }
    ::std::__chess_mark!();
    println!("{} {} {}", dropped, found, FIXED);
}
