//! Page maps: drives that are full of what is written to them.

use flashscope_model::trace::{Cleaning, Predictor, Reuse, Space, Survivors};

use crate::requests::{self, Request};
use crate::simulator::{self, Passes, SPACE, Simulator, repeated};
use crate::summary::Summary;

/// What is written to drives.
pub struct Case {
    pub name: String,
    pub requests: Vec<Request>,
    pub pages_per_block: u32,
    pub logical_blocks: u32,
    pub passes: Passes,
    /// Shares of drives that are spare.
    pub spares: &'static [f64],
}

/// Logical pages of drives for workloads of ours.
const PAGES: u64 = 1 << 16;

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

/// Blocks that a drive should have, by which the pages of one are chosen.
const BLOCKS: u64 = 512;

impl Case {
    /// Of all requests, on a drive that they fill.
    fn new(name: String, requests: Vec<Request>) -> Case {
        let end = requests.iter().map(|request| request.page + request.pages).max().unwrap_or(1);
        let mut pages_per_block = 64;
        while pages_per_block > 8 && end / u64::from(pages_per_block) < BLOCKS {
            pages_per_block /= 2;
        }
        let logical_blocks = end.div_ceil(pages_per_block.into());
        let logical_blocks = u32::try_from(logical_blocks).expect("a drive of traces");
        let passes = passes(&requests, 4 * end);
        Case {
            name,
            requests,
            pages_per_block,
            logical_blocks,
            passes,
            spares: &[0.07, 0.15, 0.28],
        }
    }

    /// A trace on the drive of the paper, until what it writes comes to all that is free several times.
    pub fn on_30_gb(name: &str, spec: &str, fields: &str) -> Case {
        let Space { pages_per_block, logical_blocks, free_blocks } = SPACE;
        let requests = requests::of(&format!("{spec}?remap=fold{fields}"), SPACE.pages(), u64::MAX);
        let passes = passes(&requests, u64::from(free_blocks * pages_per_block));
        let name: String = name.chars().take(24).collect();
        let name = format!("{name}, 30 GB");
        Case { name, requests, pages_per_block, logical_blocks, passes, spares: &[0.07] }
    }

    /// A trace, its regions of a block each one after the other.
    pub fn of_trace(name: &str, spec: &str, fields: &str) -> Case {
        let spec = format!("{spec}?remap=compact&region=128KiB{fields}");
        let name: String = name.chars().take(30).collect();
        Case::new(name, requests::of(&spec, 1 << 40, u64::MAX))
    }

    /// Blocks of a drive of which such a share is spare, and two beside are kept free.
    pub fn blocks(&self, spare: f64) -> u32 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some thousands"
        )]
        let blocks = (f64::from(self.logical_blocks) / (1.0 - spare)).ceil() as u32;
        blocks + 3
    }

    /// The workloads of ours.
    pub fn synthetic(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Case> {
        let wanted = WORKLOADS.iter().filter(move |spec| wanted(spec));
        wanted.map(|spec| Case::new((*spec).into(), requests::of(spec, PAGES, 5 * PAGES)))
    }
}

/// As many as write so many pages, after twice as many.
fn passes(requests: &[Request], pages: u64) -> Passes {
    let writes = requests.iter().filter(|request| request.is_write);
    let counted = pages.div_ceil(writes.map(|request| request.pages).sum::<u64>().max(1));
    Passes { warm_up: 2 * counted, counted }
}

/// A case by cleaning policies that there is a form for, with little and much spare space.
pub fn compare(case: &Case, policies: &[&str], reuse: &mut Summary, survivors: &mut Summary) {
    for &spare in case.spares {
        let blocks = case.blocks(spare);
        for policy in policies {
            let threshold = 1.5 / f64::from(blocks);
            let fields = format!(
                "ftl=page-map&cleaning.policy={policy}&cleaning.free_threshold={threshold}"
            );
            let profile =
                simulator::drive(blocks, case.pages_per_block, case.logical_blocks, &fields);
            let truth = repeated(&mut Simulator::new(&profile), &case.requests, case.passes);
            let space = simulator::space(&profile);
            let cleaning = if *policy == "greedy" { Cleaning::Greedy } else { Cleaning::Fifo };
            let name = format!("{}, {:.0} %", case.name, 100.0 * spare);
            let of = |summary: &mut Summary, mut predictor: Box<dyn Predictor>| {
                let predicted = repeated(&mut *predictor, &case.requests, case.passes);
                summary.add(&name, policy, truth, predicted);
            };
            let greedy = cleaning == Cleaning::Greedy;
            of(reuse, Box::new(Reuse::new(space, greedy).expect("in range")));
            of(survivors, Box::new(Survivors::new(space, cleaning).expect("in range")));
        }
    }
}
