//! The types of a file and their methods.

use rewriter::{EntrySplice, Method, Methods, NoObject, Request, rewrite};

const TEXT: &str = "
pub struct Ring<T>(T);
impl<T> Ring<T> {
    pub fn new() -> Self { todo!() }
    pub fn push(&self, item: T) {}
    pub fn clear(&mut self) {}
    pub fn close(self) {}
    pub fn shut(mut self: Self) {}
    pub const fn capacity(&self) -> usize { 8 }
    pub async fn send(&self) {}
    fn share(self: &std::sync::Arc<Self>) {}
    fn boxed(self: Box<Self>) {}
    fn poll(self: Pin<&mut Self>) {}
}
impl<T> fmt::Debug for Ring<T> { fn fmt(&self) {} }
impl Trait for [Ring<u8>] { fn slice(&self) {} }
mod inner {
    enum Ring {}
    impl super::Ring<u8> { fn pop(&self) {} }
}
fn function() { struct Local; impl Local { fn hidden(&self) {} } }
macro_rules! types { () => { struct Hidden; } }
";

fn line(method: &Method) -> String {
    let Method {
        modules,
        owner,
        qualifier,
        name,
        line,
        is_inherent,
        object,
    } = method;
    let object = match object {
        Ok(object) => format!("{}", object.dereferences),
        Err(why) => format!("{why:?}"),
    };
    let qualifier = qualifier.as_deref().unwrap_or("-");
    format!("{line} {modules:?} {qualifier} {owner}::{name} {is_inherent} {object}")
}

#[test]
fn each_function_of_a_type_is_found_with_the_way_to_its_object() {
    let found = Methods::of(TEXT).expect("it is Rust");
    let lines: Vec<_> = found.methods.iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    4 [] - Ring::new true NoReceiver
    5 [] - Ring::push true 1
    6 [] - Ring::clear true 1
    7 [] - Ring::close true ByValue
    8 [] - Ring::shut true ByValue
    9 [] - Ring::capacity true Const
    10 [] - Ring::send true Async
    11 [] - Ring::share true 2
    12 [] - Ring::boxed true 1
    13 [] - Ring::poll true 1
    15 [] - Ring::fmt false 1
    19 ["inner"] super Ring::pop true 1
    "#);
    let types = found.types.iter();
    let types: Vec<_> = types.map(|it| (it.modules.join("::"), it.line)).collect();
    assert_eq!(types, [(String::new(), 2), ("inner".to_owned(), 18)]);
    assert!(found.types.iter().all(|it| it.name == "Ring"));
    assert!(Methods::of("struct").is_err());
}

#[test]
fn a_method_that_is_not_checked_says_why() {
    let found = Methods::of(TEXT).expect("it is Rust");
    let why = |name: &str| {
        let mut methods = found.methods.iter();
        methods.find(|it| it.name == name).map(|it| it.object)
    };
    assert_eq!(why("send"), Some(Err(NoObject::Async)));
    assert_eq!(why("close"), Some(Err(NoObject::ByValue)));
}

#[test]
fn a_statement_for_a_line_is_only_for_the_function_there() {
    let entry = |line| EntrySplice {
        function: "Ring::push",
        line: Some(line),
        statement: "let __chess_call=__chess::exclusive(&raw const *self,0,(\"a::Ring\",\"push\"));",
    };
    let text =
        "impl Ring<u8> {\n fn push(&self) { 1; }\n}\nimpl Ring<u16> {\n fn push(&self) { 1; }\n}\n";
    let rewritten = |line, marks| {
        let request = Request {
            marks,
            entries: &[entry(line)],
            ..Request::default()
        };
        rewrite(text, &request).unwrap()
    };
    insta::assert_snapshot!(rewritten(5, false).apply(text), @r#"
    impl Ring<u8> {
     fn push(&self) { 1; }
    }
    impl Ring<u16> {
     fn push(&self) {let __chess_call=__chess::exclusive(&raw const *self,0,("a::Ring","push")); 1; }
    }
    "#);
    let marked = rewritten(2, true).apply(text);
    assert!(
        marked.contains("{__chess_mark!();let __chess_call"),
        "{marked}"
    );
    assert_eq!(rewritten(3, false).missing_entries, ["Ring::push"]);
}
