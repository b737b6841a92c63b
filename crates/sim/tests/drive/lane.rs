//! The plain lane against the general path, which is its oracle.

use flashscope_block::{Completion, Device, Io, Nanos, Op};
use flashscope_sim::nand::BlockId;
use flashscope_sim::observe::Amplification;
use flashscope_sim::{Profile, SimDevice};
use proptest::prelude::*;

use crate::robustness::{place, profiles};
use crate::{drive, one_pool, request};

/// One step of a host: the kind of IO, its place as a share of the drive, and its stream.
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

/// Returns all that a host or an engineer can see of a drive.
fn state(drive: &mut SimDevice) -> impl PartialEq + std::fmt::Debug {
    drive.catch_up();
    let page = u64::from(drive.nand().geometry().logical_page_size);
    let pages = u32::try_from(drive.info().capacity.0 / page).expect("a small drive");
    let places: Vec<_> = (0..pages).map(|lpn| place(drive, lpn)).collect();
    let valid: Vec<_> =
        (0..drive.nand().geometry().blocks()).map(|b| drive.nand().valid(BlockId(b))).collect();
    (drive.counters(), drive.now(), drive.free_blocks(), drive.flash(), places, valid)
}

/// Lets a drive go without all that keeps it from the plain lane.
fn plain(mut profile: Profile) -> Profile {
    profile.flash.two_plane_commands = false;
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
    fn the_plain_lane_does_what_the_general_path_does(
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
            by_lane.expect(&announced[..announced.len() / 2], &announced);
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

#[test]
fn observers_see_every_command_of_an_io_that_could_take_the_lane() {
    let mut drive = drive(&one_pool(32));
    let watched = drive.observe(Amplification::new(&drive));
    for nth in 0..100 {
        let io = request(Op::Write, nth * 4096, 4096, drive.now());
        drive.round_trip(&io).expect("it is answered");
    }
    let report = watched.lock().report(drive.now());
    assert_eq!(report.programs["host"].iter().sum::<u64>(), 100);
    assert_eq!(report.host_bytes.iter().sum::<u64>(), 100 * 4096);
}
