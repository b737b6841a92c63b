//! A simple model of the candidates. The tests of every policy use it as the oracle.

use fastrand::Rng;

use super::{KINDS, Policy, Ties, VictimOptions, VictimPolicy};
use crate::Design;
use crate::nand::BlockId;
use crate::setup::Layout;
use crate::setup::{MapMemory, Profile};

/// The options of the default profile.
pub(super) const OPTIONS: VictimOptions =
    VictimOptions { ties: Ties::Oldest, window: 1024, choices: 10 };

/// Returns a design with two lanes of 64 blocks of 10 pages.
pub(super) fn design(policy: &str, cleaning: VictimOptions) -> Design {
    let mut profile = Profile { over_provisioning: 0.5, ..Profile::default() };
    profile.flash.packages = 2;
    profile.flash.blocks_per_plane = 8;
    profile.flash.pages_per_block = 10;
    profile.cleaning.policy = policy.into();
    profile.persistence.map = MapMemory::NvRam;
    let design = profile.design().expect("a small drive");
    Design { layout: Layout { cleaning, seed: 3, ..design.layout }, ..design }
}

/// A candidate with the times of its changes, in steps of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) block: BlockId,
    pub(super) valid: u32,
    /// The number of blocks closed in its lane, up to and including this one.
    pub(super) closed: u64,
    /// The step at which it reached its number of valid pages.
    pub(super) reached: u64,
    /// The step at which it became one of the [`VictimOptions::window`] oldest candidates of its
    /// lane.
    pub(super) entered: u64,
}

/// The state of one lane, from the calls that the policy received.
#[derive(Default)]
struct Lane {
    candidates: Vec<Candidate>,
    closed: u64,
}

/// A policy, and the model of its expected state.
struct Model {
    layout: Layout,
    policy: Policy,
    lanes: [Lane; 2],
    random: Rng,
    now: u64,
}

impl Model {
    fn new(design: &Design, seed: u64) -> Self {
        Model {
            policy: (design.policies.victim.new)(design),
            layout: design.layout.clone(),
            lanes: Default::default(),
            random: Rng::with_seed(seed),
            now: 0,
        }
    }

    /// Makes one random call other than `take`.
    fn step(&mut self) {
        let lane = self.random.u32(..2);
        let candidates = &mut self.lanes[lane as usize].candidates;
        match self.random.u32(..12) {
            0 => self.close(lane),
            1 if self.random.u32(..4) == 0 && !candidates.is_empty() => {
                let gone = candidates.swap_remove(self.random.usize(..candidates.len()));
                self.policy.remove(lane, gone.block, gone.valid);
            }
            2 => {
                // The block is not a candidate.
                let block = self.free_block(lane);
                self.policy.superseded(lane, block, self.random.u32(..10));
            }
            _ if !candidates.is_empty() => {
                let at = self.random.usize(..candidates.len());
                let candidate = &mut candidates[at];
                if candidate.valid > 0 {
                    candidate.valid -= 1;
                    candidate.reached = self.now;
                    self.policy.superseded(lane, candidate.block, candidate.valid);
                }
            }
            _ => {}
        }
        self.note_window();
        self.now += 1;
    }

    fn free_block(&mut self, lane: u32) -> BlockId {
        let blocks = self.layout.blocks_per_lane();
        let taken = &self.lanes[lane as usize].candidates;
        let first = self.random.u32(..blocks);
        (0..blocks)
            .map(|n| BlockId(lane * blocks + (first + n) % blocks))
            .find(|block| taken.iter().all(|candidate| candidate.block != *block))
            .expect("not all blocks are candidates")
    }

    fn close(&mut self, lane: u32) {
        if self.lanes[lane as usize].candidates.len() > 40 {
            return;
        }
        let block = self.free_block(lane);
        // Most blocks are closed with all pages valid.
        let valid = self.random.u32(5..16).min(self.layout.slots_per_block());
        let state = &mut self.lanes[lane as usize];
        state.closed += 1;
        let (closed, now) = (state.closed, self.now);
        state.candidates.push(Candidate { block, valid, closed, reached: now, entered: u64::MAX });
        self.policy.closed(lane, block, valid);
    }

    /// Records when each candidate becomes one of the [`VictimOptions::window`] oldest of its lane.
    fn note_window(&mut self) {
        for lane in &mut self.lanes {
            lane.candidates.sort_by_key(|candidate| candidate.closed);
            for candidate in lane.candidates.iter_mut().take(self.layout.cleaning.window as usize) {
                candidate.entered = candidate.entered.min(self.now);
            }
        }
    }

    /// Lets the policy choose, and rejects `refusals` of ten offers on average. Returns the offered
    /// blocks in order, and the block taken. Checks that every offer is allowed, and that all
    /// candidates were offered if none was taken.
    fn take(&mut self, lane: u32, refusals: u32) -> (Vec<BlockId>, Option<BlockId>) {
        let mut offered = Vec::new();
        let mut random = self.random.fork();
        let taken = self.policy.take(lane, |block| {
            offered.push(block);
            random.u32(..10) >= refusals
        });
        let candidates = &mut self.lanes[lane as usize].candidates;
        let max_valid = self.layout.max_valid();
        for (index, block) in offered.iter().enumerate() {
            let candidate = candidates.iter().find(|candidate| candidate.block == *block);
            assert!(candidate.is_some_and(|c| c.valid <= max_valid), "{block:?} is not allowed");
            assert!(!offered[..index].contains(block), "{block:?} is offered twice");
        }
        match taken {
            Some(_) => assert_eq!(offered.last().copied(), taken, "not the last offer"),
            None => {
                let allowed = candidates.iter().filter(|c| c.valid <= max_valid).count();
                assert_eq!(offered.len(), allowed, "not all candidates were offered");
            }
        }
        candidates.retain(|candidate| Some(candidate.block) != taken);
        self.note_window();
        self.now += 1;
        (offered, taken)
    }
}

/// Checks that, after any sequence of calls, a policy offers the candidates of a lane in the order
/// of `sort`. The second argument of `sort` is the number of blocks closed in the lane.
pub(super) fn agrees_with(design: &Design, sort: impl Fn(&mut [Candidate], u64)) {
    let mut model = Model::new(design, 1);
    let mut taken = 0;
    for step in 0..60_000 {
        if model.random.u32(..40) > 0 {
            model.step();
            continue;
        }
        let (lane, refusals) = (model.random.u32(..2), model.random.u32(..11));
        let state = &model.lanes[lane as usize];
        let mut expected = state.candidates.clone();
        sort(&mut expected, state.closed);
        expected.retain(|candidate| candidate.valid <= design.max_valid());
        let (offered, victim) = model.take(lane, refusals);
        let expected = expected.iter().map(|candidate| candidate.block);
        let expected: Vec<_> = expected.take(offered.len()).collect();
        assert_eq!(offered, expected, "at step {step}");
        taken += u32::from(victim.is_some());
    }
    assert!(taken > 500, "only {taken} victims");
}

// A policy offers only candidates of the lane that have a superseded page, and offers each at most
// once. It never takes a rejected block, and returns no block only if all were rejected.
#[test]
fn every_policy_chooses_among_its_candidates() {
    let small = VictimOptions { window: 5, choices: 3, ..OPTIONS };
    for kind in KINDS {
        for (seed, options) in [small, OPTIONS, VictimOptions { ties: Ties::Youngest, ..small }]
            .into_iter()
            .enumerate()
        {
            let mut model = Model::new(&design(kind.name, options), seed as u64);
            let (mut taken, mut none) = (0, 0);
            for _ in 0..20_000 {
                model.step();
                if model.random.u32(..30) == 0 {
                    let (lane, refusals) = (model.random.u32(..2), model.random.u32(..11));
                    match model.take(lane, refusals).1 {
                        Some(_) => taken += 1,
                        None => none += 1,
                    }
                }
            }
            assert!(taken > 100 && none > 10, "{}: {taken} taken, {none} times none", kind.name);
        }
    }
}
