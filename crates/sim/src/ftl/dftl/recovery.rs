//! What a power cut takes: the entries in memory, the host's as well, and with them changes that are
//! on no translation page.
//!
//! Where every page is has been found by their metadata, as for any map that is rebuilt; so has
//! the directory. Translation pages that say otherwise are written anew: those of entries that had
//! changed in memory only, and those that were being written. Where memory survives, it knows which
//! these are, and nothing has to be read.

use flashscope_block::Errno;

use super::{Dftl, Lpn, catch_up, fetch, truth};
use crate::ftl::Recovery;
use crate::ftl::page_map::NOWHERE;
use crate::nand::{Array, Slot};

pub(super) fn recover(
    ftl: &mut Dftl,
    nand: &mut Array,
    recovery: &mut Recovery,
) -> Result<(), Errno> {
    ftl.mapping.memory.forget();
    ftl.mapping.behind = super::Behind::new(&ftl.layout);
    let found = recovery.done;
    for page in 0..ftl.layout.translation_pages() {
        if !ftl.layout.map_survives && ftl.map[ftl.mapping.lpn(page).0 as usize] != NOWHERE {
            recovery.read(fetch(ftl, nand, page, found)?);
        }
        let stale = stale(ftl, nand, page);
        if !stale.is_empty() {
            let pool = ftl.mapping.pool_of(page);
            ftl.mapping.behind.add(page, pool);
        }
        let lpns = ftl.mapping.lpns(page);
        if let Some(contents) = &mut ftl.mapping.contents {
            contents.changed.retain(|lpn| !lpns.contains(&lpn.0));
            contents.changed.extend(stale);
        }
    }
    // Without room for them, which a worn drive may lack, memory goes on knowing.
    if let Some(written) = catch_up(ftl, nand, recovery.done)? {
        recovery.done = recovery.done.max(written);
    }
    Ok(())
}

/// The logical pages whose entry on a translation page is not as it is.
pub(super) fn stale(ftl: &Dftl, nand: &Array, page: u32) -> Vec<Lpn> {
    let mapped = ftl.map[ftl.mapping.lpn(page).0 as usize];
    let content = (mapped != NOWHERE).then(|| nand.note(Slot(mapped - 1))).flatten();
    let entry = |nth: usize| content.map_or(u64::from(NOWHERE), |content| content[nth]);
    let lpns = ftl.mapping.lpns(page).map(Lpn).enumerate();
    lpns.filter(|(nth, lpn)| entry(*nth) != truth(ftl, *lpn)).map(|(_, lpn)| lpn).collect()
}
