use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// An input of an item that users can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The name.
    pub name: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// The value in the paper.
    pub value: &'static str,
    /// A different value that changes the outcome, which proves that the outcome is not hard-coded.
    pub other: &'static str,
}

/// An input with the value that an item ran with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputValue {
    /// The name.
    pub name: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// The value in the paper.
    pub published: &'static str,
    /// The value in this run.
    pub value: String,
}

/// The values of all inputs of an item, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs(BTreeMap<&'static str, String>);

/// The error for an input that the item does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this item has no input `{name}`; its inputs are: {}", .known.join(", "))]
pub struct UnknownInput {
    name: String,
    known: Vec<&'static str>,
}

impl Inputs {
    /// Returns the inputs with the values of the paper.
    #[must_use]
    pub fn of(inputs: &[Input]) -> Inputs {
        Inputs(inputs.iter().map(|input| (input.name, input.value.into())).collect())
    }

    /// Changes the value of an input.
    ///
    /// # Errors
    /// Fails if the item has no input of that name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), UnknownInput> {
        let known = self.0.keys().copied().collect();
        let input = self.0.get_mut(name);
        *input.ok_or_else(|| UnknownInput { name: name.into(), known })? = value.into();
        Ok(())
    }

    /// Returns the value of an input, which the item must have.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).expect("an item uses only its own inputs")
    }

    /// Returns all inputs with their descriptions, in the order of `inputs`.
    pub(crate) fn values(&self, inputs: &[Input]) -> Vec<InputValue> {
        let value = |&Input { name, summary, value, .. }: &Input| InputValue {
            name,
            summary,
            published: value,
            value: self.get(name).into(),
        };
        inputs.iter().map(value).collect()
    }
}
