use flashscope_block::{Data, Op};

use crate::bed::Bed;
use crate::{Claim, Error, Found, Input, Item, Paper, Run, State, Tolerance};

/// "Why should we consider flash devices?"
pub const CHIPS: Item = Item {
    id: "uflip-slides-chip",
    paper: Paper::UflipSlides,
    place: "Flash cells",
    title: "what a single flash chip could potentially deliver",
    stands: State::Explained,
    inputs: &[Input {
        name: "drive",
        summary: "the simulated drive: one chip of pages of 2 KB, and nothing before it that takes time",
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

const CUT: &str = "6.7 MB/s, of which the slide has whole ones: 60 us and 200 us for a page and 2 ms for each 64 of them";

/// MB/s of 2^20 bytes, which the slide counts in, of all pages in order.
fn rate(bed: &mut Bed, op: Op) -> Result<f64, Error> {
    let (mut ms, mut bytes) = (0.0, 0);
    while bytes < bed.capacity() {
        ms += bed.time(op, Data::Random, bytes, PAGE)?;
        bytes += PAGE;
    }
    #[allow(clippy::cast_precision_loss, reason = "bytes of a chip")]
    let mb = bytes as f64 / f64::from(1 << 20);
    Ok(mb / ms * 1e3)
}

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let mut bed = Bed::filled(&run.profile("drive")?, Data::Random)?;
    let read = rate(&mut bed, Op::Read)?;
    // Once to be used to it, once to count.
    rate(&mut bed, Op::Write)?;
    let write = rate(&mut bed, Op::Write)?;
    Ok(vec![
        Claim::close(("read throughput", "MB/s"), 23.0, read, 0.01),
        Claim::close(("write throughput", "MB/s"), 6.0, write, 0.01).unless(
            6.7,
            Tolerance::Share(0.01),
            CUT,
        ),
    ]
    .into())
}
