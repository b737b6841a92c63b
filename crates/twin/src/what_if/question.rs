//! What is asked.

use flashscope_block::Device;
use flashscope_result::SimulationFill;
use flashscope_result::what_if::{Change, Variant, WHAT_IF_VERSION, WhatIf, WhatIfStatus};
use flashscope_workload::synthetic::{self, Target};

use crate::simulate::{self, Asked};
use crate::sweep::{SpaceError, Trial, fields};

/// What the base is called.
pub const BASE: &str = "as it is";

/// The most variants of a question.
pub const MOST_VARIANTS: usize = 1000;

/// The most simulations of a variant.
pub const MOST_REPEATS: u32 = 10_000;

/// What is wrong with a question.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    /// A field that there is not.
    #[error(transparent)]
    Field(#[from] SpaceError),
    /// A change that sets nothing.
    #[error(
        "`{change}` changes nothing: write it like `over_provisioning=0.28` or \
         `ftl=fast,over_provisioning=0.1`"
    )]
    NoChange {
        /// As it was given.
        change: String,
    },
    /// Two variants of one name.
    #[error("two variants are called `{name}`: give each a name of its own")]
    Twice {
        /// The name.
        name: String,
    },
    /// None, or too many.
    #[error("a what-if has at least one variant, at most {MOST_VARIANTS}")]
    Variants,
    /// As often as that nothing is simulated.
    #[error("repeats: it is a whole number from 1 to {MOST_REPEATS}")]
    Repeats,
    /// The base cannot be simulated as it is.
    #[error(transparent)]
    Base(#[from] simulate::Error),
}

/// A variant that is asked about: its name, and what is changed. Without a name it is called by its
/// changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// What it is to be called.
    pub name: Option<String>,
    /// What is set otherwise.
    pub changes: Vec<Change>,
}

/// What would be if.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The base, and then each variant.
    asked: Vec<Asked>,
    named: Vec<(String, Vec<Change>)>,
    repeats: u32,
}

/// The changes in a text, `field=value,field=value`. What has no `=` belongs to the value before it, so
/// that values may hold commas.
///
/// # Errors
/// Where it sets nothing, or a field that there is not, with the nearest.
pub fn changes(text: &str) -> Result<Vec<Change>, WhatIfError> {
    let mut changes: Vec<Change> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), changes.last_mut()) {
            (Some((field, value)), _) => {
                let (field, value) = (field.trim().to_owned(), value.trim().to_owned());
                fields::known("a drive or workload", &field)?;
                changes.push(Change { field, value });
            }
            (None, Some(last)) => last.value += &format!(",{}", part.trim()),
            (None, None) => return Err(WhatIfError::NoChange { change: text.into() }),
        }
    }
    Ok(changes)
}

impl Question {
    /// What would come of `base` with each of these changes, simulated so often.
    ///
    /// # Errors
    /// What is wrong with it. That a variant cannot be is not: its row will say so.
    pub fn new(base: Asked, variants: Vec<Asking>, repeats: u32) -> Result<Question, WhatIfError> {
        if !(1..=MOST_VARIANTS).contains(&variants.len()) {
            return Err(WhatIfError::Variants);
        }
        if !(1..=MOST_REPEATS).contains(&repeats) {
            return Err(WhatIfError::Repeats);
        }
        can_be(&base)?;
        let mut asked = vec![base];
        let mut named = vec![(BASE.to_owned(), Vec::new())];
        for Asking { name, changes } in variants {
            let name = name.unwrap_or_else(|| said(&changes));
            if changes.is_empty() {
                return Err(WhatIfError::NoChange { change: name });
            }
            if named.iter().any(|(taken, _)| *taken == name) {
                return Err(WhatIfError::Twice { name });
            }
            for Change { field, .. } in &changes {
                fields::known("a drive or workload", field)?;
            }
            let settings: Vec<(&str, String)> = changes
                .iter()
                .map(|Change { field, value }| (field.as_str(), value.clone()))
                .collect();
            asked.push(fields::set(&asked[0], &settings));
            named.push((name, changes));
        }
        Ok(Question { asked, named, repeats })
    }

    /// What is simulated: the base, and then each variant.
    #[must_use]
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// Simulations of each.
    #[must_use]
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// All simulations: of the base, and then of each variant.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let trial = |point: usize, asked: &Asked, repeat: u32| Trial {
            point: u32::try_from(point).unwrap_or(u32::MAX),
            repeat,
            levels: Vec::new(),
            asked: asked.repeated(repeat),
        };
        let of = |(point, asked)| (0..self.repeats).map(move |repeat| trial(point, asked, repeat));
        self.asked.iter().enumerate().flat_map(of).collect()
    }

    /// The document before anything is known.
    pub(super) fn unanswered(&self) -> WhatIf {
        let mut all = self.asked.iter().zip(&self.named).map(|(asked, (name, changes))| Variant {
            name: name.clone(),
            changes: changes.clone(),
            drive: asked.drive.clone(),
            workload: asked.work.workload.clone(),
            closed_form: None,
            not_predicted: None,
            status: None,
            reason: None,
            simulated: Vec::new(),
        });
        WhatIf {
            schema_version: WHAT_IF_VERSION,
            status: WhatIfStatus::Unfinished,
            seed: self.asked[0].work.seed,
            repeats: self.repeats,
            base: all.next().expect("there is a base"),
            variants: all.collect(),
        }
    }
}

/// Changes as they stand on the command line.
fn said(changes: &[Change]) -> String {
    let said: Vec<String> =
        changes.iter().map(|Change { field, value }| format!("{field}={value}")).collect();
    said.join(", ")
}

/// That there is such a drive and such a workload on it.
fn can_be(base: &Asked) -> Result<(), simulate::Error> {
    let info = simulate::drive(&base.drive)?.info().clone();
    let target = Target {
        capacity: info.capacity,
        logical_block: info.logical_block,
        filled: base.work.fill != SimulationFill::None,
        seed: base.work.seed,
    };
    synthetic::open(&base.work.workload, &target)?;
    Ok(())
}
