//! Tests drives whose flash commands wait in queues.

use flashscope_block::{Bytes, Completion, Device, Nanos, Op};
use flashscope_sim::nand::Interleaving;
use flashscope_sim::sched::{self, BusOrder, Class};
use flashscope_sim::setup::{CleaningUnit, OwnPriority, Scope};
use flashscope_sim::{Counters, Profile, SimDevice};
use proptest::prelude::*;

use crate::{drain, drive, one_pool, request};

const PAGE: u64 = 4096;

/// Returns the profile of a drive whose dies share one bus. A page takes 60 us to read, 600 us to
/// program and 4 us on the bus.
pub(crate) fn dies_on_a_bus(dies: u32, policy: &str) -> Profile {
    let mut profile = Profile::default();
    profile.flash.packages = 1;
    profile.flash.dies_per_package = dies;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 256;
    profile.flash.metadata_size = Bytes(0);
    profile.flash.page_read = Nanos::micros(60);
    profile.flash.page_program = Nanos::micros(600);
    profile.flash.serial_access_per_kib = Nanos(1000);
    profile.interleaving = Interleaving::Die;
    profile.active_blocks = Scope::Die;
    profile.persistence.map = flashscope_sim::setup::MapMemory::NvRam;
    profile.over_provisioning = 0.3;
    profile.interface.queue_depth = 256;
    profile.scheduling.policy = policy.into();
    profile
}

/// Makes commands wait in queues even if each bus has one die. The changed bus order has no other
/// effect on such a drive.
pub(crate) fn without_early_answers(profile: &mut Profile) {
    profile.scheduling.bus_order = BusOrder::DataFirst;
}

/// Writes every page once, `depth` at a time.
pub(crate) fn fill(drive: &mut SimDevice, depth: u64) {
    let pages = drive.info().capacity.0 / PAGE;
    let mut next = 0;
    while next < pages || drive.next_due().is_some() {
        if next < pages && next < depth {
            drive.submit(&request(Op::Write, next * PAGE, PAGE, drive.now()));
            next += 1;
            continue;
        }
        drive.complete(Nanos::MAX).expect("a write in flight completes");
        if next < pages {
            drive.submit(&request(Op::Write, next * PAGE, PAGE, drive.now()));
            next += 1;
        }
    }
}

/// Keeps `depth` random requests of a page in flight. A fraction `share` of them are reads. Returns
/// all completions.
pub(crate) fn closed_loop(
    drive: &mut SimDevice,
    depth: u32,
    share: f64,
    requests: u32,
) -> Vec<Completion> {
    let mut random = fastrand::Rng::with_seed(9);
    let pages = drive.info().capacity.0 / PAGE;
    let mut submit = |drive: &mut SimDevice| {
        let op = if random.f64() < share { Op::Read } else { Op::Write };
        drive.submit(&request(op, random.u64(..pages) * PAGE, PAGE, drive.now()));
    };
    (0..depth).for_each(|_| submit(drive));
    let mut done = Vec::new();
    for _ in depth..requests {
        done.extend(drive.complete(Nanos::MAX));
        submit(drive);
    }
    done.extend(drain(drive));
    assert!(done.iter().all(|completion| completion.result.is_ok()));
    done
}

/// Keeps `depth` sequential writes of a page in flight. Returns all completions.
pub(crate) fn sequential_writes(
    drive: &mut SimDevice,
    depth: u64,
    requests: u64,
) -> Vec<Completion> {
    let mut done = Vec::new();
    for page in 0..requests {
        if page >= depth {
            done.extend(drive.complete(Nanos::MAX));
        }
        drive.submit(&request(Op::Write, page * PAGE, PAGE, drive.now()));
    }
    done.extend(drain(drive));
    done
}

#[allow(clippy::cast_precision_loss)]
fn iops(done: &[Completion]) -> f64 {
    let [first, .., last] = done else { return 0.0 };
    done.len() as f64 / ((last.completed.0 - first.completed.0) as f64 / 1e9)
}

// The IOPS agree with an independent event simulation of the same dies, bus and queue depth. An
// earlier model reserved the bus for busy dies, and reached only 47,400, 12,200 and 16,500 IOPS.
#[test]
fn dies_share_a_bus() {
    for (dies, depth, share, expected) in
        [(8, 32, 1.0, 110_300.0), (8, 32, 0.7, 34_500.0), (16, 64, 0.7, 68_700.0)]
    {
        let mut drive = drive(&dies_on_a_bus(dies, "fcfs"));
        fill(&mut drive, 32);
        let found = iops(&closed_loop(&mut drive, depth, share, 40_000));
        assert!((found / expected - 1.0).abs() < 0.025, "{found} of {expected}");
    }
}

// The package of Agrawal et al., section 2.2: two dies with two pairs of planes each, and transfers
// of 100 us. Sequential writes reach 10,000 IOPS, limited by the bus, with or without two-plane
// commands. With one die they reach 6,660 IOPS.
#[test]
fn pairs_of_planes_work_like_dies() {
    for (dies, two_plane, expected) in
        [(2, false, 10_000.0), (2, true, 10_000.0), (1, false, 6660.0)]
    {
        let mut profile = dies_on_a_bus(dies, "fcfs");
        profile.flash.planes_per_die = 4;
        profile.flash.page_program = Nanos::micros(200);
        profile.flash.serial_access_per_kib = Nanos(25_000);
        profile.flash.two_plane_commands = two_plane;
        profile.interleaving = Interleaving::PlanePair;
        profile.active_blocks = Scope::Plane;
        let mut drive = drive(&profile);
        let found = iops(&sequential_writes(&mut drive, 16, 4000));
        assert!((found / expected - 1.0).abs() < 0.01, "{found} of {expected}");
    }
}

// A read of an idle die takes 25 + 105.6 us while another die of its package programs.
#[test]
fn a_read_of_an_idle_die_does_not_wait() {
    let mut profile = Profile::default();
    profile.flash.packages = 1;
    profile.interleaving = Interleaving::Die;
    profile.allocation_pool = Scope::Die;
    profile.scheduling.policy = "fcfs".into();
    let mut drive = drive(&profile);
    for page in [0, 1] {
        drive.submit(&request(Op::Write, page * PAGE, PAGE, drive.now()));
        drain(&mut drive);
    }
    let start = drive.now();
    drive.submit(&request(Op::Write, 2 * PAGE, PAGE, start));
    assert_eq!(drive.complete(Nanos(start.0 + 150_000)), None);
    drive.submit(&request(Op::Read, PAGE, PAGE, drive.now()));
    let read = drive.complete(Nanos::MAX).expect("the read is first");
    assert_eq!((read.io.op, read.latency()), (Op::Read, Nanos(130_600)));
}

#[test]
fn early_commitment_is_fcfs() {
    for (depth, share, pools) in [(1, 0.5, 1), (4, 0.5, 1), (16, 0.2, 4), (8, 0.0, 2)] {
        let [short, queued] = [false, true].map(|has_queues| {
            let mut profile = one_pool(32);
            profile.flash.packages = pools;
            profile.over_provisioning = 0.3;
            if has_queues {
                without_early_answers(&mut profile);
            }
            let mut drive = drive(&profile);
            fill(&mut drive, 8);
            (closed_loop(&mut drive, depth, share, 6000), drive.counters())
        });
        assert!(short.1.flash.erases.total() > 20);
        assert_eq!(short.1, queued.1);
        let apart = short.0.iter().zip(&queued.0).position(|(one, other)| one != other);
        assert_eq!(
            apart,
            None,
            "{depth} {share} {pools}: {:?}",
            apart.map(|n| (short.0[n], queued.0[n]))
        );
    }
}

/// Returns the counters, and the sorted latencies of reads that compete with writes and garbage
/// collection for a die.
fn read_latencies(profile: &Profile) -> (Counters, Vec<Nanos>) {
    let mut drive = drive(profile);
    fill(&mut drive, 1);
    let done = closed_loop(&mut drive, 4, 0.8, 12_000);
    let reads = done.iter().filter(|completion| completion.io.op == Op::Read);
    let mut latencies: Vec<Nanos> = reads.map(Completion::latency).collect();
    latencies.sort_unstable();
    (drive.counters(), latencies)
}

// With more steps of garbage collection in a row, a read waits for more of them.
#[test]
fn steps_in_a_row_delay_reads() {
    let mut slow = Vec::new();
    for (policy, steps) in [("fcfs", 1), ("fcfs", 4), ("fcfs", 32), ("read-first", 1)] {
        let mut profile = dies_on_a_bus(1, policy);
        profile.flash.blocks_per_plane = 32;
        profile.scheduling.cleaning = CleaningUnit::Step;
        profile.scheduling.steps_in_a_row = steps;
        let (counters, latencies) = read_latencies(&profile);
        assert!(counters.flash.erases.total() > 20);
        slow.push(latencies[latencies.len() * 99 / 100].0);
    }
    assert!(slow[1] > slow[0] + 600_000 && slow[2] > 3 * slow[1], "{slow:?}");
    assert!(slow[3] < slow[0], "{slow:?}");
}

// The drive has no idle time and few free blocks. Urgent garbage collection keeps pace with the
// writes: no write waits until a complete block is collected.
#[test]
fn urgent_cleaning_spares_the_slowest_writes() {
    let [none, urgent] = [0.0, 0.2].map(|threshold| {
        let mut profile = dies_on_a_bus(1, "fcfs");
        profile.flash.blocks_per_plane = 32;
        profile.background_cleaning = true;
        profile.cleaning.background_threshold = 0.2;
        profile.cleaning.urgent_threshold = threshold;
        let mut drive = drive(&profile);
        fill(&mut drive, 1);
        let done = closed_loop(&mut drive, 4, 0.0, 12_000);
        let slowest = done.iter().map(Completion::latency).max().expect("it writes");
        assert!(drive.counters().flash.erases.total() > 100);
        slowest
    });
    assert!(urgent.0 * 2 < none.0, "{urgent} instead of {none}");
}

/// Reads sequentially after random writes on the Mtron of uFLIP, whose buffer causes merges in the
/// background. Returns the latencies of the reads.
fn reads_after_writes(options: &str) -> Vec<Nanos> {
    const IO: u64 = 32 << 10;
    let mut drive = flashscope_sim::open(&format!("mtron?{options}")).expect("the profile works");
    let units = drive.info().capacity.0 / IO;
    let mut random = fastrand::Rng::with_seed(1);
    let mut latency = |op: Op, unit: u64| {
        drive.submit(&request(op, unit * IO, IO, drive.now()));
        drive.complete(Nanos::MAX).expect("a request in flight completes").latency()
    };
    for unit in 0..units {
        latency(Op::Write, unit);
    }
    for _ in 0..1024 {
        latency(Op::Write, random.u64(..units));
    }
    (0..4096).map(|unit| latency(Op::Read, unit % units)).collect()
}

/// Returns the number of reads that are slower than usual, and the longest latency.
fn lingering(reads: &[Nanos]) -> (usize, Nanos) {
    let usual = reads[reads.len() - 1];
    let slow = reads.iter().filter(|read| read.0 > usual.0 * 6 / 5);
    (slow.count(), reads.iter().copied().max().unwrap_or_default())
}

// The lingering effect of random writes (uFLIP, Figure 5). A merge without interruption delays a
// few reads by tens of milliseconds; a merge in steps delays many reads by one step.
#[test]
fn merges_in_steps_linger_over_many_reads() {
    let block = reads_after_writes("scheduling.cleaning=block&scheduling.turns=false");
    let steps = reads_after_writes("scheduling.cleaning=step&scheduling.turns=false");
    let [(few, longest), (many, step)] = [block, steps].map(|reads| lingering(&reads));
    assert!(few < 20 && longest > Nanos::millis(25), "{few} reads, up to {longest}");
    assert!(many > 100 && step < Nanos::millis(6), "{many} reads, up to {step}");
}

// If reads take turns with background steps, each read until the end of the work is delayed,
// because no step overlaps with a read. Without turns, steps run beside the reads, and delay them
// less in total.
#[test]
fn turns_delay_every_read_until_the_work_is_done() {
    let [turns, steps] = [true, false].map(|turns| {
        let reads = reads_after_writes(&format!(
            "scheduling.cleaning=step&scheduling.steps_in_a_row=2&scheduling.turns={turns}"
        ));
        let usual = reads[reads.len() - 1];
        let delays: Vec<u64> = reads.iter().map(|read| read.0.saturating_sub(usual.0)).collect();
        let last = delays.iter().rposition(|delay| *delay > 0).expect("some reads are delayed");
        let delayed = delays.iter().filter(|delay| **delay > 0).count();
        (last + 1, delayed, delays.iter().sum::<u64>())
    });
    assert!(turns.0 < 4096 && turns.1 * 20 > turns.0 * 19, "{turns:?}");
    assert!(turns.0 > steps.0 && turns.2 > steps.2 * 3 / 2, "{turns:?} {steps:?}");
}

// A drive that is always busy with reads still does its background work: a step after each read.
#[test]
fn reads_do_not_starve_background_work() {
    let mut profile = dies_on_a_bus(4, "fcfs");
    profile.flash.blocks_per_plane = 32;
    (profile.background_cleaning, profile.cleaning.background_threshold) = (true, 0.2);
    profile.scheduling.cleaning = CleaningUnit::Step;
    profile.scheduling.turns = true;
    for depth in [1, 8] {
        let mut drive = drive(&profile);
        fill(&mut drive, 1);
        closed_loop(&mut drive, depth, 0.0, 3000);
        let before = drive.counters().flash.erases.total();
        closed_loop(&mut drive, depth, 1.0, 20_000);
        let during = drive.counters().flash.erases.total() - before;
        assert!(during > 3, "{during} erases during reads at depth {depth}");
    }
}

#[test]
fn turns_without_steps_or_background_work_are_refused() {
    for options in [
        "demo?scheduling.turns=true",
        "demo?scheduling.turns=true&scheduling.cleaning=step&background_cleaning=false",
        "demo?scheduling.turns=true&scheduling.policy=suspend",
        "demo?scheduling.turns=true&scheduling.cleaning=step&scheduling.cleaning_priority=low",
        "demo?scheduling.turns=true&scheduling.cleaning=step&scheduling.choice_time=bus-granted",
    ] {
        let error = flashscope_sim::open(options).err().expect("it is refused").to_string();
        assert!(error.contains("scheduling.turns"), "{error}");
    }
}

#[test]
fn too_many_steps_in_a_row_are_refused() {
    for (steps, cleaning) in [(0, "step"), (65, "step"), (2, "block")] {
        let spec = format!(
            "demo?scheduling.cleaning={cleaning}\
             &scheduling.steps_in_a_row={steps}"
        );
        let error = flashscope_sim::open(&spec).err().expect("it is refused").to_string();
        assert!(error.contains("scheduling.steps_in_a_row"), "{error}");
    }
}

// Erases of low priority let the host go first, and a write that needs a block waits for it longer.
#[test]
fn classes_have_their_own_priorities() {
    let waits = |priority: OwnPriority| {
        let mut profile = dies_on_a_bus(4, "read-first");
        profile.flash.blocks_per_plane = 24;
        profile.scheduling.erase_priority = priority;
        let mut drive = drive(&profile);
        fill(&mut drive, 1);
        closed_loop(&mut drive, 32, 0.5, 12_000);
        let totals = drive.nand().queue_totals().expect("commands wait in queues");
        let of = totals.classes[Class::Erase as usize];
        of.waited_ns / u128::from(of.started)
    };
    let all = [OwnPriority::Urgent, OwnPriority::Equal, OwnPriority::Low].map(waits);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    assert_eq!(waits(OwnPriority::AsCleaning), all[1]);
}

/// Submits the same requests in the same order and at the same times to any drive.
fn same_order(profile: &Profile) -> (Counters, Vec<Completion>) {
    let mut drive = drive(profile);
    fill(&mut drive, 1);
    let mut random = fastrand::Rng::with_seed(5);
    let pages = drive.info().capacity.0 / PAGE;
    let (mut done, mut at) = (Vec::new(), drive.now());
    for _ in 0..4000 {
        while let Some(completion) = drive.complete(at) {
            done.push(completion);
        }
        let op = if random.bool() { Op::Read } else { Op::Write };
        drive.submit(&request(op, random.u64(..pages) * PAGE, PAGE, at));
        at.0 += random.u64(..2_000_000);
    }
    done.extend(drain(&mut drive));
    (drive.counters(), done)
}

#[test]
fn every_policy_answers_every_request_and_counts_the_same() {
    let mut counters = Vec::new();
    for policy in sched::KINDS {
        let mut profile = dies_on_a_bus(4, policy.name);
        profile.flash.blocks_per_plane = 16;
        profile.cleaning.free_threshold = 0.15;
        profile.interface.queue_depth = 65_536;
        let (counted, done) = same_order(&profile);
        assert_eq!(done.len(), 4000, "{}", policy.name);
        assert!(done.iter().all(|completion| completion.result == Ok(())));
        counters.push(counted);
    }
    assert!(counters[0].flash.erases.total() > 10);
    assert!(counters.windows(2).all(|pair| pair[0] == pair[1]), "{counters:?}");
}

// On a drive whose buses have one die each, a closed loop of one request takes the same time with
// and without queued commands, for several FTLs, a buffer, split requests and a gang.
#[test]
fn early_commitment_is_fcfs_on_drives_of_every_kind() {
    for spec in [
        "seed=1",
        "ftl=bast&persistence.map=pages",
        "ftl=fast&persistence.map=pages",
        "ftl=superblock&persistence.map=pages&log.group=2",
        "ftl=last&persistence.map=pages&log.sequential_request=8KiB",
        "cache.kind=lru&cache.size=32KiB",
        "interface.largest_request=8KiB",
        "gang.packages=2&gang.queue_per_package=false",
    ] {
        let [short, queued] = [false, true].map(|has_queues| {
            let base = "demo?flash.packages=2&flash.dies_per_package=1&flash.planes_per_die=1\
                        &flash.blocks_per_plane=32&flash.pages_per_block=8&over_provisioning=0.3\
                        &background_cleaning=false&interleaving=none";
            let spec = format!("{base}&{spec}");
            let mut profile = flashscope_sim::setup::parse(&spec).expect("the spec reads");
            if has_queues {
                without_early_answers(&mut profile);
            }
            let mut drive = drive(&profile);
            let mut random = fastrand::Rng::with_seed(3);
            let unit = u64::from(drive.nand().geometry().logical_page_size);
            let units = drive.info().capacity.0 / unit;
            let done: Vec<_> = (0..1500)
                .map(|_| {
                    let op = if random.u32(..4) == 0 { Op::Read } else { Op::Write };
                    let offset = random.u64(..units - 8) * unit;
                    let io = request(op, offset, random.u64(1..8) * unit, drive.now());
                    drive.submit(&io);
                    drive.complete(Nanos::MAX).expect("a request in flight completes")
                })
                .collect();
            (done, drive.counters())
        });
        assert_eq!(short.1, queued.1, "{spec}");
        let apart = short.0.iter().zip(&queued.0).position(|(one, other)| one != other);
        let apart = apart.map(|nth| (nth, short.0[nth], queued.0[nth]));
        assert_eq!(apart, None, "{spec}");
    }
}

/// Submits the same requests at the same times to a drive without background work.
fn counters_of(profile: &Profile, seed: u64) -> Counters {
    let mut drive = drive(profile);
    let mut random = fastrand::Rng::with_seed(seed);
    let (blocks, mut at) = (drive.info().capacity.0 / 512, Nanos(0));
    let mut answers = 0;
    for _ in 0..300 {
        let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Flush][random.usize(..5)];
        let limit = if random.bool() { blocks } else { blocks.div_ceil(4) };
        let offset = random.u64(..limit);
        let len = random.u64(1..=(blocks - offset).min(24));
        let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset * 512, len * 512) };
        answers += std::iter::from_fn(|| drive.complete(at)).count();
        drive.submit(&request(op, offset, len, at));
        at.0 += if random.bool() { 0 } else { random.u64(..3_000_000) };
    }
    let rest = drain(&mut drive);
    assert!(rest.iter().all(|completion| completion.result == Ok(())));
    assert_eq!(answers + rest.len(), 300);
    drive.counters()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // Every policy moves the same pages, on any drive with any FTL and any buffer, because the
    // scheduler decides only when commands run.
    #[test]
    fn counts_are_the_same_by_every_policy(
        profile in crate::cache::buffered_profiles(),
        ftl in 0..flashscope_sim::ftl::KINDS.len(),
        seed: u64,
    ) {
        let mut profile = profile;
        let kind = flashscope_sim::ftl::KINDS[ftl];
        profile.ftl = kind.name.into();
        if !kind.is_page_mapped() {
            crate::life::shape::without_cleaning(&mut profile);
            crate::life::shape::share_out(&mut profile, seed);
            profile.log.blocks = profile.log.blocks.max(3);
        }
        profile.background_cleaning = false;
        profile.cache.write_back = 0.0;
        profile.timed = true;
        profile.interface.queue_depth = 512;
        if profile.layout().is_ok() {
            profile.timed = false;
            let expected = counters_of(&profile, seed);
            profile.timed = true;
            for policy in sched::KINDS {
                profile.scheduling.policy = policy.name.into();
                prop_assert_eq!(counters_of(&profile, seed), expected, "{}", policy.name);
            }
        }
    }
}
