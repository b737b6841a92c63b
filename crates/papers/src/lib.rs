//! Runnable reproductions of every table and figure of the papers. They show the printed and the
//! measured values, the differences, and the reasons for the differences.
//!
//! An [`Item`] is a table, a figure or a passage. It makes [`Claim`]s, each with a verdict, its
//! [`State`]. An item is a constant in the module of its subject, and
//! one line in [`ITEMS`]. It holds the published values and no algorithm: the values to compare
//! come from the other crates, with [`Inputs`] that users can change.

mod agrawal;
mod boboila;
mod claim;
mod errata;
mod figure;
mod inputs;
mod item;
mod sun_zhang;
mod test_bed;
mod times;
mod uflip;

pub use claim::{Claim, Finding, Number, State, Statement, Tolerance};
pub use errata::{ERRATA, Erratum};
pub use figure::{Axis, Figure, Mark, Series};
pub use inputs::{Input, InputValue, Inputs, UnknownInput};
pub use item::{Error, Item, MissingItem, Outcome, Paper, Reproduction, Reproductions, Run};

/// All items, by paper and location.
pub const ITEMS: &[&Item] = &[
    &uflip::FIGURE_2,
    &uflip::TABLE_1,
    &uflip::SECTION_4_1,
    &uflip::SECTION_4_2,
    &uflip::TABLE_2,
    &uflip::SECTION_5_1,
    &uflip::FIGURE_3,
    &uflip::FIGURE_4,
    &uflip::FIGURE_5,
    &uflip::FIGURE_6,
    &uflip::FIGURE_7,
    &uflip::FIGURE_8,
    &uflip::LOCALITY,
    &uflip::TABLE_3,
    &uflip::ALIGNMENT,
    &uflip::OTHER_RESULTS,
    &uflip::MIXES,
    &uflip::HINTS,
    &uflip::CHIPS,
    &uflip::SCREENS,
    &uflip::SIZE,
    &agrawal::TABLE_1,
    &agrawal::SECTION_2_2,
    &agrawal::FIGURE_2,
    &agrawal::TABLE_2,
    &agrawal::SECTION_3_1,
    &agrawal::TABLE_3,
    &agrawal::FIGURE_6,
    &agrawal::TABLE_4,
    &agrawal::FIGURE_7,
    &agrawal::TABLE_5,
    &agrawal::FIGURE_8,
    &agrawal::TABLE_6,
    &agrawal::TABLE_7,
    &agrawal::SECTION_5_2,
    &boboila::FIGURE_1,
    &boboila::EQUATIONS,
    &boboila::FIGURE_2,
    &boboila::EQUATION_16,
    &boboila::FIGURE_3,
    &boboila::FIGURE_4,
    &sun_zhang::TABLE_1,
    &sun_zhang::FIGURE_2,
    &sun_zhang::FIGURE_3,
    &sun_zhang::FIGURE_4,
    &sun_zhang::FIGURE_5,
    &sun_zhang::FIGURE_7,
    &sun_zhang::FIGURE_8,
    &sun_zhang::FIGURE_9,
    &sun_zhang::FIGURE_13,
    &sun_zhang::TABLE_2,
    &sun_zhang::FIGURE_16,
    &sun_zhang::FIGURE_18,
    &sun_zhang::TABLE_3,
];

/// Returns the item with the identifier `id`.
#[must_use]
pub fn item(id: &str) -> Option<&'static Item> {
    ITEMS.iter().find(|item| item.id == id).copied()
}

#[cfg(test)]
mod tests;
