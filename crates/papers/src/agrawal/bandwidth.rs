use flashscope_block::{Data, Op};
use flashscope_sim::Profile;
use flashscope_sim::nand::Interleaving;
use flashscope_sim::setup::Scope;

use super::PAGE;
use crate::bed::Bed;
use crate::{Claim, Error, Found, Input, Item, Paper, Run, State};

/// One package of which a page takes 100 us over the pins, as section 2.2 reckons: without metadata.
const PACKAGE: Input = Input {
    name: "drive",
    summary: "the simulated drive: one package, whose pages take 100 us over the serial pins",
    value: "agrawal-2008?flash.packages=1&flash.blocks_per_plane=128&flash.metadata_size=0&flash.serial_access_per_kib=25us&\
            interface.queue_depth=64&persistence.map=nv-ram",
    other: "agrawal-2008?flash.packages=1&flash.blocks_per_plane=128&interface.queue_depth=64&persistence.map=nv-ram",
};

/// Section 2.2.
pub const SECTION_2_2: Item = Item {
    id: "agrawal-section2.2",
    paper: Paper::Agrawal,
    place: "Section 2.2",
    title: "bandwidth of a package, and what interleaving adds",
    stands: State::Pass,
    inputs: &[PACKAGE],
    run: bandwidth,
};

/// Section 2.2.
pub const FIGURE_2: Item = Item {
    id: "agrawal-figure2",
    paper: Paper::Agrawal,
    place: "Figure 2",
    title: "interleaved page copying",
    stands: State::Pass,
    inputs: &[PACKAGE],
    run: copying,
};

/// Pages that are read or written for a figure: fewer than are free before anything is cleaned.
const COUNT: u64 = 2000;

/// What the first and last requests of that many may change.
const ENDS: f64 = 0.02;

/// A package with so many parts that work at once: plane pairs of a die, or of two. As dies they are filled by turns, which
/// is the choreography that the paper has in mind; planes would be filled in their order, two of a pair after each other.
fn package(run: &Run<'_>, parts: u32) -> Result<Profile, Error> {
    let mut profile = run.profile("drive")?;
    profile.flash.dies_per_package = parts;
    if parts > 1 {
        (profile.interleaving, profile.active_blocks) = (Interleaving::Die, Scope::Die);
    }
    Ok(profile)
}

/// Pages that such a package reads and writes in a second.
fn rates(profile: &Profile, depth: u64) -> Result<[f64; 2], Error> {
    let mut bed = Bed::filled(profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    let reads = bed.rate(Op::Read, depth, COUNT, |nth| nth % pages * PAGE)?;
    let writes = bed.rate(Op::Write, depth, COUNT, |nth| nth % pages * PAGE)?;
    Ok([reads, writes])
}

fn bandwidth(run: &Run<'_>) -> Result<Found, Error> {
    let alone = rates(&package(run, 1)?, 1)?;
    let within = rates(&package(run, 2)?, 16)?;
    let between = rates(&package(run, 4)?, 16)?;
    let rate = |what: &str, printed, found| Claim::close((what, "1/s"), printed, found, ENDS);
    Ok(vec![
        rate("reads, one after the other", 8000.0, alone[0]),
        rate("reads, interleaved within a die", 10_000.0, within[0]),
        rate("writes, one after the other", 3330.0, alone[1]),
        Claim::close(
            ("writes, interleaved within a die, over that", ""),
            2.0,
            within[1] / alone[1],
            ENDS,
        ),
        rate("reads, interleaved on two dies: the speed of the pins", 10_000.0, between[0]),
        rate("writes, interleaved on two dies: the speed of the pins", 10_000.0, between[1]),
    ]
    .into())
}

/// Copying reads from one package and writes to another at once: a page takes what the slower of both takes.
fn copying(run: &Run<'_>) -> Result<Found, Error> {
    let [reads, writes] = rates(&package(run, 4)?, 16)?;
    let us = 1e6 / reads.min(writes);
    let single = 1e6 / rates(&package(run, 1)?, 1)?[1] - 100.0;
    Ok(vec![
        Claim::close(("a page, once the pipe is loaded", "us"), 100.0, us, ENDS),
        Claim::close(("in spite of a single write operation of", "us"), 200.0, single, ENDS),
    ]
    .into())
}
