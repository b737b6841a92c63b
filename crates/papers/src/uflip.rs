//! L. Bouganim, B. Jónsson and P. Bonnet, "uFLIP: Understanding Flash IO Patterns", CIDR 2009, and
//! their slides.

mod alignment;
mod bench;
mod bias;
mod chips;
mod device_state;
mod granularity;
mod hints;
mod interference;
mod locality;
mod mix;
mod other_results;
mod patterns;
mod phases;
mod preparation;
mod screens;
mod size;
mod table_1;
mod table_2;
mod table_3;

pub(crate) use alignment::ALIGNMENT;
pub(crate) use bias::SECTION_4_2;
pub(crate) use chips::CHIPS;
pub(crate) use device_state::SECTION_4_1;
pub(crate) use granularity::{FIGURE_6, FIGURE_7};
pub(crate) use hints::HINTS;
pub(crate) use interference::FIGURE_5;
pub(crate) use locality::{FIGURE_8, LOCALITY};
pub(crate) use mix::MIXES;
pub(crate) use other_results::OTHER_RESULTS;
pub(crate) use patterns::FIGURE_2;
pub(crate) use phases::{FIGURE_3, FIGURE_4};
pub(crate) use preparation::SECTION_5_1;
pub(crate) use screens::SCREENS;
pub(crate) use size::SIZE;
pub(crate) use table_1::TABLE_1;
pub(crate) use table_2::TABLE_2;
pub(crate) use table_3::TABLE_3;

use crate::Input;

/// The inputs with the seven drives of Table 3.
const DRIVES: [&str; 7] =
    [MEMORIGHT.name, MTRON.name, SAMSUNG.name, MODULE.name, MLC.name, DTHX.name, DTI.name];

const MEMORIGHT: Input = Input {
    name: "memoright",
    summary: "the simulated drive: Memoright MR25.2-032S, an SSD",
    value: "memoright",
    other: "memoright?flash.page_program=500us&interface.request_overhead=300us",
};

const MTRON: Input = Input {
    name: "mtron",
    summary: "the simulated drive: Mtron SATA7035-016, an SSD",
    value: "mtron",
    other: "mtron?flash.page_program=500us&cache.size=2MiB",
};

const SAMSUNG: Input = Input {
    name: "samsung",
    summary: "the simulated drive: Samsung MCBQE32G5MPP, an SSD",
    value: "samsung",
    other: "samsung?flash.page_program=500us&log.blocks=2",
};

const MODULE: Input = Input {
    name: "module",
    summary: "the simulated drive: Transcend TS4GDOM40V-S, an IDE module",
    value: "transcend-module",
    other: "transcend-module?flash.page_program=500us",
};

const MLC: Input = Input {
    name: "mlc",
    summary: "the simulated drive: Transcend TS32GSSD25S-M, an SSD of MLC flash",
    value: "transcend-mlc",
    other: "transcend-mlc?flash.page_program=900us",
};

const DTHX: Input = Input {
    name: "dthx",
    summary: "the simulated drive: Kingston DT hyper X, a USB drive",
    value: "kingston-dthx",
    other: "kingston-dthx?flash.page_program=800us",
};

const DTI: Input = Input {
    name: "dti",
    summary: "the simulated drive: Kingston DTI 4GB, a USB drive",
    value: "kingston-dti",
    other: "kingston-dti?flash.page_program=800us&flash.pages_per_block=64&flash.blocks_per_plane=544",
};

const SEED: Input = Input {
    name: "seed",
    summary: "the seed of random addresses, and of the random writes that prepare the drive",
    value: "2009",
    other: "1",
};

/// The relative tolerance of times and ratios: 10 %, because the paper's own three runs differ by 5
/// %.
const OFF: f64 = 0.1;
