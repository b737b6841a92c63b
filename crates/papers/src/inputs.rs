use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Something that an item rests on and that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// What the paper has.
    pub value: &'static str,
    /// Something else, with which the item finds something else: it shows that the outcome is not
    /// written down anywhere.
    pub other: &'static str,
}

/// An input, and what an item was run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Given {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// What the paper has.
    pub published: &'static str,
    /// What it was.
    pub value: String,
}

/// What an item is run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs(BTreeMap<&'static str, String>);

/// An item has no such input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no input `{name}` of this item; there are: {}", .known.join(", "))]
pub struct UnknownInput {
    name: String,
    known: Vec<&'static str>,
}

impl Inputs {
    /// As the paper has them.
    #[must_use]
    pub fn of(inputs: &[Input]) -> Inputs {
        Inputs(inputs.iter().map(|input| (input.name, input.value.into())).collect())
    }

    /// Changes one.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), UnknownInput> {
        let known = self.0.keys().copied().collect();
        let input = self.0.get_mut(name);
        *input.ok_or_else(|| UnknownInput { name: name.into(), known })? = value.into();
        Ok(())
    }

    /// The value of an input that the item has.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).expect("an item asks for its own inputs")
    }

    /// All of them, with what they are, in the order of the item's.
    pub(crate) fn given(&self, inputs: &[Input]) -> Vec<Given> {
        let given = |&Input { name, summary, value, .. }: &Input| Given {
            name,
            summary,
            published: value,
            value: self.get(name).into(),
        };
        inputs.iter().map(given).collect()
    }
}
