//! Tests faults with every FTL and every policy, up to the end of life of a drive.

use std::collections::{BTreeMap, BTreeSet};

use flashscope_block::{Device, Errno, Nanos, Op};
use flashscope_sim::ftl;
use flashscope_sim::nand::{Lpn, Stamp};
use flashscope_sim::setup::Reliability;
use flashscope_sim::{Profile, SimDevice};

use crate::life::{Life, policies};
use crate::power::script;
use crate::{drive, one_pool, request};

// No page is lost to failing programs and erases, to bad blocks, to power cuts, or to power cuts
// during recovery.
#[test]
fn every_ftl_with_every_policy_keeps_its_pages() {
    let (mut drives, mut cut_recoveries, mut failed, mut lost_blocks) = (0, 0, 0, 0);
    let mut pages_placed = 0;
    for (ftl, policies) in policies() {
        let mut lived = 0;
        let live = |seed| Some(Life::with(ftl, policies, &script(seed, 2500))?.live());
        for story in (0..12).filter_map(live) {
            lived += 1;
            cut_recoveries += story.recoveries_cut;
            lost_blocks += story.lost_blocks;
            pages_placed += story.pages_placed;
            failed += story.counters.flash.failed_programs + story.counters.flash.failed_erases;
        }
        assert!(lived > 0, "no drive with {} and {:?} works", ftl.name, policies.map(|p| p.0.name));
        drives += lived;
    }
    assert!(drives > 140, "{drives} drives");
    assert!(pages_placed > 1000, "{pages_placed} pages were placed");
    assert!(cut_recoveries > 1000, "{cut_recoveries} recoveries were cut");
    assert!(failed > 150 && lost_blocks > 300, "{failed} commands failed, {lost_blocks} blocks");
}

/// Returns the profile of a small drive whose blocks last for a few erases.
fn mortal(ftl: &ftl::Kind) -> Profile {
    let mut profile = one_pool(24);
    profile.ftl = ftl.name.into();
    profile.flash.pages_per_block = 8;
    profile.over_provisioning = 0.5;
    profile.cleaning.free_threshold = 0.2;
    profile.reliability.block_lifetime = 4;
    profile.reliability.erase_failures = 0.02;
    profile.reliability.program_failures = 0.002;
    if !ftl.is_page_mapped() {
        crate::life::shape::without_cleaning(&mut profile);
        crate::life::shape::share_out(&mut profile, 0);
        (profile.log.blocks, profile.log.per_group) = (4, 4);
    }
    profile
}

/// A drive under random writes, with the data that it has acknowledged.
struct AcknowledgedDrive {
    drive: SimDevice,
    random: fastrand::Rng,
    held: BTreeMap<u32, Stamp>,
    page: u64,
}

impl AcknowledgedDrive {
    fn new(profile: &Profile) -> AcknowledgedDrive {
        let mut drive = drive(profile);
        drive.expect_power_cuts();
        let page = u64::from(drive.nand().geometry().logical_page_size);
        AcknowledgedDrive {
            drive,
            random: fastrand::Rng::with_seed(3),
            held: BTreeMap::new(),
            page,
        }
    }

    fn write(&mut self) -> Result<(), Errno> {
        let pages = u32::try_from(self.drive.info().capacity.0 / self.page).expect("a small drive");
        let lpn = self.random.u32(..pages);
        let offset = u64::from(lpn) * self.page;
        self.drive.submit(&request(Op::Write, offset, self.page, self.drive.now()));
        self.drive.complete(Nanos::MAX).expect("it is answered").result?;
        self.held.insert(lpn, self.drive.stamp(Lpn(lpn)).expect("it was written"));
        Ok(())
    }

    /// Reads the whole drive and checks that it returns the last acknowledged data.
    fn read(&mut self, when: &str) {
        let (capacity, now) = (self.drive.info().capacity.0, self.drive.now());
        self.drive.submit(&request(Op::Read, 0, capacity, now));
        assert_eq!(self.drive.complete(Nanos::MAX).map(|done| done.result), Some(Ok(())), "{when}");
        for (lpn, stamp) in &self.held {
            assert_eq!(self.drive.stamp(Lpn(*lpn)), Some(*stamp), "page {lpn} {when}");
        }
    }
}

// Every FTL reaches its end of life as documented: writes fail as on a read-only file system, the
// health report has the time, and all acknowledged data stays readable, even after power cuts.
#[test]
fn worn_out_drives_hold_their_data() {
    for ftl in ftl::KINDS {
        let mut host = AcknowledgedDrive::new(&mortal(ftl));
        let refused = (0..100_000).find_map(|nth| Some((nth, host.write().err()?)));
        let (written, errno) = refused.expect("it wears out");
        assert_eq!(errno, Errno::EROFS, "{} after {written} pages", ftl.name);
        assert!(written > 20, "{} took {written} pages", ftl.name);
        assert!(host.drive.health().end_of_life.is_some(), "{}", ftl.name);
        for again in 0..4 {
            host.read(&format!("of {} after {again} power cuts", ftl.name));
            // A write that still finds a slot is acknowledged.
            for _ in 0..50 {
                let later = host.write();
                assert!(matches!(later, Ok(()) | Err(Errno::EROFS)), "{}: {later:?}", ftl.name);
            }
            let waits = [Nanos(100_000 * again); 2];
            // Recovery may also run out of space, and then returns this error.
            if let Err(errno) = host.drive.cut_power_and_again(&waits) {
                assert!(matches!(errno, Errno::EROFS | Errno::ENOSPC), "{}: {errno:?}", ftl.name);
            }
        }
    }
}

/// Returns the profile of a drive on which nearly every read disturbs its page.
fn disturbed(ftl: &ftl::Kind, refresh_retries: u32) -> Profile {
    let mut profile = mortal(ftl);
    profile.reliability = Reliability {
        read_disturb: 0.9,
        read_retries: 6,
        refresh_retries,
        ..Reliability::default()
    };
    profile
}

// A read takes the time of its retries. With refresh, no data is lost however often it is read.
// Without refresh, the drive finally answers with an input/output error.
#[test]
fn pages_that_are_hard_to_read_are_rewritten() {
    for ftl in ftl::KINDS {
        let mut host = AcknowledgedDrive::new(&disturbed(ftl, 3));
        (0..40).for_each(|_| host.write().expect("there is room"));
        let before = host.drive.counters().flash;
        let mut times = BTreeSet::new();
        for _ in 0..60 {
            let (page, now) = (host.page, host.drive.now());
            for lpn in host.held.keys() {
                host.drive.submit(&request(Op::Read, u64::from(*lpn) * page, page, now));
                let done = host.drive.complete(Nanos::MAX).expect("it is answered");
                assert_eq!(done.result, Ok(()), "{}: page {lpn}", ftl.name);
                times.insert(done.latency());
            }
        }
        let after = host.drive.counters().flash;
        assert!(times.len() > 3, "{}: {times:?}", ftl.name);
        assert!(after.programs.wear > before.programs.wear + 100, "{}: {after:?}", ftl.name);
        assert_eq!((after.programs.host, after.failed_reads), (before.programs.host, 0));

        let mut host = AcknowledgedDrive::new(&disturbed(ftl, 7));
        host.write().expect("there is room");
        let lpn = *host.held.keys().next().expect("one page");
        let mut answers = (0..60).map(|_| {
            let (offset, now) = (u64::from(lpn) * host.page, host.drive.now());
            host.drive.submit(&request(Op::Read, offset, host.page, now));
            host.drive.complete(Nanos::MAX).expect("it is answered").result
        });
        assert_eq!(answers.find(Result::is_err), Some(Err(Errno::EIO)), "{}", ftl.name);
        assert!(host.drive.counters().flash.failed_reads > 0);
        assert_eq!(
            host.drive.counters().flash.programs.wear,
            0,
            "{} must rewrite nothing",
            ftl.name
        );
    }
}
