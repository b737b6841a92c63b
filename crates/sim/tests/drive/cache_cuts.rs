use std::collections::BTreeMap;

use flashscope_block::{Device, Errno, Io, Nanos, Op};
use flashscope_sim::nand::{Lpn, Stamp};
use flashscope_sim::{Profile, SimDevice, sched};
use proptest::prelude::*;

use crate::cache::buffered_profiles;
use crate::robustness::LOGICAL_BLOCK;
use crate::{drive, one_pool, request, round_trip};

const PAGE: u64 = 4096;

/// A number that grows with each write of the host; 0 is the empty page at the start.
type Version = u32;

/// The host's record of a page.
#[derive(Default)]
struct Page {
    /// The versions written to the page.
    versions: Vec<Version>,
    /// The oldest version that the page may hold after a power cut.
    durable: Version,
    /// The version of each copy on the flash.
    copies: BTreeMap<Stamp, Version>,
    /// The stamp at the last call of [`Host::look`].
    stamp: Option<Stamp>,
}

impl Page {
    /// Returns the version that was written `steps` before the newest.
    fn before(&self, steps: usize) -> Version {
        self.versions.iter().rev().nth(steps).copied().unwrap_or_default()
    }

    /// Returns the newest version that the copy with this stamp can hold. The host records no copy
    /// that was written and superseded in one request; the next recorded copy bounds the version.
    fn copied(&self, stamp: Stamp) -> Version {
        *self.copies.range(stamp..).next().expect("the host saw the last copy").1
    }
}

/// A host that records the results of its requests, and a drive whose power is cut.
struct Host {
    drive: SimDevice,
    page_size: u64,
    pages: Vec<Page>,
    version: Version,
    /// True if a write is durable when it is acknowledged.
    durable: bool,
    /// Requests in flight, with the version that each made.
    in_flight: Vec<(Io, Version)>,
    /// The number of pages that a protected buffer has restored.
    saved: usize,
}

impl Host {
    fn new(profile: &Profile) -> Self {
        let mut drive = drive(profile);
        drive.expect_power_cuts();
        let page_size = u64::from(drive.nand().geometry().logical_page_size);
        let pages = (0..drive.info().capacity.0 / page_size).map(|_| Page::default()).collect();
        let durable = profile.cache.protected || profile.cache.kind == "none";
        Host { drive, page_size, pages, version: 0, durable, in_flight: Vec::new(), saved: 0 }
    }

    /// Returns the pages that a request writes to.
    fn written(&self, io: &Io) -> std::ops::Range<usize> {
        let (start, end) = (io.offset.0 / self.page_size, io.end().0.div_ceil(self.page_size));
        match io.op {
            Op::Write => start.try_into().expect("small")..end.try_into().expect("small"),
            _ => 0..0,
        }
    }

    fn buffered(&self, page: usize) -> bool {
        self.drive.cache().holds(Lpn(page.try_into().expect("a small drive")))
    }

    fn stamp(&self, page: usize) -> Option<Stamp> {
        self.drive.stamp(Lpn(page.try_into().expect("a small drive")))
    }

    /// Records the versions of the copies that reached the flash since the last call. Only the
    /// pages in `written` have received a new version since.
    fn look(&mut self, written: &std::ops::Range<usize>) {
        for index in 0..self.pages.len() {
            let (stamp, buffered) = (self.stamp(index), self.buffered(index));
            let page = &mut self.pages[index];
            let Some(copy) = stamp.filter(|_| stamp != page.stamp) else { continue };
            // The newest version has just entered the buffer. The copy on the flash is therefore
            // older.
            let steps = usize::from(buffered && written.contains(&index));
            page.copies.insert(copy, page.before(steps));
            page.stamp = stamp;
        }
    }

    fn submit(&mut self, op: Op, offset: u64, len: u64) {
        let io = request(op, offset, len, self.drive.now());
        let written = self.written(&io);
        self.version += 1;
        for page in &mut self.pages[written.clone()] {
            page.versions.push(self.version);
        }
        self.in_flight.push((io, self.version));
        self.drive.submit(&io);
        self.look(&written);
    }

    /// Receives the next answer that is due by `until`. Returns false if no answer is due.
    fn complete(&mut self, until: Nanos) -> Result<bool, Errno> {
        let done = self.drive.complete(until);
        self.look(&(0..0));
        let Some(done) = done else { return Ok(false) };
        done.result?;
        let place = self.in_flight.iter().position(|(io, _)| *io == done.io).expect("in flight");
        let (io, version) = self.in_flight.remove(place);
        let lasting = match io.op {
            Op::Write if self.durable => self.written(&io),
            Op::Flush => 0..self.pages.len(),
            _ => 0..0,
        };
        for page in &mut self.pages[lasting] {
            let held = page.versions.iter().rev().find(|written| **written <= version);
            page.durable = page.durable.max(held.copied().unwrap_or_default());
        }
        Ok(true)
    }

    fn cut_power(&mut self) -> Result<(), Errno> {
        self.cut_power_and_again(&[])
    }

    /// Cuts the power, and cuts it again while the drive recovers.
    fn cut_power_and_again(&mut self, after: &[Nanos]) -> Result<(), Errno> {
        let now = self.drive.now();
        let dirty: Vec<_> = match self.drive.cache().protected() {
            true => {
                self.drive.cache().dirty(now).iter().map(|slice| slice.lpn.0 as usize).collect()
            }
            false => Vec::new(),
        };
        let programs = self.drive.counters().flash.programs.host;
        self.drive.cut_power_and_again(after)?;
        self.in_flight.clear();
        let geometry = self.drive.nand().geometry();
        let each = (geometry.pages_per_slot * geometry.span) as usize;
        let written = self.drive.counters().flash.programs.host - programs;
        let once = (dirty.len() * each) as u64;
        assert!(
            written == once || written > once && !after.is_empty(),
            "each saved page must be written once"
        );
        assert_eq!(self.drive.cache().dirty(self.drive.now()), []);
        for index in 0..self.pages.len() {
            let found = self.stamp(index);
            let page = &mut self.pages[index];
            assert!(found.is_some() || !dirty.contains(&index), "page {index} was not saved");
            let version = match found {
                Some(_) if dirty.contains(&index) => page.before(0),
                Some(stamp) => page.copied(stamp),
                None => 0,
            };
            assert!(version >= page.durable, "page {index}: {version} for {}", page.durable);
            // From now on, the recovered version is the only possible version of the page.
            page.durable = version;
            page.versions.retain(|written| *written <= version);
            page.copies = found.map(|stamp| (stamp, version)).into_iter().collect();
            page.stamp = found;
        }
        self.saved += dirty.len();
        Ok(())
    }

    /// Executes random requests, pauses and power cuts.
    fn exercise(&mut self, seed: u64) -> Result<(), Errno> {
        let mut random = fastrand::Rng::with_seed(seed);
        let blocks = self.drive.info().capacity.0 / LOGICAL_BLOCK;
        let depth = self.drive.info().queue_depth as usize;
        for _ in 0..400 {
            let ops = [Op::Write, Op::Write, Op::Write, Op::Write, Op::Read, Op::Flush];
            let op = ops[random.usize(..ops.len())];
            let limit = if random.bool() { blocks } else { blocks.div_ceil(5) };
            let offset = random.u64(..limit);
            let len = if op == Op::Flush { 0 } else { random.u64(1..=(blocks - offset).min(20)) };
            self.submit(op, offset * LOGICAL_BLOCK, len * LOGICAL_BLOCK);
            while self.in_flight.len() == depth || random.u8(..3) == 0 {
                let longest = 1 << random.u32(1..24);
                let wait = Nanos(self.drive.now().0 + random.u64(..longest));
                let full = self.in_flight.len() == depth;
                self.complete(if full { Nanos::MAX } else { wait })?;
            }
            match random.u8(..48) {
                0 => self.cut_power()?,
                1 => {
                    let waits = [(); 3].map(|()| Nanos(random.u64(..1 << 20)));
                    self.cut_power_and_again(&waits)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, failure_persistence: None, ..ProptestConfig::default()
    })]

    // Power cuts at any time, even repeated ones, lose nothing that was flushed, on any drive with
    // any buffer. With a protected buffer, or without a buffer, they lose nothing that was
    // acknowledged.
    #[test]
    fn durable_data_survives_power_cuts(
        profile in buffered_profiles().prop_map(without_slc).prop_filter("refused", works),
        policy in 0..=sched::KINDS.len(),
        seed: u64,
    ) {
        let mut profile = profile;
        if let Some(kind) = sched::KINDS.get(policy).filter(|_| profile.timed) {
            profile.scheduling.policy = kind.name.into();
        }
        // Pages that cuts leave unreadable can fill the smallest drives.
        let lived = Host::new(&profile).exercise(seed);
        prop_assert!(matches!(lived, Ok(()) | Err(Errno::ENOSPC)), "{lived:?}");
    }
}

/// Removes the SLC region. Like trims, it concerns only the FTL's part of the recovery.
fn without_slc(mut profile: Profile) -> Profile {
    profile.slc.share = 0.0;
    profile
}

fn works(profile: &Profile) -> bool {
    profile.layout().is_ok()
}

/// Returns a host whose drive has a buffer of two pages.
fn host(protected: bool) -> Host {
    let mut profile = one_pool(64);
    profile.cache.kind = "lru".into();
    profile.cache.size.0 = 2 * PAGE;
    profile.cache.protected = protected;
    Host::new(&profile)
}

#[test]
fn a_protected_buffer_restores_its_pages_after_a_power_cut() {
    for protected in [true, false] {
        let mut host = host(protected);
        for page in 0..2 {
            round_trip(&mut host.drive, Op::Write, page * PAGE, PAGE);
        }
        // These writes issue the programs of pages 0 and 1. The program of page 0 is in progress at
        // the cut.
        for page in 2..4 {
            host.drive.submit(&request(Op::Write, page * PAGE, PAGE, Nanos(0)));
        }
        assert_eq!(host.drive.complete(Nanos(200_000)), None);
        host.drive.cut_power().expect("there is room");
        for page in 0..4 {
            assert_eq!(host.stamp(page).is_some(), protected, "page {page}");
        }
        let written = if protected { 6 } else { 2 };
        assert_eq!(host.drive.counters().flash.programs.host, written);
    }
}

#[test]
fn a_cut_while_the_buffer_is_written_out_loses_nothing() {
    let mut interrupted = 0;
    for wait in (0..900_000).step_by(20_000).map(Nanos) {
        let mut host = host(true);
        for page in 0..2 {
            round_trip(&mut host.drive, Op::Write, page * PAGE, PAGE);
        }
        for page in 2..4 {
            host.drive.submit(&request(Op::Write, page * PAGE, PAGE, Nanos(0)));
        }
        assert_eq!(host.drive.complete(Nanos(200_000)), None);
        host.drive.cut_power_and_again(&[wait, wait]).expect("there is room");
        for page in 0..4 {
            assert!(host.stamp(page).is_some(), "page {page} is lost by a cut after {wait}");
        }
        interrupted += u32::from(host.drive.counters().flash.programs.host > 6);
    }
    assert!(interrupted > 10, "{interrupted} cuts fell into the recovery");
}

#[test]
fn pages_on_flash_at_the_cut_are_not_written_again() {
    let program = 305_600;
    for early in [0, 1] {
        let mut host = host(true);
        for page in [0, 1] {
            round_trip(&mut host.drive, Op::Write, page * PAGE, PAGE);
        }
        host.drive.submit(&request(Op::Write, 2 * PAGE, PAGE, Nanos(0)));
        host.drive.complete(Nanos(program - early));
        host.drive.cut_power().expect("there is room");
        assert_eq!(host.drive.counters().flash.programs.host, 3 + early);
    }
}

#[test]
fn a_buffer_works_after_a_power_cut() {
    for protected in [true, false] {
        let mut host = host(protected);
        for _ in 0..3 {
            for page in 0..5 {
                host.submit(Op::Write, page * PAGE, PAGE);
            }
            while host.complete(Nanos::MAX).expect("there is room") {}
            host.cut_power().expect("there is room");
            let now = host.drive.now();
            let latency = round_trip(&mut host.drive, Op::Write, 9 * PAGE, PAGE).latency();
            assert_eq!((latency, host.drive.now()), (Nanos(0), now));
            round_trip(&mut host.drive, Op::Trim, 9 * PAGE, PAGE);
        }
        assert_eq!(host.saved > 0, protected);
    }
}
