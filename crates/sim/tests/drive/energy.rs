//! Compares the energy of a drive with sums over its commands.

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::ftl;
use flashscope_sim::observe::{Command, CommandKind, Observer};
use flashscope_sim::setup::{Energy, PerPageType, Programming};
use flashscope_sim::{Counters, Drive, Profile, SimDevice};

use crate::exactness::PAGE;
use crate::life::shape::{share_out, without_cleaning};
use crate::{drive, one_pool, request};

const POWER: Energy =
    Energy { read: 0.04, program: 0.09, erase: 0.06, bus: 0.25, request: 7.0, idle: 0.5 };

/// Returns the profile of a drive of one die with an FTL, three bits in a cell, and half of its
/// pages spare.
fn powered(ftl: &ftl::Kind) -> Profile {
    let mut profile = one_pool(32);
    profile.flash.pages_per_block = 12;
    profile.cells.page_read = PerPageType([30, 60, 50].map(Nanos::micros).into());
    profile.cells.programming = Programming::OneShot;
    profile.energy = POWER;
    profile.ftl = ftl.name.into();
    profile.over_provisioning = 0.5;
    profile.cleaning.free_threshold = 0.1;
    if ftl.is_page_mapped() {
        profile.slc.share = 0.1;
    } else {
        without_cleaning(&mut profile);
        share_out(&mut profile, 0);
    }
    profile
}

/// Sums up the energy of commands from the times that observers receive. On a single die, no
/// command waits between its start and its end.
struct Meter(f64);

impl Observer for Meter {
    fn command(&mut self, command: &Command) {
        let (all, bus) = (command.done.0 - command.start.0, command.transfer.0);
        let cells = (all - bus) as f64;
        let watts = match command.kind {
            CommandKind::Read => POWER.read,
            CommandKind::Program => POWER.program,
            CommandKind::Erase => POWER.erase,
            CommandKind::CopyBack => unreachable!("pages pass through the controller"),
        };
        self.0 += (watts * cells + POWER.bus * bus as f64) * 1e-9;
    }
}

fn work(drive: &mut SimDevice, ios: u64) {
    let pages = drive.info().capacity.0 / PAGE;
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..ios {
        let op = if random.u32(..4) == 0 { Op::Read } else { Op::Write };
        drive.submit(&request(op, random.u64(..pages) * PAGE, PAGE, drive.now()));
        drive.complete(Nanos::MAX).expect("it is answered").result.expect("it works");
    }
}

// The energy is the sum over all commands, requests and time, for every FTL, with and without
// queues.
#[test]
fn energy_is_the_sum_over_commands() {
    for ftl in ftl::KINDS {
        for policy in ["fcfs", "read-first"] {
            let mut profile = powered(ftl);
            profile.scheduling.policy = policy.into();
            let mut one = drive(&profile);
            let meter = one.observe(Meter(0.0));
            work(&mut one, 3000);
            one.idle_until(one.now() + Nanos::secs(1));
            let (counted, took) = (one.counters(), one.now());
            assert!(counted.flash.erases.total() > 30, "{}", ftl.name);
            let expected = meter.lock().0 + 3000.0 * 7e-6 + 0.5 * took.as_secs_f64();
            let used =
                Drive::One(Box::new(one)).energy(&counted, 3000, took).expect("it is measured");
            let found = used.total();
            assert!((found / expected - 1.0).abs() < 1e-9, "{} by {policy}: {found}", ftl.name);
        }
    }
}

// A word line in one shot needs the energy of three transfers and one program. An idle drive uses
// its idle power.
#[test]
fn energy_of_a_word_line() {
    let mut profile = powered(&ftl::KINDS[0]);
    profile.slc.share = 0.0;
    let mut one = drive(&profile);
    for page in 0..3 {
        crate::round_trip(&mut one, Op::Write, page * PAGE, PAGE);
    }
    let counted = one.counters();
    let one = Drive::One(Box::new(one));
    let used = one.energy(&counted, 3, Nanos(0)).expect("it is measured");
    let expected = 3.0 * 0.25 * 105.6e-6 + 0.09 * 200e-6 + 3.0 * 7e-6;
    assert!((used.total() - expected).abs() < 1e-12, "{used:?}");
    let rest = one.energy(&Counters::default(), 0, Nanos::secs(10)).expect("it is measured");
    assert!((rest.total() - 5.0).abs() < 1e-12, "{rest:?}");
}

// A drive with energy leaves the fast path, but gives the same answers.
#[test]
fn energy_changes_no_answer() {
    let with = powered(&ftl::KINDS[0]);
    let without = Profile { energy: Energy::default(), ..with.clone() };
    let [mut with, mut without] = [drive(&with), drive(&without)];
    work(&mut with, 2000);
    work(&mut without, 2000);
    assert_eq!(with.now(), without.now());
    let without_times = |counted: Counters| Counters {
        flash: flashscope_sim::nand::FlashCounters { busy: Default::default(), ..counted.flash },
        ..counted
    };
    assert_eq!(without_times(with.counters()), without.counters());
    assert_eq!(Drive::One(Box::new(without)).energy(&Counters::default(), 0, Nanos(1)), None);
}

#[test]
fn an_array_takes_the_energy_of_its_drives() {
    let mut profile = powered(&ftl::KINDS[0]);
    profile.raid.drives = 3;
    let array = Drive::new("sim:array", &profile).expect("it works");
    let used = array.energy(&Counters::default(), 0, Nanos::secs(2)).expect("it is measured");
    assert!((used.total() - 3.0).abs() < 1e-12, "{used:?}");
}
