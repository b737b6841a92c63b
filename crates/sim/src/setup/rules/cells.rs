//! Cells of several bits: the page types of a word line, and how a word line is programmed.

use std::fmt;

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PageTimes, Profile, ProfileError, require};
use crate::nand::PageTypes;

/// The cells of the flash, except in blocks that are used as SLC. The cells of a *word line* hold
/// as many pages as a cell has bits, one of each *page type*: lower, middle, upper and so on. The
/// pages of a word line follow each other in the block: page `i` has type `i` modulo
/// `bits_per_cell`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cells {
    /// The number of bits in a cell (1 to 5). No effect unless another field of this section is
    /// set, or blocks are used as SLC. Default: 3. Source: none; three bits (TLC) are the most
    /// frequent.
    pub bits_per_cell: u32,
    /// The times to read a page of each type, lower page first, as in `"50us/75us/60us"`: as many
    /// as `bits_per_cell`. If empty, each takes `flash.page_read`. Default: empty. Source: none.
    pub page_read: PageTimes,
    /// The times to program a page of each type, in the same form; only with `multi-pass`
    /// programming. If empty, each takes `flash.page_program`. Default: empty. Source: none.
    pub page_program: PageTimes,
    /// The way in which a word line is programmed: with `multi-pass`, one page after the other.
    /// With `one-shot`, the data of every page except the last only moves over the bus to the
    /// latches of the die. The last page programs the entire word line, which takes
    /// `flash.page_program`. The latches are protected: if power fails, the drive has the energy to
    /// program the pages in them. Default: `multi-pass`. Source: none.
    pub programming: Programming,
}

/// The way in which the pages of a word line are programmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Programming {
    /// One page after the other.
    MultiPass,
    /// All pages together.
    OneShot,
}

/// Formats the way of programming as in a profile.
impl fmt::Display for Programming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Programming::MultiPass => "multi-pass",
            Programming::OneShot => "one-shot",
        })
    }
}

impl Default for Cells {
    fn default() -> Self {
        Cells {
            bits_per_cell: 3,
            page_read: PageTimes::default(),
            page_program: PageTimes::default(),
            programming: Programming::MultiPass,
        }
    }
}

impl Cells {
    /// Returns true if pages differ by their type.
    const fn has_types(&self) -> bool {
        !self.page_read.0.is_empty()
            || !self.page_program.0.is_empty()
            || matches!(self.programming, Programming::OneShot)
    }
}

impl Profile {
    /// Checks the section `cells`, and returns the page types.
    pub(super) fn page_types(&self) -> Result<PageTypes, ProfileError> {
        let Cells { bits_per_cell: bits, programming, .. } = self.cells;
        let rule = format!("it must be from 1 to {}", PageTypes::MAX_BITS);
        let (field, fits) =
            ("cells.bits_per_cell", (1..=PageTypes::MAX_BITS).contains(&(bits as usize)));
        require(fits, field, bits, rule)?;
        if !self.cells.has_types() {
            return Ok(PageTypes::NONE);
        }
        let pages = self.flash.pages_per_block;
        let rule = format!(
            "it must be a multiple of cells.bits_per_cell, which is {bits}: a block consists of whole word lines"
        );
        require(pages.is_multiple_of(bits), "flash.pages_per_block", pages, rule)?;
        let zeros = self.flash.zero_page_program;
        let rule = "it must be 0 where pages have types: their times replace it";
        require(zeros == Nanos(0), "flash.zero_page_program", zeros, rule)?;
        let one_shot = programming == Programming::OneShot;
        let given = self.cells.page_program.0.is_empty();
        let rule = "it must be empty where cells.programming is \"one-shot\": flash.page_program is the time of a word line";
        require(given || !one_shot, "cells.page_program", &self.cells.page_program, rule)?;
        let reads =
            self.times_of_types("cells.page_read", &self.cells.page_read, self.flash.page_read)?;
        let mut programs = self.times_of_types(
            "cells.page_program",
            &self.cells.page_program,
            self.flash.page_program,
        )?;
        if one_shot {
            let last = programs.len() - 1;
            programs[..last].fill(Nanos(0));
        }
        Ok(PageTypes::new(&reads, &programs))
    }

    /// Returns a time for each page type: those in `times`, or `usual` for every type if `times` is
    /// empty.
    fn times_of_types(
        &self,
        field: &'static str,
        times: &PageTimes,
        usual: Nanos,
    ) -> Result<Vec<Nanos>, ProfileError> {
        let bits = self.cells.bits_per_cell as usize;
        if times.0.is_empty() {
            return Ok(vec![usual; bits]);
        }
        let rule = format!("it must have {bits} times, as many as cells.bits_per_cell");
        require(times.0.len() == bits, field, times, rule)?;
        let rule = "each time must be above 0";
        require(times.0.iter().all(|time| *time > Nanos(0)), field, times, rule)?;
        Ok(times.0.clone())
    }
}
