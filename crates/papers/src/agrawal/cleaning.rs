use flashscope_block::{Data, Device, Nanos};
use flashscope_sim::Profile;
use flashscope_sim::setup::{Scope, Transfer};

use super::PAGE;
use crate::test_bed::TestBed;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State, Tolerance};

/// Table 5, in section 4.3.
pub(crate) const TABLE_5: Item = Item {
    id: "agrawal-table5",
    paper: Paper::Agrawal,
    place: "Table 5",
    title: "cleaning frequency and efficiency: inter-plane and copy-back",
    expected: State::PrintWrong,
    inputs: &[Input {
        name: "drive",
        summary: "the simulated drive: a plane of the baseline",
        value: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=256",
        other: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=256&\
                flash.block_erase=3ms",
    }],
    run,
};

/// Data pages in a block; the last page holds the summary.
const BLOCK: u64 = 63;

/// Valid pages in a block that is cleaned with an efficiency of 70 %.
const VALID: u64 = 19;

const WHOLE: &str = "without the erase, the printed 9.65 and 5.85 ms are the times of 19.18 pages of 425 us and of 19.33 \
     pages of 225 us, but a number of pages is an integer; to move a page takes 436.2 us, \
                    because a page with its metadata occupies the pins twice for 105.6 us";

/// Returns the time to clean a block with `valid` valid pages, in ms.
fn cleaning(drive: &Profile, transfer: Transfer, valid: u64, run: &Run<'_>) -> Result<f64, Error> {
    run.check_interrupt()?;
    let mut profile = drive.clone();
    profile.active_blocks = Scope::Plane;
    profile.cleaning.transfer = transfer;
    let mut bed = TestBed::filled(&profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    // Supersede all but `valid` pages of one block after another. A pause follows each write.
    let mut plain = f64::MAX;
    for page in (0..pages).filter(|page| page % BLOCK >= valid) {
        bed.drive.idle_until(Nanos(bed.drive.now().0 + 100_000_000));
        let before = bed.drive.counters();
        let took = bed.write(Data::Random, page * PAGE)?;
        let counters = bed.drive.counters().since(&before);
        if counters.cleanings() == 1 && counters.pages_moved() == valid {
            return Ok(took - plain);
        }
        plain = plain.min(took);
    }
    Err(Error::input("drive", &"too many free blocks: the writes never start cleaning"))
}

#[allow(clippy::cast_precision_loss, reason = "pages of a block are far below 2^53")]
fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let drive = run.profile("drive")?;
    let mut claims = Vec::new();
    let mut at_70 = Vec::new();
    for (name, transfer, page, printed) in [
        ("inter-plane", Transfer::InterPlane, 425.0, 9.65),
        ("copy-back", Transfer::CopyBack, 225.0, 5.85),
    ] {
        let [none, one, some] = [0, 1, VALID].map(|valid| cleaning(&drive, transfer, valid, run));
        let (none, one, some) = (none?, one?, some?);
        claims.push(Claim::within((format!("{name}: efficiency 100 %"), "ms"), 1.5, none, 1e-6));
        let moved = Claim::within(
            (format!("{name}: moving a page"), "us"),
            page,
            1e3 * (one - none),
            0.001,
        );
        claims.push(moved.print_wrong_by(436.2, Tolerance::Share(0.001), WHOLE));
        let cleaned = Claim::within(
            (format!("{name}: efficiency 70 % (44 of 63 pages)"), "ms"),
            printed,
            some,
            0.01,
        );
        let page_ms = if page > 400.0 { 0.4362 } else { 0.225 };
        claims.push(cleaned.print_wrong_by(
            1.5 + VALID as f64 * page_ms,
            Tolerance::Share(0.001),
            WHOLE,
        ));
        at_70.push(some);
    }
    let share = 1.0 - at_70[1] / at_70[0];
    claims.push(Claim::number(
        ("copy-back: improvement per block", ""),
        0.4,
        share,
        Tolerance::Absolute(0.015),
    ));
    Ok(claims.into())
}
