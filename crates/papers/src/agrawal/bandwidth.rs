use flashscope_block::{Data, Op};
use flashscope_sim::Profile;
use flashscope_sim::nand::Interleaving;
use flashscope_sim::setup::Scope;

use super::PAGE;
use crate::test_bed::TestBed;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// One package whose pages take 100 us over the serial pins. Section 2.2 ignores the page's
/// metadata.
const PACKAGE: Input = Input {
    name: "drive",
    summary: "the simulated drive: one package, whose pages take 100 us over the serial pins",
    value: "agrawal-2008?flash.packages=1&flash.blocks_per_plane=128&flash.metadata_size=0&flash.serial_access_per_kib=25us&\
            interface.queue_depth=64&persistence.map=nv-ram",
    other: "agrawal-2008?flash.packages=1&flash.blocks_per_plane=128&interface.queue_depth=64&persistence.map=nv-ram",
};

/// Section 2.2.
pub(crate) const SECTION_2_2: Item = Item {
    id: "agrawal-section2.2",
    paper: Paper::Agrawal,
    place: "Section 2.2",
    title: "bandwidth of a package, and the gain from interleaving",
    expected: State::AsPrinted,
    inputs: &[PACKAGE],
    run: bandwidth,
};

/// Figure 2, in section 2.2.
pub(crate) const FIGURE_2: Item = Item {
    id: "agrawal-figure2",
    paper: Paper::Agrawal,
    place: "Figure 2",
    title: "interleaved page copying",
    expected: State::AsPrinted,
    inputs: &[PACKAGE],
    run: copying,
};

/// The number of pages read or written: few enough to fit the free blocks, so that nothing is
/// cleaned.
const COUNT: u64 = 2000;

/// The tolerance that allows for the first and last requests, which overlap with fewer requests.
const ENDS: f64 = 0.02;

/// The parts of the package that work in parallel.
#[derive(Clone, Copy)]
enum Parts {
    /// The package carries out one command at a time.
    One,
    /// The two pairs of planes of a single die.
    PairsOfOneDie,
    /// The pairs of planes of both dies.
    PairsOfBothDies,
}

/// Returns the paper's package, two dies of four planes, or one of its dies. For interleaving, each
/// plane has an active block, so that consecutive pages go to all planes in turn.
fn package(run: &Run<'_>, parts: Parts) -> Result<Profile, Error> {
    let mut profile = run.profile("drive")?;
    if !matches!(parts, Parts::One) {
        (profile.interleaving, profile.active_blocks) = (Interleaving::PlanePair, Scope::Plane);
    }
    if let Parts::PairsOfOneDie = parts {
        profile.flash.dies_per_package = 1;
    }
    Ok(profile)
}

/// Returns the pages that the package reads and writes per second.
fn rates(profile: &Profile, depth: u64) -> Result<[f64; 2], Error> {
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    let reads = bed.rate(Op::Read, depth, COUNT, |nth| nth % pages * PAGE)?;
    let writes = bed.rate(Op::Write, depth, COUNT, |nth| nth % pages * PAGE)?;
    Ok([reads, writes])
}

fn bandwidth(run: &Run<'_>) -> Result<Outcome, Error> {
    let alone = rates(&package(run, Parts::One)?, 1)?;
    let within = rates(&package(run, Parts::PairsOfOneDie)?, 16)?;
    let between = rates(&package(run, Parts::PairsOfBothDies)?, 16)?;
    let rate =
        |what: &str, printed, measured| Claim::within((what, "1/s"), printed, measured, ENDS);
    Ok(vec![
        rate("reads, one at a time", 8000.0, alone[0]),
        rate("reads, interleaved within a die", 10_000.0, within[0]),
        rate("writes, one at a time", 3330.0, alone[1]),
        Claim::within(
            ("speedup of writes by interleaving within a die", ""),
            2.0,
            within[1] / alone[1],
            ENDS,
        ),
        rate("reads, interleaved on two dies: limited by the pins", 10_000.0, between[0]),
        rate("writes, interleaved on two dies: limited by the pins", 10_000.0, between[1]),
    ]
    .into())
}

/// Reproduces a copy between packages: reads from one package overlap with writes to another, and
/// the slower of the two limits the rate.
fn copying(run: &Run<'_>) -> Result<Outcome, Error> {
    let [reads, writes] = rates(&package(run, Parts::PairsOfBothDies)?, 16)?;
    let us = 1e6 / reads.min(writes);
    let single = 1e6 / rates(&package(run, Parts::One)?, 1)?[1] - 100.0;
    Ok(vec![
        Claim::within(("time per page in a full pipeline", "us"), 100.0, us, ENDS),
        Claim::within(("time of a single write operation", "us"), 200.0, single, ENDS),
    ]
    .into())
}
