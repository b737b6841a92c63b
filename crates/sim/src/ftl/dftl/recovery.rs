//! Recovery of the translation pages after a power cut. The cut loses the entries in the
//! controller's memory and in the host memory buffer, including changes that are on no translation
//! page yet.
//!
//! The metadata of all pages has already been read to rebuild the map and the directory.
//! Translation pages with outdated entries are rewritten: pages whose entries had changed only in
//! memory, and pages that were being written. If the map survives the cut, the drive identifies
//! these pages without reading any.

use flashscope_block::Errno;

use super::{Dftl, Lpn, catch_up, current_entry, fetch};
use crate::ftl::Recovery;
use crate::ftl::page_map::NOWHERE;
use crate::nand::{Array, Slot};

pub(super) fn recover(
    ftl: &mut Dftl,
    nand: &mut Array,
    recovery: &mut Recovery,
) -> Result<(), Errno> {
    ftl.mapping.memory.forget();
    ftl.mapping.outdated = super::OutdatedPages::new(&ftl.layout);
    let found = recovery.done;
    for page in 0..ftl.layout.translation_pages() {
        if !ftl.layout.map_survives && ftl.map[ftl.mapping.lpn(page).0 as usize] != NOWHERE {
            recovery.read(fetch(ftl, nand, page, found)?);
        }
        let stale = stale(ftl, nand, page);
        if !stale.is_empty() {
            let pool = ftl.mapping.pool_of(page);
            ftl.mapping.outdated.add(page, pool);
        }
        let lpns = ftl.mapping.lpns(page);
        if let Some(contents) = &mut ftl.mapping.contents {
            contents.changed.retain(|lpn| !lpns.contains(&lpn.0));
            contents.changed.extend(stale);
        }
    }
    // A worn drive may lack room for the rewritten pages. The changes then stay in memory.
    if let Some(written) = catch_up(ftl, nand, recovery.done)? {
        recovery.done = recovery.done.max(written);
    }
    Ok(())
}

/// Returns the logical pages whose entry on a translation page is out of date.
pub(super) fn stale(ftl: &Dftl, nand: &Array, page: u32) -> Vec<Lpn> {
    let mapped = ftl.map[ftl.mapping.lpn(page).0 as usize];
    let content = (mapped != NOWHERE).then(|| nand.note(Slot(mapped - 1))).flatten();
    let entry = |nth: usize| content.map_or(u64::from(NOWHERE), |content| content[nth]);
    let lpns = ftl.mapping.lpns(page).map(Lpn).enumerate();
    lpns.filter(|(nth, lpn)| entry(*nth) != current_entry(ftl, *lpn)).map(|(_, lpn)| lpn).collect()
}
