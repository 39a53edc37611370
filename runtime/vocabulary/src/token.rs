//! The tokens of the vocabulary on the wire.

/// A value with a name on the wire: one word that never changes, even if reports rename the value.
pub trait Token: Copy + Sized + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// The name on the wire.
    fn token(self) -> &'static str;

    /// The value with this token. `None` if there is none.
    fn of_token(token: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.token() == token)
    }
}

/// Declares the tokens of an enum without fields.
macro_rules! tokens {
    ($Type:ident { $($Variant:ident = $token:literal,)* }) => {
        impl $crate::Token for $Type {
            const ALL: &'static [Self] = &[$(Self::$Variant,)*];

            fn token(self) -> &'static str {
                match self { $(Self::$Variant => $token,)* }
            }
        }
    };
}
pub(crate) use tokens;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    use super::*;
    use crate::{Effect, Fault, Hold, Kind, NoteKind, Op, OutsideEffect, WarningKind};

    fn all_are_known_by_their_tokens<T: Token + PartialEq + Debug>() {
        let mut tokens = BTreeSet::new();
        for it in T::ALL {
            assert_eq!(T::of_token(it.token()), Some(*it));
            assert!(tokens.insert(it.token()), "{it:?}: two have this token");
        }
        assert_eq!(T::of_token("no such token"), None);
    }

    #[test]
    fn each_token_stands_for_one_thing() {
        all_are_known_by_their_tokens::<Op>();
        all_are_known_by_their_tokens::<OutsideEffect>();
        all_are_known_by_their_tokens::<WarningKind>();
        all_are_known_by_their_tokens::<Effect>();
        all_are_known_by_their_tokens::<Fault>();
        all_are_known_by_their_tokens::<Hold>();
        all_are_known_by_their_tokens::<Kind>();
        all_are_known_by_their_tokens::<NoteKind>();
    }
}
