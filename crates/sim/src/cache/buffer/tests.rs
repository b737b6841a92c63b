use super::*;
use crate::cache::{AnyBuffer, KINDS};
use crate::ftl::{AnyFtl, Health, Recovery};
use crate::nand::{Page, Slot as Place};
use crate::setup::Profile;

/// An FTL that accepts `room` more pages and then has no space left.
struct Filling {
    ftl: AnyFtl,
    room: u32,
}

impl Ftl for Filling {
    fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        self.room = self.room.checked_sub(1).ok_or(Errno::ENOSPC)?;
        self.ftl.write(nand, slice, at)
    }
    fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        self.ftl.read(nand, slice, at)
    }
    fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno> {
        self.ftl.trim(nand, lpn, at)
    }
    fn flush(&mut self, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        self.ftl.flush(nand, at)
    }
    fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<Nanos, Errno> {
        self.ftl.background(nand, until)
    }
    fn catch_up(&mut self, nand: &mut Array) {
        self.ftl.catch_up(nand);
    }
    fn expect_power_cuts(&mut self) {
        self.ftl.expect_power_cuts();
    }
    fn settle(&mut self, nand: &Array, now: Nanos) {
        self.ftl.settle(nand, now);
    }
    fn recover(&mut self, nand: &mut Array, at: Nanos) -> Result<Recovery, Errno> {
        self.ftl.recover(nand, at)
    }
    fn slot(&self, lpn: Lpn) -> Option<Place> {
        self.ftl.slot(lpn)
    }
    fn health(&self) -> Health {
        self.ftl.health()
    }
    fn free_blocks(&self) -> Vec<u32> {
        self.ftl.free_blocks()
    }
    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page> {
        self.ftl.locate(nand, lpn)
    }
}

const PAGE: u32 = 4096;

struct Drive {
    buffer: AnyBuffer,
    ftl: Filling,
    nand: Array,
}

impl Drive {
    /// Creates a drive with a buffer of `pages` pages over an FTL that accepts `room` pages.
    fn new(kind: &str, pages: u64, room: u32) -> Self {
        let mut profile = Profile::default();
        profile.flash.blocks_per_plane = 16;
        profile.cache.kind = kind.into();
        profile.cache.size.0 = pages * u64::from(PAGE);
        let design = profile.design().expect("the profile works");
        let mut nand = Array::new(&design.parts());
        Drive {
            buffer: (design.buffer.new)(&design),
            ftl: Filling { ftl: (design.ftl.new)(&design, design.policies, &mut nand), room },
            nand,
        }
    }

    fn write(&mut self, lpn: u32) -> Result<(), Errno> {
        let slice =
            Slice { lpn: Lpn(lpn), start: 0, len: PAGE, zero: false, long: false, stream: 0 };
        self.buffer.write(&mut self.ftl, &mut self.nand, slice, Nanos(0)).map(drop)
    }

    fn flush(&mut self) -> Result<(), Errno> {
        self.buffer.flush(&mut self.ftl, &mut self.nand, Nanos(0)).map(drop)
    }

    fn held(&self) -> Vec<u32> {
        (0..200).filter(|lpn| self.buffer.holds(Lpn(*lpn))).collect()
    }

    fn on_flash(&self) -> Vec<u32> {
        let located = |lpn: &u32| self.ftl.locate(&self.nand, Lpn(*lpn)).is_some();
        (0..200).filter(located).collect()
    }
}

/// Returns the names of the buffers that hold pages from anywhere on the drive, and in which a
/// rewrite replaces a buffered page.
fn kinds() -> impl Iterator<Item = &'static str> {
    let names = KINDS.iter().map(|kind| kind.name);
    names.filter(|name| !["none", "fifo", "gather"].contains(name))
}

#[test]
fn a_refused_page_stays_in_the_buffer_and_its_write_fails() {
    for kind in kinds() {
        let mut drive = Drive::new(kind, 2, 0);
        assert_eq!((drive.write(0), drive.write(100)), (Ok(()), Ok(())), "{kind}");
        assert_eq!(drive.write(1), Err(Errno::ENOSPC));
        assert_eq!(drive.write(100), Ok(()), "a buffered page can be written again");
        assert_eq!((drive.held(), drive.on_flash()), (vec![0, 100], vec![]));
        drive.ftl.room = 1;
        assert_eq!(drive.write(1), Ok(()));
        assert_eq!((drive.held(), drive.on_flash()), (vec![1, 100], vec![0]));
    }
}

#[test]
fn a_refused_run_stays_in_the_buffer_and_its_write_fails() {
    let mut drive = Drive::new("gather", 4, 1);
    for lpn in [6, 7, 5] {
        assert_eq!(drive.write(lpn), Ok(()));
    }
    assert_eq!(drive.write(100), Err(Errno::ENOSPC));
    assert_eq!((drive.held(), drive.on_flash()), (vec![6, 7], vec![5]));
    drive.ftl.room = 9;
    assert_eq!(drive.write(100), Ok(()));
    assert_eq!((drive.held(), drive.on_flash()), (vec![100], vec![5, 6, 7]));
}

#[test]
fn a_refused_flush_keeps_the_pages_that_are_not_on_flash() {
    for kind in kinds() {
        let mut drive = Drive::new(kind, 4, 2);
        for lpn in [7, 70, 6, 71] {
            assert_eq!(drive.write(lpn), Ok(()), "{kind}");
        }
        assert_eq!(drive.flush(), Err(Errno::ENOSPC));
        let (held, mut all) = (drive.held(), drive.on_flash());
        assert_eq!((held.len(), all.len()), (2, 2));
        all.extend(held);
        all.sort_unstable();
        assert_eq!(all, [6, 7, 70, 71]);
        drive.ftl.room = 9;
        assert_eq!(drive.flush(), Ok(()));
        assert_eq!((drive.held(), drive.on_flash()), (vec![], vec![6, 7, 70, 71]));
    }
}

#[test]
fn a_buffer_is_empty_and_usable_after_a_power_cut() {
    for kind in kinds() {
        let mut drive = Drive::new(kind, 3, 9);
        for lpn in [7, 70, 6] {
            assert_eq!(drive.write(lpn), Ok(()), "{kind}");
        }
        let dirty = drive.buffer.dirty(Nanos(0));
        drive.buffer.clear();
        assert_eq!((drive.held(), drive.buffer.dirty(Nanos(0))), (vec![], vec![]));
        for slice in dirty {
            drive.ftl.write(&mut drive.nand, slice, Nanos(0)).expect("there is room");
        }
        for lpn in [8, 80, 81] {
            assert_eq!(drive.write(lpn), Ok(()));
        }
        assert_eq!((drive.held(), drive.on_flash()), (vec![8, 80, 81], vec![6, 7, 70]));
    }
}
