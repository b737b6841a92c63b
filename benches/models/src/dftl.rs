//! DFTL: full drives, with memory for little of the map to all of it.

use flashscope_model::trace::{Cleaning, Dftl, Map};
use flashscope_sim::Profile;

use crate::pages::Case;
use crate::simulator::{self, Simulator, repeated};
use crate::summary::Summary;

/// The map of a drive.
pub fn map(profile: &Profile) -> Map {
    let layout = profile.layout().expect("a valid profile");
    Map {
        cached: layout.map_cache.entries,
        per_page: layout.map_cache.entries_per_page,
        most_blocks: layout.translation_blocks_per_lane(),
    }
}

/// A case, with little and much spare space and memory.
pub fn compare(case: &Case, summary: &mut Summary) {
    let pages = case.logical_blocks * case.pages_per_block;
    for &spare in case.spares {
        for cached in [0.004, 0.1, 0.5, 1.0] {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let entries = (cached * f64::from(pages)).ceil() as u32;
            let map_blocks = pages.div_ceil(512).div_ceil(case.pages_per_block);
            let blocks = case.blocks(spare) + map_blocks + 2;
            let threshold = 1.5 / f64::from(blocks);
            let fields = format!(
                "ftl=dftl&map_cache.size={}&cleaning.free_threshold={threshold}",
                8 * entries
            );
            let profile =
                simulator::drive(blocks, case.pages_per_block, case.logical_blocks, &fields);
            let truth = repeated(&mut Simulator::new(&profile), &case.requests, case.passes);
            let space = simulator::space(&profile);
            let mut dftl = Dftl::new(space, map(&profile), Cleaning::Greedy).expect("in range");
            let predicted = repeated(&mut dftl, &case.requests, case.passes);
            let name = format!("{}, {:.0} %, {cached} cached", case.name, 100.0 * spare);
            summary.add(&name, "dftl", truth, predicted);
        }
    }
}
