//! Compares the fast path for plain requests (the lane) with the general path, which is its oracle.

use flashscope_block::{Completion, Device, Io, Nanos, Op};
use flashscope_sim::nand::{BlockId, PlaneAddresses};
use flashscope_sim::observe::{Observations, Observer, Relocation, Watch};
use flashscope_sim::{Profile, SimDevice};
use proptest::prelude::*;

use crate::robustness::{place, profiles};
use crate::{drive, one_pool, request};

/// A step of a host: the kind of IO, its address as a share of the drive, and its stream.
type Step = (u8, u16, u16);

/// Returns the IO of a step. Most IOs are of one page.
fn io(step: Step, drive: &SimDevice) -> Io {
    let (kind, share, stream) = step;
    let page = u64::from(drive.nand().geometry().logical_page_size);
    let pages = drive.info().capacity.0 / page;
    let offset = u64::from(share) % pages * page;
    let (op, len) = match kind {
        0..=9 => (Op::Write, page),
        10..=12 => (Op::Read, page),
        13 => (Op::Write, (2 * page).min(pages * page - offset)),
        14 => (Op::Trim, page),
        _ => (Op::Flush, 0),
    };
    Io { stream: stream % 2, ..request(op, offset, len, drive.now()) }
}

/// Executes an IO on the general path.
fn general(drive: &mut SimDevice, io: &Io) -> Option<Completion> {
    drive.submit(io);
    drive.complete(Nanos::MAX)
}

/// Returns the observable state of a drive.
fn state(drive: &mut SimDevice) -> impl PartialEq + std::fmt::Debug {
    drive.catch_up();
    let page = u64::from(drive.nand().geometry().logical_page_size);
    let pages = u32::try_from(drive.info().capacity.0 / page).expect("a small drive");
    let places: Vec<_> = (0..pages).map(|lpn| place(drive, lpn)).collect();
    let valid: Vec<_> =
        (0..drive.nand().geometry().blocks()).map(|b| drive.nand().valid(BlockId(b))).collect();
    (drive.counters(), drive.now(), drive.free_blocks(), drive.flash(), places, valid)
}

/// Removes the features of a profile that exclude a drive from the fast path.
fn plain(mut profile: Profile) -> Profile {
    profile.flash.two_plane_commands = false;
    profile.flash.two_plane_addresses = PlaneAddresses::SamePage;
    profile.gang.packages = 1;
    profile.page_span = 1;
    profile.slc.share = 0.0;
    profile.background_cleaning = false;
    profile.active_blocks = profile.allocation_pool;
    profile.logical_page_size.0 = 0;
    profile
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn the_fast_path_does_what_the_general_path_does(
        profile in (profiles(), any::<bool>(), 0u8..4)
            .prop_map(|(profile, timed, kind)| {
                let profile = if kind > 0 { plain(profile) } else { profile };
                Profile { timed, ..profile }
            }),
        steps in prop::collection::vec((0u8..16, any::<u16>(), any::<u16>()), 1..400),
    ) {
        let Ok(mut by_lane) = SimDevice::new("sim:lane", &profile) else { return Ok(()) };
        let mut oracle = drive(&profile);
        for batch in steps.chunks(8) {
            let announced: Vec<_> = batch.iter().map(|step| io(*step, &by_lane)).collect();
            by_lane.announce(&announced[..announced.len() / 2], &announced);
            for step in batch {
                let io = io(*step, &oracle);
                let answers = (by_lane.round_trip(&io), general(&mut oracle, &io));
                prop_assert_eq!(answers.0, answers.1);
            }
        }
        prop_assert_eq!(state(&mut by_lane), state(&mut oracle));
    }
}

#[test]
fn a_drive_may_change_between_the_lane_and_the_general_path_at_any_time() {
    let (mut mixed, mut oracle) = (drive(&one_pool(32)), drive(&one_pool(32)));
    let mut random = fastrand::Rng::with_seed(31);
    for nth in 0..40_000 {
        let io = io((random.u8(..16), random.u16(..), 0), &oracle);
        let answer = match random.bool() {
            true => mixed.round_trip(&io),
            false => general(&mut mixed, &io),
        };
        assert_eq!(answer, general(&mut oracle, &io), "IO {nth}");
    }
    assert_eq!(state(&mut mixed), state(&mut oracle));
}

/// An observer that must receive each command separately. A drive with such an observer cannot use
/// the lane.
struct Single;

impl Observer for Single {}

/// A drive with every observer.
struct ObservedDrive {
    drive: SimDevice,
    watch: Watch,
}

impl ObservedDrive {
    fn new(profile: &Profile) -> Option<ObservedDrive> {
        let mut drive = SimDevice::new("sim:observed", profile).ok()?;
        let mut watch = Watch::default();
        watch.add_all(&mut drive);
        Some(ObservedDrive { drive, watch })
    }

    /// Executes the steps, restarts the observers after every 50, and returns the reports.
    fn reports(&mut self, steps: &[Step]) -> Vec<Observations> {
        let reports = steps.chunks(50).map(|batch| {
            for step in batch {
                let io = io(*step, &self.drive);
                self.drive.round_trip(&io);
            }
            self.drive.announce(&[], &[]);
            let report = self.watch.report(self.drive.now());
            self.drive.observer_switch().restart(self.drive.now());
            report
        });
        reports.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn observers_report_the_same_of_the_lane_and_of_single_commands(
        profile in (profiles(), any::<bool>(), 0u8..4)
            .prop_map(|(profile, timed, kind)| {
                let profile = if kind > 0 { plain(profile) } else { profile };
                Profile { timed, ..profile }
            }),
        steps in prop::collection::vec((0u8..16, any::<u16>(), any::<u16>()), 1..800),
    ) {
        let Some(mut by_lane) = ObservedDrive::new(&profile) else { return Ok(()) };
        let Some(mut oracle) = ObservedDrive::new(&profile) else { return Ok(()) };
        oracle.drive.observe(Single);
        prop_assert_eq!(by_lane.reports(&steps), oracle.reports(&steps));
    }
}

#[test]
fn relocations_reach_observers_as_one_event() {
    let mut drive = drive(&one_pool(32));
    let counted = drive.observe(Relocations::default());
    let mut random = fastrand::Rng::with_seed(32);
    let pages = drive.info().capacity.0 / 4096;
    for _ in 0..20 * pages {
        let io = request(Op::Write, random.u64(..pages) * 4096, 4096, drive.now());
        drive.round_trip(&io).expect("it is answered");
    }
    drive.announce(&[], &[]);
    let Relocations { events, pages } = *counted.lock();
    assert!(events > 0 && pages > 5 * events, "{pages} pages in {events} events");
    assert_eq!(pages, drive.counters().flash.reads.cleaning);
}

/// Counts relocations and their pages.
#[derive(Default)]
struct Relocations {
    events: u64,
    pages: u64,
}

impl Observer for Relocations {
    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, relocation: &Relocation) {
        self.events += 1;
        self.pages += u64::from(relocation.count);
    }
}
