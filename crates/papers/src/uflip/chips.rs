use flashscope_block::{Data, Op};

use crate::test_bed::TestBed;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State, Tolerance};

/// The slide "Why should we consider flash devices?".
pub(crate) const CHIPS: Item = Item {
    id: "uflip-slides-chip",
    paper: Paper::UflipSlides,
    place: "Flash cells",
    title: "potential throughput of a single flash chip",
    expected: State::PrintWrong,
    inputs: &[Input {
        name: "drive",
        summary: "the simulated drive: one chip with pages of 2 KB, and an interface that takes no time",
        value: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=512&\
                flash.page_size=2KiB&flash.metadata_size=0B&flash.serial_access_per_kib=30us&flash.page_read=25us&\
                flash.page_program=200us&flash.block_erase=2ms&interface.request_overhead=0us&interface.transfer_per_kib=0us&\
                logical_page_size=2KiB&persistence.map=nv-ram",
        other: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=512&\
                flash.page_size=2KiB&flash.metadata_size=0B&flash.serial_access_per_kib=30us&flash.page_read=50us&\
                flash.page_program=300us&flash.block_erase=2ms&interface.request_overhead=0us&interface.transfer_per_kib=0us&\
                logical_page_size=2KiB&persistence.map=nv-ram",
    }],
    run,
};

const PAGE: u64 = 2 << 10;

const CUT: &str = "the slide truncates 6.7 MB/s: 60 us and 200 us per page, and 2 ms per 64 pages";

/// Returns the throughput of sequential access to all pages, in MB/s of 2^20 bytes as on the slide.
fn rate(bed: &mut TestBed, op: Op) -> Result<f64, Error> {
    let (mut ms, mut bytes) = (0.0, 0);
    while bytes < bed.capacity() {
        ms += bed.time(op, Data::Random, bytes, PAGE)?;
        bytes += PAGE;
    }
    #[allow(clippy::cast_precision_loss, reason = "a chip has far fewer than 2^53 bytes")]
    let mb = bytes as f64 / f64::from(1 << 20);
    Ok(mb / ms * 1e3)
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let read = rate(&mut bed, Op::Read)?;
    // The first pass reaches the steady state. Only the second pass counts.
    rate(&mut bed, Op::Write)?;
    let write = rate(&mut bed, Op::Write)?;
    Ok(vec![
        Claim::within(("read throughput", "MB/s"), 23.0, read, 0.01),
        Claim::within(("write throughput", "MB/s"), 6.0, write, 0.01).print_wrong_by(
            6.7,
            Tolerance::Share(0.01),
            CUT,
        ),
    ]
    .into())
}
