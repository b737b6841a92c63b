//! Deserialization of sizes and times that have units, such as `4KiB` and `25us`.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use flashscope_block::{Bytes, Nanos};
use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Deserializes a size: a number of bytes, or a text such as `4KiB`.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    deserializer.deserialize_any(Quantity {
        what: "a size such as 4096 or \"4KiB\"",
        from_number: Some(Bytes),
        unit: PhantomData,
    })
}

/// Deserializes a time: a text such as `25us`. A bare number other than 0 is an error, because it
/// has no unit.
pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
    deserializer.deserialize_any(Quantity {
        what: "a time such as \"25us\"",
        from_number: None,
        unit: PhantomData,
    })
}

struct Quantity<T> {
    what: &'static str,
    from_number: Option<fn(u64) -> T>,
    unit: PhantomData<T>,
}

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Quantity<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        if number == 0 && self.from_number.is_none() {
            // Zero is the same in every unit.
            return self.visit_str("0ns");
        }
        let value = u64::try_from(number).ok().zip(self.from_number);
        let unexpected = serde::de::Unexpected::Signed(number);
        value.map(|(n, make)| make(n)).ok_or_else(|| E::invalid_value(unexpected, &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
