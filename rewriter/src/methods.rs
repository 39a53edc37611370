//! The types of a file and their methods. They are needed to insert statements at the start of the
//! methods of one type.

use syn::{
    FnArg, GenericArgument, ImplItem, Item, ItemImpl, PathArguments, Receiver, ReceiverKind, Type,
};

use crate::source::{Source, SyntaxError};
use crate::visitor::runs_only_at_run_time;

/// The types and methods of a file, except those that macros define and those within functions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Methods {
    /// The structs, enums and unions, in the order of the text.
    pub types: Vec<TypeItem>,
    /// The functions of `impl` blocks, with or without `self`.
    pub methods: Vec<Method>,
}

/// A struct, an enum or a union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeItem {
    /// The inline modules around the type.
    pub modules: Vec<String>,
    /// The name of the type.
    pub name: String,
    /// The line of the type's name, from 1.
    pub line: usize,
}

/// A function of an `impl` block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// The inline modules around the `impl` block.
    pub modules: Vec<String>,
    /// The name of the type of the `impl` block, without its path and its generic arguments.
    pub owner: String,
    /// The segment before the type's name in its path, if there is one: a module, `self`, `super`
    /// or `crate`.
    pub qualifier: Option<String>,
    /// The name of the function.
    pub name: String,
    /// The line of the function's name, from 1.
    pub line: usize,
    /// Whether the `impl` block is inherent, and does not implement a trait.
    pub is_inherent: bool,
    /// The way from `self` to the object that the function acts on, or the reason why there is
    /// none.
    pub object: Result<Object, NoObject>,
}

/// The way from `self` to the object that a method acts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// The number of dereferences from `self` to the object.
    pub dereferences: usize,
}

/// The reason why a statement about an object cannot be inserted at the start of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoObject {
    /// The function has no `self`.
    NoReceiver,
    /// The function takes the object by value, or its receiver has another type without a
    /// reference.
    ByValue,
    /// The body of the function runs in several parts, possibly on several threads.
    Async,
    /// The function may be evaluated at compile time, or its body is not Rust.
    Const,
}

impl Methods {
    /// Returns the types and methods of a file with this `text`.
    ///
    /// # Errors
    /// If the text is not Rust.
    pub fn of(text: &str) -> Result<Self, SyntaxError> {
        let source = Source::new(text);
        let file = source.parse()?;
        let mut methods = Self::default();
        methods.add(&source, &mut Vec::new(), &file.items);
        Ok(methods)
    }

    fn add(&mut self, source: &Source, modules: &mut Vec<String>, items: &[Item]) {
        for item in items {
            let name = match item {
                Item::Struct(it) => &it.ident,
                Item::Enum(it) => &it.ident,
                Item::Union(it) => &it.ident,
                Item::Impl(block) => {
                    self.add_block(source, modules, block);
                    continue;
                }
                Item::Mod(it) => {
                    if let Some((_, items)) = &it.content {
                        modules.push(it.ident.to_string());
                        self.add(source, modules, items);
                        modules.pop();
                    }
                    continue;
                }
                _ => continue,
            };
            self.types.push(TypeItem {
                modules: modules.clone(),
                name: name.to_string(),
                line: source.line_of(name.span().start()),
            });
        }
    }

    fn add_block(&mut self, source: &Source, modules: &[String], block: &ItemImpl) {
        let Type::Path(owner) = &*block.self_ty else {
            return;
        };
        let mut segments = owner.path.segments.iter().rev();
        let Some(name) = segments.next() else { return };
        let qualifier = segments.next().map(|it| it.ident.to_string());
        for item in &block.items {
            let ImplItem::Fn(function) = item else {
                continue;
            };
            let signature = &function.sig;
            let object = match signature.inputs.first() {
                _ if !runs_only_at_run_time(&function.attrs, signature) => Err(NoObject::Const),
                _ if signature.asyncness.is_some() => Err(NoObject::Async),
                Some(FnArg::Receiver(receiver)) => object_of(receiver),
                _ => Err(NoObject::NoReceiver),
            };
            self.methods.push(Method {
                modules: modules.to_owned(),
                owner: name.ident.to_string(),
                qualifier: qualifier.clone(),
                name: signature.ident.to_string(),
                line: source.line_of(signature.ident.span().start()),
                is_inherent: block.trait_.is_none(),
                object,
            });
        }
    }
}

fn object_of(receiver: &Receiver) -> Result<Object, NoObject> {
    let dereferences = match &receiver.kind {
        ReceiverKind::Reference(..) => 1,
        ReceiverKind::Typed(_, ty) => dereferences(ty),
        _ => 0,
    };
    match dereferences {
        0 => Err(NoObject::ByValue),
        dereferences => Ok(Object { dereferences }),
    }
}

/// The number of dereferences from a receiver of this type to the object. Only some types can be
/// receivers: references, `Box`, `Rc`, `Arc`, and `Pin` around one of these.
fn dereferences(ty: &Type) -> usize {
    match ty {
        Type::Reference(reference) => 1 + dereferences(&reference.elem),
        Type::Paren(inner) => dereferences(&inner.elem),
        Type::Group(inner) => dereferences(&inner.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return 0;
            };
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return 0;
            };
            let Some(GenericArgument::Type(inner)) = arguments.args.first() else {
                return 0;
            };
            match last.ident.to_string().as_str() {
                "Pin" => dereferences(inner),
                "Box" | "Rc" | "Arc" => 1 + dereferences(inner),
                _ => 0,
            }
        }
        _ => 0,
    }
}
