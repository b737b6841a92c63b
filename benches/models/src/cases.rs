//! The cases: workloads and drives.

use flashscope_model::trace::{Ranges, Space, Stretches};
use flashscope_predict::drawn::Traits;
use flashscope_predict::{Pieces, Request};
use flashscope_sim::{Profile, setup};

use crate::requests;

/// The drive of Boboila and Desnoyers: 30 GB, 7 % free, pages of 2 KB, blocks of 64 pages.
pub(crate) const PAPER: Space =
    Space { pages_per_block: 64, logical_blocks: 245_760, free_blocks: 17_203 };

/// The name of the paper's drive.
pub(crate) const PAPERS: &str = "30 GB";

/// A workload on a drive.
pub(crate) struct Case {
    /// The name of the workload.
    pub workload: String,
    /// The name of the drive.
    pub drive: String,
    /// The profile of the drive.
    pub profile: Profile,
    /// The models to compare, the best first.
    pub models: Models,
}

/// The names of models, each with the pieces into which a model of uniform writes divides a
/// workload.
pub(crate) type Models = Vec<(&'static str, Pieces)>;

const WHOLE: Pieces = Pieces { ranges: Ranges::Whole, stretches: Stretches::LogList };
const WRITTEN: Pieces = Pieces { ranges: Ranges::Written, ..WHOLE };

/// Returns a drive of one plane with `blocks` blocks. `fields` are profile fields in the notation
/// of a spec.
pub(crate) fn drive(
    blocks: u32,
    pages_per_block: u32,
    logical_blocks: u32,
    fields: &str,
) -> Profile {
    let spare = f64::from(blocks - logical_blocks) / f64::from(blocks);
    let spec = format!(
        "flashsim-2009-30g?flash.planes_per_die=1&flash.blocks_per_plane={blocks}&timed=false\
         &flash.pages_per_block={pages_per_block}&over_provisioning={spare}\
         &persistence.map=nv-ram&{fields}"
    );
    setup::parse(&spec).expect("a valid spec")
}

/// Returns the cases of a workload on the paper's drive, one for each of four FTLs.
pub(crate) fn on_the_papers_drive(workload: &str) -> impl Iterator<Item = Case> {
    let Space { pages_per_block, logical_blocks, free_blocks } = PAPER;
    let logs = format!("log.blocks={free_blocks}");
    let threshold = 1.5 / f64::from(logical_blocks + free_blocks + 3);
    let pages = format!("cleaning.free_threshold={threshold}");
    let ftls: [(&str, String, Models); 4] = [
        (
            "bast",
            logs.clone(),
            vec![
                ("fragment-bast", WHOLE),
                ("bast", WHOLE),
                ("bast-eager", WHOLE),
                ("bast-eager", WRITTEN),
            ],
        ),
        (
            "fast",
            logs,
            vec![
                ("fragment-fast", WHOLE),
                ("fast", WHOLE),
                ("fast-2011", WHOLE),
                ("fast", WRITTEN),
            ],
        ),
        (
            "page-map",
            pages.clone(),
            vec![("survivors", WHOLE), ("reuse", WHOLE), ("greedy", WHOLE)],
        ),
        // The map cache holds a hundredth of the map.
        ("dftl", format!("{pages}&map_cache.size=1258291"), vec![("dftl", WHOLE)]),
    ];
    ftls.into_iter().map(move |(ftl, fields, models)| {
        let blocks = logical_blocks + free_blocks + 3;
        let fields = format!("ftl={ftl}&{fields}");
        Case {
            workload: workload.into(),
            drive: PAPERS.into(),
            profile: drive(blocks, pages_per_block, logical_blocks, &fields),
            models,
        }
    })
}

/// The intended number of blocks of a full drive, from which the pages per block follow.
const BLOCKS: u64 = 512;

/// Returns the cases of a workload on page-mapped drives that the workload fills.
pub(crate) fn on_full_drives(workload: &str, requests: &[Request]) -> Vec<Case> {
    let end = |request: &Request| u64::from(request.page) + u64::from(request.pages());
    let end = requests.iter().map(end).max().unwrap_or(1);
    let mut pages_per_block = 64;
    while pages_per_block > 8 && end / u64::from(pages_per_block) < BLOCKS {
        pages_per_block /= 2;
    }
    let logical = u32::try_from(end.div_ceil(pages_per_block.into())).expect("a drive of traces");
    let mut cases = Vec::new();
    for spare in [0.07, 0.28] {
        // Three more blocks: cleaning keeps two free, and one is open.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a drive has some thousands of blocks"
        )]
        let blocks = (f64::from(logical) / (1.0 - spare)).ceil() as u32 + 3;
        let mut add = |name: &str, more: u32, fields: String, models: Models| {
            let blocks = blocks + more;
            let threshold = 1.5 / f64::from(blocks);
            let fields = format!("cleaning.free_threshold={threshold}&{fields}");
            cases.push(Case {
                workload: workload.into(),
                drive: format!("full, {:.0} % {name}", 100.0 * spare),
                profile: drive(blocks, pages_per_block, logical, &fields),
                models,
            });
        };
        for policy in ["greedy", "fifo"] {
            let fields = format!("ftl=page-map&cleaning.policy={policy}");
            add(policy, 0, fields, vec![("survivors", WHOLE), ("reuse", WHOLE), (policy, WHOLE)]);
        }
        let pages = logical * pages_per_block;
        for cached in [0.01, 0.1, 0.5, 1.0] {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of pages that fit into 32 bits"
            )]
            let entries = (cached * f64::from(pages)).ceil() as u32;
            let map_blocks = pages.div_ceil(512).div_ceil(pages_per_block);
            let fields = format!("ftl=dftl&map_cache.size={}", 8 * entries);
            let name = format!("{:.0} % cached", 100.0 * cached);
            add(&name, map_blocks + 2, fields, vec![("dftl", WHOLE)]);
        }
    }
    cases
}

/// The logical pages of the full drives for synthetic workloads.
const PAGES: u64 = 1 << 16;

/// Synthetic workloads for full drives, which complement the traces.
const WORKLOADS: &[&str] = &[
    "uniform",
    "uniform?size=2KiB",
    "uniform?size=geometric:32KiB",
    "zipf?exponent=0.8",
    "zipf?exponent=0.99",
    "zipf?exponent=0.99&shuffled=false",
    "hotcold",
    "hotcold?hot_space=0.05&hot_writes=0.9",
    "sequential",
    "tpcc",
    "btree",
    "lsm",
    "postmark",
    "iozone",
];

/// Returns the synthetic workloads with their requests, enough to write each page five times.
pub(crate) fn workloads() -> impl Iterator<Item = (String, Vec<Request>)> {
    WORKLOADS.iter().map(|spec| ((*spec).into(), requests::of(spec, PAGES, 5 * PAGES)))
}

/// The seed of the generated workloads.
pub(crate) const SEED: u64 = 1;

/// Generates the requests of a workload with the traits of a trace.
pub(crate) fn generate(traits: &Traits) -> Vec<Request> {
    traits.requests(PAPER, SEED).collect()
}
