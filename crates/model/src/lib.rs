//! Closed-form models of flash translation layers: parameters in, prediction out.
//!
//! All models are pure functions. Each model is one file. [`MODELS`] lists the models of uniform
//! writes by name. [`Table`] interpolates models that are slow to solve, and [`Surface`]
//! interpolates predictions or measurements. The models share these symbols:
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | B, b | [`Uniform::pages_per_block`] | pages in an erase block |
//! | V_L | [`Uniform::logical_blocks`] | logical blocks |
//! | f | [`Uniform::free_space`] | spare blocks divided by logical blocks |
//! | w | [`Uniform::mean_len`] | mean length of writes in pages |
//! | T, A | | pages written by the host; pages programmed for each page that the host writes |
//!
//! Sources are cited as: *Boboila* (S. Boboila and P. Desnoyers, MSST 2011), *Desnoyers* (P.
//! Desnoyers, SYSTOR 2012), *Van Houdt* (B. Van Houdt, SIGMETRICS 2013), *Hu* (X. Hu et al., SYSTOR
//! 2009), *Frankie* (T. Frankie et al., 2012), *Agrawal* (N. Agrawal et al., USENIX ATC 2008).

mod fragments;
mod isotonic;
mod lifetime;
mod log_block;
mod nand;
mod normal;
mod page_map;
mod prediction;
mod registry;
mod root;
mod surface;
mod table;
pub mod trace;
mod uniform;

pub use fragments::{Fragments, head_len, head_len_as_printed};
pub use isotonic::Trend;
pub use lifetime::Lifetime;
pub use log_block::{bast, bast_refined, fast, fast_refined};
pub use nand::Nand;
pub use page_map::{
    Class, Mix, Translation, cost_benefit, d_choices, desnoyers, equivalent, fifo, greedy, pools,
    random, trim, windowed, zipf,
};
pub use prediction::{Merges, Prediction};
pub use registry::{Family, MODELS, Model};
pub use surface::{GridError, Surface};
pub use table::Table;
pub use uniform::{OutOfRange, Uniform};
