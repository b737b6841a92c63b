//! Values for each page type, as a text.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use flashscope_block::Nanos;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value for each page type, lower page first. Its text has the values in turn, as in
/// `50us/75us/60us`; it may be empty.
#[derive(Debug, Clone, PartialEq)]
pub struct PerPageType<T>(pub Vec<T>);

/// Times of the page types.
pub type PageTimes = PerPageType<Nanos>;

/// Factors of the page types.
pub type PageFactors = PerPageType<f64>;

/// A value that a text holds without loss.
pub trait Exact: FromStr<Err: fmt::Display> {
    /// Example of a text with three values.
    const EXAMPLE: &str;

    /// Returns the text of the value.
    fn text(&self) -> String;
}

impl Exact for Nanos {
    const EXAMPLE: &str = "50us/75us/60us";

    fn text(&self) -> String {
        format!("{}ns", self.0)
    }
}

impl Exact for f64 {
    const EXAMPLE: &str = "1/2/1.5";

    fn text(&self) -> String {
        self.to_string()
    }
}

impl<T> Default for PerPageType<T> {
    fn default() -> Self {
        PerPageType(Vec::new())
    }
}

impl<T: Exact> FromStr for PerPageType<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(PerPageType::default());
        }
        let values: Result<Vec<T>, _> = text.split('/').map(|value| value.trim().parse()).collect();
        values.map(PerPageType).map_err(|error| {
            format!("{error}; separate the values of page types by `/`, as in `{}`", T::EXAMPLE)
        })
    }
}

impl<T: Exact> fmt::Display for PerPageType<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.0.iter().map(T::text).collect();
        f.write_str(&values.join("/"))
    }
}

impl<T: Exact> Serialize for PerPageType<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: Exact> Deserialize<'de> for PerPageType<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl<T: Exact> JsonSchema for PerPageType<T> {
    fn schema_name() -> Cow<'static, str> {
        "PerPageType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A value for each page type, as in `50us/75us/60us`; empty for none.",
            "type": "string"
        })
    }
}
