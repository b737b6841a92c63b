use flashscope_block::Nanos;

use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// Table 1, in section 2.
pub(crate) const TABLE_1: Item = Item {
    id: "agrawal-table1",
    paper: Paper::Agrawal,
    place: "Table 1",
    title: "operational flash parameters",
    expected: State::PrintWrong,
    inputs: &[Input {
        name: "drive",
        summary: "the simulated drive",
        value: "agrawal-2008",
        other: "agrawal-2008?flash.page_program=250us",
    }],
    run,
};

#[allow(clippy::cast_precision_loss, reason = "sizes and times are far below 2^53")]
fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let profile = run.profile("drive")?;
    let flash = &profile.flash;
    let us = |time: Nanos| time.0 as f64 / 1e3;
    let page = flash.page_size.0 as f64;
    let block = page * f64::from(flash.pages_per_block);
    let die = block * f64::from(flash.blocks_per_plane) * f64::from(flash.planes_per_die);
    let serial = us(flash.serial_access_per_kib) * page / 1024.0;
    let exact =
        |what: &str, unit, printed, measured| Claim::within((what, unit), printed, measured, 0.0);
    Ok(vec![
        exact("page read to register", "us", 25.0, us(flash.page_read)),
        exact("page program from register", "us", 200.0, us(flash.page_program)),
        exact("block erase", "us", 1500.0, us(flash.block_erase)),
        exact("serial access to register", "us", 100.0, serial).print_wrong_by(
            102.4,
            crate::Tolerance::Share(1e-9),
            "\"25ns per byte, or roughly 100us per page\" (section 2.1): 4096 bytes are 102.4 us",
        ),
        exact("die size", "GB", 2.0, die / f64::from(1 << 30)),
        exact("block size", "KB", 256.0, block / 1024.0),
        exact("page size", "KB", 4.0, page / 1024.0),
        exact("planes per die", "", 4.0, f64::from(flash.planes_per_die)),
        exact("dies per package (4GB)", "", 2.0, f64::from(flash.dies_per_package)),
        exact("program/erase cycles", "", 1e5, f64::from(profile.reliability.block_lifetime)),
    ]
    .into())
}
