//! The simulator, as what it may be predicted by.

use std::time::Instant;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_model::trace::{Predictor, Space, Total};
use flashscope_sim::{Profile, SimDevice, profile};

use crate::requests::{PAGE, Request};

/// The drive of Boboila and Desnoyers.
pub const SPACE: Space =
    Space { pages_per_block: 64, logical_blocks: 245_760, free_blocks: 17_203 };

/// A drive of so many blocks, of which one plane is made; `fields` as in a spec.
pub fn drive(blocks: u32, pages_per_block: u32, logical_blocks: u32, fields: &str) -> Profile {
    let spare = f64::from(blocks - logical_blocks) / f64::from(blocks);
    let spec = format!(
        "flashsim-2009-30g?flash.planes_per_die=1&flash.blocks_per_plane={blocks}&timed=false\
         &flash.pages_per_block={pages_per_block}&over_provisioning={spare}\
         &persistence.map=nv-ram&{fields}"
    );
    profile::parse(&spec).expect("a valid spec")
}

/// What the page map of a drive has to write to: when a block is cleaned, all are full but those that are
/// kept free, of which one was just opened.
pub fn space(profile: &Profile) -> Space {
    let layout = profile.layout().expect("a valid profile");
    let block = layout.slots_per_block();
    let logical_blocks = layout.logical_pages() / block;
    let full = layout.geometry.blocks() - layout.lanes() * layout.clean_below;
    Space { pages_per_block: block, logical_blocks, free_blocks: full - logical_blocks }
}

/// A simulated drive.
pub struct Simulator(SimDevice);

impl Simulator {
    /// All of it written once, in order.
    pub fn new(profile: &Profile) -> Simulator {
        let mut simulator =
            Simulator(SimDevice::new("sim:models", profile).expect("a valid profile"));
        let layout = profile.layout().expect("a valid profile");
        let (pages, block) = (layout.logical_pages(), layout.slots_per_block());
        for first in (0..pages).step_by(block as usize) {
            simulator.write(first.into(), block.min(pages - first).into());
        }
        simulator
    }

    fn go(&mut self, op: Op, page: u64, pages: u64) {
        let (offset, len, at) = (Bytes(page * PAGE), Bytes(pages * PAGE), self.0.now());
        self.0.submit(&Io { op, stream: 0, offset, len, data: Data::Random, at });
        let done = self.0.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()));
    }
}

impl Predictor for Simulator {
    fn write(&mut self, page: u64, pages: u64) {
        self.go(Op::Write, page, pages);
    }

    fn read(&mut self, page: u64, pages: u64) {
        self.go(Op::Read, page, pages);
    }

    fn total(&mut self) -> Total {
        let counters = self.0.counters();
        let pages = counters.host_pages_written;
        let wa = counters.write_amplification().unwrap_or(1.0);
        Total {
            pages,
            erasures: counters.flash.erases.total() as f64,
            copies: (wa - 1.0) * pages as f64,
        }
    }
}

/// How often requests are repeated before they are counted, and while they are.
#[derive(Debug, Clone, Copy)]
pub struct Passes {
    pub warm_up: u64,
    pub counted: u64,
}

/// What the counted passes come to, and the nanoseconds that each write took.
pub fn repeated(
    predictor: &mut dyn Predictor,
    requests: &[Request],
    passes: Passes,
) -> (Total, f64) {
    let start = Instant::now();
    let mut pass = |count: u64| {
        for _ in 0..count {
            requests.iter().for_each(|request| request.go_to(predictor));
        }
        predictor.total()
    };
    let before = pass(passes.warm_up);
    let after = pass(passes.counted);
    let all = (passes.warm_up + passes.counted) * requests.len() as u64;
    (after.since(&before), start.elapsed().as_nanos() as f64 / all as f64)
}
