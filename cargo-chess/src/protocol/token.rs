//! Serializes items of the vocabulary by their tokens.

use std::fmt;
use std::marker::PhantomData;

use chess_vocabulary::Token;
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

pub(super) fn serialize<T: Token, S: Serializer>(it: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(it.token())
}

pub(super) fn deserialize<'de, T: Token, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_str(OfToken(PhantomData))
}

struct OfToken<T>(PhantomData<T>);

impl<T: Token> Visitor<'_> for OfToken<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token of the vocabulary")
    }

    fn visit_str<E: Error>(self, token: &str) -> Result<T, E> {
        let unknown = || E::custom(format_args!("the vocabulary has no token `{token}`"));
        T::of_token(token).ok_or_else(unknown)
    }
}

/// Serializes optional items of the vocabulary by their tokens.
pub(super) mod optional {
    use serde::{Deserialize, Serialize};

    use super::{Deserializer, Serializer, Token};

    #[derive(Serialize, Deserialize)]
    #[serde(bound = "")]
    struct Known<T: Token>(#[serde(with = "super")] T);

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(in super::super) fn serialize<T: Token, S: Serializer>(
        it: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        it.map(Known).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, T: Token, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        let known = Option::<Known<T>>::deserialize(from)?;
        Ok(known.map(|it| it.0))
    }
}
