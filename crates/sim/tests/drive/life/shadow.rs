//! The data that a host may expect on a drive.

use std::collections::BTreeSet;

use flashscope_block::Device;
use flashscope_sim::SimDevice;
use flashscope_sim::nand::{BlockId, Lpn, Stamp};

/// The version of a logical page that a request created.
#[derive(Debug, Clone, Copy)]
struct Version {
    /// The stamp of the data, or `None` if the page was trimmed.
    data: Option<Stamp>,
    /// The number of the request.
    request: u64,
    /// True if the drive made this copy of the previous version, because a page was hard to read.
    is_copy: bool,
}

/// The versions in which a power cut may leave a logical page: from the newest durable one to the
/// newest.
type History = Vec<Version>;

/// A plain model of a drive: the data written to it, and the versions that a power cut may leave.
pub(crate) struct Shadow {
    pages: Vec<History>,
    page_size: u64,
}

impl Shadow {
    pub(crate) fn new(drive: &SimDevice) -> Self {
        let page_size = u64::from(drive.nand().geometry().logical_page_size);
        let pages = usize::try_from(drive.info().capacity.0 / page_size).expect("a small drive");
        let empty = Version { data: None, request: 0, is_copy: false };
        Shadow { pages: vec![vec![empty]; pages], page_size }
    }

    /// Returns the logical pages that a range touches, each with true if the range covers the whole
    /// page.
    pub(crate) fn touched(
        &self,
        offset: u64,
        len: u64,
    ) -> impl Iterator<Item = (u32, bool)> + use<> {
        let (size, end) = (self.page_size, offset + len);
        (offset / size..end.div_ceil(size)).map(move |page| {
            let whole = offset <= page * size && (page + 1) * size <= end;
            (u32::try_from(page).expect("a small drive"), whole)
        })
    }

    fn now(&self, lpn: u32) -> Option<Stamp> {
        self.pages[lpn as usize].last().and_then(|version| version.data)
    }

    /// Records a submitted write. Returns true if every page of the write has a new copy.
    pub(crate) fn write(&mut self, drive: &SimDevice, request: u64, offset: u64, len: u64) -> bool {
        let mut all = true;
        for (lpn, _) in self.touched(offset, len) {
            let data = drive.stamp(Lpn(lpn));
            if data.is_none() || data == self.now(lpn) {
                all = false;
            } else {
                self.pages[lpn as usize].push(Version { data, request, is_copy: false });
            }
        }
        all
    }

    /// Records the pages that the drive has rewritten because of a read. A power cut may leave
    /// either copy.
    pub(crate) fn refreshed(&mut self, drive: &SimDevice, request: u64) {
        for (lpn, history) in (0u32..).zip(&mut self.pages) {
            let (held, found) =
                (history.last().and_then(|version| version.data), drive.stamp(Lpn(lpn)));
            if held.is_some() && found > held {
                history.push(Version { data: found, request, is_copy: true });
            }
        }
    }

    /// Records a submitted trim.
    pub(crate) fn trim(&mut self, request: u64, offset: u64, len: u64) {
        for (lpn, whole) in self.touched(offset, len) {
            if whole && self.now(lpn).is_some() {
                self.pages[lpn as usize].push(Version { data: None, request, is_copy: false });
            }
        }
    }

    /// Records an acknowledged write: no older version may come back.
    pub(crate) fn written(&mut self, request: u64, offset: u64, len: u64) {
        for (lpn, _) in self.touched(offset, len) {
            settle(&mut self.pages[lpn as usize], |version| version.request == request);
        }
    }

    /// Records an acknowledged flush: no page may come back that was trimmed before the flush.
    pub(crate) fn flushed(&mut self, request: u64) {
        for page in &mut self.pages {
            settle(page, |version| version.data.is_none() && version.request < request);
        }
    }

    /// Checks that a power cut has left each page in a possible version. From then on, this is the
    /// only possible version.
    pub(crate) fn recovered(&mut self, drive: &SimDevice) {
        for (lpn, history) in (0u32..).zip(&mut self.pages) {
            let found = drive.stamp(Lpn(lpn));
            // A read of several parts may rewrite a page several times.
            let copied =
                |pair: &[Version]| pair[1].is_copy && pair[0].data < found && found < pair[1].data;
            assert!(
                history.iter().any(|version| version.data == found)
                    || history.windows(2).any(copied),
                "page {lpn} came back as {found:?} and may be {history:?}"
            );
            *history = vec![Version { data: found, request: 0, is_copy: false }];
        }
    }

    /// Checks that the drive holds the data that was written last, and that its valid slots are the
    /// slots in the map.
    pub(crate) fn check(&self, drive: &SimDevice) {
        let mut mapped = 0;
        for lpn in 0..u32::try_from(self.pages.len()).expect("a small drive") {
            let (found, expected) = (drive.stamp(Lpn(lpn)), self.now(lpn));
            assert_eq!(found, expected, "the data of page {lpn}");
            mapped += usize::from(drive.locate(Lpn(lpn)).is_some());
        }
        let (geometry, nand) = (*drive.nand().geometry(), drive.nand());
        let mut valid = BTreeSet::new();
        for block in (0..geometry.blocks()).map(BlockId) {
            let slots = (0..geometry.slots_per_block).map(|index| geometry.slot(block, index));
            let live: Vec<_> = slots.filter(|slot| nand.is_valid(*slot)).collect();
            assert_eq!(nand.valid(block) as usize, live.len(), "valid pages of {block:?}");
            for slot in live {
                let entry = nand.entry(slot).expect("valid pages can be read");
                let Some(history) = self.pages.get(entry.lpn.0 as usize) else { continue };
                // A page also stays valid while its trim is not recorded yet.
                let place = drive.locate(entry.lpn);
                let trimmed = history.last().is_some_and(|version| version.data.is_none());
                let kept = place == Some(geometry.page(slot)) || place.is_none() && trimmed;
                assert!(kept, "{entry:?} is valid at {slot:?}, the map says {place:?}");
                assert!(valid.insert(entry.lpn), "{entry:?} is valid twice");
            }
        }
        let found = valid.iter().filter(|lpn| drive.locate(**lpn).is_some()).count();
        assert_eq!(found, mapped, "valid pages of the drive");
    }
}

/// Removes all versions before the newest version that is `safe`.
fn settle(history: &mut History, safe: impl Fn(&Version) -> bool) {
    if let Some(newest) = history.iter().rposition(safe) {
        history.drain(..newest);
    }
}
