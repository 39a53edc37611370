//! Control flow: labels, values of loops, early ends, `?`, arms of all forms.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Token {
    Number(i64),
    Plus,
    Times,
    Open,
    Close,
}

#[derive(Debug)]
enum Problem {
    Character(char),
    End,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Character(character) => write!(f, "unexpected {:?}", character),
            Problem::End => f.write_str("unexpected end"),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    let mut found = vec![];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        found.push(match character {
            ' ' => continue,
            '+' => Token::Plus,
            '*' => Token::Times,
            '(' => Token::Open,
            ')' => Token::Close,
            '0'..='9' => {
                let mut number = character.to_digit(10).unwrap() as i64;
                while let Some(digit) = characters.peek().and_then(|next| next.to_digit(10)) {
                    number = number * 10 + digit as i64;
                    characters.next();
                }
                Token::Number(number)
            }
            other => return Err(Problem::Character(other)),
        })
    }
    Ok(found)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Token> { self.at += 1; self.tokens.get(self.at - 1).copied() }

    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    fn sum(&mut self) -> Result<i64, Problem> {
        let mut sum = self.product()?;
        while self.peek() == Some(Token::Plus) { self.next(); sum += self.product()?; }
        Ok(sum)
    }

    fn product(&mut self) -> Result<i64, Problem> {
        let mut product = self.atom()?;
        loop {
            match self.peek() {
                Some(Token::Times) => { self.next(); }
                _ => break Ok(product),
            }
            product *= self.atom()?
        }
    }

    fn atom(&mut self) -> Result<i64, Problem> {
        match self.next().ok_or(Problem::End)? {
            Token::Number(number) => Ok(number),
            Token::Open => {
                let value = self.sum()?;
                let Some(Token::Close) = self.next() else { return Err(Problem::End) };
                Ok(value)
            }
            Token::Plus => Err(Problem::Character('+')),
            Token::Times | Token::Close => Err(Problem::Character('*')),
        }
    }
}

fn labels(limit: u32) -> u32 {
    let mut visited = 0;
    let found = 'outer: loop {
        for row in 0.. {
            'inner: for column in 0..row {
                visited += 1;
                if column * row > limit { break 'outer row }
                if column > 3 { continue 'inner }
                match visited % 5 { 0 => break 'inner, 1 => continue, _ => {} }
            }
        }
    };
    let block = 'block: {
        if found > 3 { break 'block found * 2 }
        visited
    };
    let either = if block > 2 { block } else if visited > 100 { visited } else { return 0 };
    either + visited
}

fn never(code: u32) -> u32 {
    let closure = |code: u32| -> u32 { if code == 0 { return 7 } code };
    let value = match code {
        0 => return closure(code),
        1 => panic!("one"),
        2 => { let value = closure(9); return value; }
        _ => code,
    };
    value + unsafe { std::mem::transmute::<i32, u32>(1) } as u32
}

const fn power(base: u64, exponent: u32) -> u64 {
    let mut result = 1;
    let mut turn = 0;
    while turn < exponent {
        result *= base;
        turn += 1;
    }
    result
}

static POWERS: [u64; power(2, 3) as usize] = { let mut powers = [0; 8]; powers[1] = power(3, 3); powers };

struct Sized<const N: usize>;

impl<const N: usize> Sized<N> {
    const DOUBLE: usize = { let n = N; n + n };

    fn double(&self) -> usize { Self::DOUBLE }
}

mod inner {
    pub(super) trait Shape {
        fn area(&self) -> f64;
        fn double(&self) -> f64 { let area = self.area(); area * 2.0 }
    }

    impl Shape for f64 {
        fn area(&self) -> f64 { self * self }
    }
}

macro_rules! add {
    ($($value:expr),*) => { 0 $(+ $value)* };
}

fn attributed(value: u32) -> u32 {
    #[cfg(not(any()))]
    {
        value + 1
    }
    #[cfg(any())]
    value.unknown()
}

macro_rules! here {
    ($($body:tt)+) => { #[cfg(not(any()))] $($body)+ };
}

macro_rules! elsewhere {
    ($($body:tt)+) => { #[cfg(any())] $($body)+ };
}

fn selected(value: u32) -> Result<u32, String> {
    here! {{
        let next = value.checked_add(1);
        next.ok_or_else(String::new)
    }}
    elsewhere! {{
        value.unknown()
    }}
}

fn main() {
    for text in ["1 + 2 * 3", "(1 + 2) * 3", "2 * (3 + 4) * 5 + 1", "1 +", "a", "(1", "* 2"] {
        match tokens(text).and_then(|tokens| Parser { tokens, at: 0 }.sum()) {
            Ok(value) => println!("{} = {}", text, value),
            Err(problem) => println!("{}: {}", text, problem)
        }
    }
    println!("{} {}", labels(20), labels(2));
    println!("{:?}", [0, 2, 3].map(never));
    println!("{:?}", std::panic::catch_unwind(|| never(1)).is_err());
    println!("{:?} {}", POWERS, Sized::<{ 3 + 4 }>.double());
    println!("{}", inner::Shape::double(&3.0));
    println!("{}", add!(1, { let x = 2; x * 2 }, 3));
    println!("{} {:?}", attributed(1), selected(1));
    let r#match = |r#in: u32| r#in.pow(2); println!("{}", r#match(3)); // a comment
    let text = r##"{ "# } ; let x = |y| y.call();"##; println!("{}", text.len());
    let cases = [|x: i32| x + 1, |x: i32| if x > 0 { x } else { -x } - 1, |x| match x { 0 => 1, _ => 2 } * x];
    println!("{:?}", cases.map(|case| case(-4)));
}
