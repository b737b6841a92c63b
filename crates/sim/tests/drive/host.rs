//! Submission queues of several tenants, compared with queueing theory. The drive is a single
//! server: one die, on which each read takes the same time.

use std::collections::VecDeque;

use flashscope_block::{Bytes, Completion, Device, Io, Nanos, Op};
use flashscope_sim::host::{Arbitration, Host, Namespaces, QueueClass};
use flashscope_sim::{Profile, SimDevice};

use crate::exactness::PAGE;
use crate::{drive, request, round_trip};

/// Returns a filled drive with one die whose controller works on `commands` commands at a time, and
/// the time of a read.
fn server(commands: u32) -> (SimDevice, Nanos) {
    let mut profile = Profile::default();
    profile.flash.packages = 1;
    profile.flash.dies_per_package = 1;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 64;
    profile.interface.queue_depth = commands;
    let mut drive = drive(&profile);
    for page in 0..drive.info().capacity.0 / PAGE {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
    }
    let latency = round_trip(&mut drive, Op::Read, 0, PAGE).latency();
    (drive, latency)
}

fn host(
    commands: u32,
    classes: &[QueueClass],
    arbitration: Arbitration,
) -> (Host<SimDevice>, Nanos) {
    let (drive, service) = server(commands);
    let namespaces = Namespaces::of(drive.info(), u32::try_from(classes.len()).unwrap());
    (Host::new(drive, namespaces, classes, arbitration), service)
}

/// Returns a read of a random page in the namespace of a tenant, due at `at`.
fn read(host: &Host<SimDevice>, tenant: usize, at: Nanos, random: &mut fastrand::Rng) -> Io {
    let namespaces = namespaces(host);
    let page = random.u64(..namespaces.size.0 / PAGE);
    request(Op::Read, namespaces.start(tenant).0 + page * PAGE, PAGE, at)
}

fn namespaces(host: &Host<SimDevice>) -> Namespaces {
    Namespaces::of(host.device().info(), u32::try_from(host.tenants()).unwrap())
}

/// Runs closed loops, one of each depth, for `ios` IOs. Returns the completions of each loop.
fn closed(host: &mut Host<SimDevice>, depths: &[u32], ios: usize) -> Vec<Vec<Completion>> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut done = vec![Vec::new(); depths.len()];
    for (tenant, depth) in depths.iter().enumerate() {
        for _ in 0..*depth {
            let io = read(host, tenant, host.now(), &mut random);
            host.submit(&io);
        }
    }
    for _ in 0..ios {
        let completion = host.complete(Nanos::MAX).expect("in flight");
        assert_eq!(completion.result, Ok(()));
        let tenant = namespaces(host).at(completion.io.offset);
        done[tenant].push(completion);
        let io = read(host, tenant, completion.completed, &mut random);
        host.submit(&io);
    }
    done
}

/// Runs open loops with Poisson arrivals at these rates per service time, for `ios` IOs. Returns
/// the mean wait of each tenant, in service times.
fn open(host: &mut Host<SimDevice>, service: Nanos, rates: &[f64], ios: u32) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(2);
    let start = host.now();
    let mut arrivals: Vec<(Nanos, usize)> = Vec::new();
    for (tenant, rate) in rates.iter().enumerate() {
        let mut at = 0.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive and small
        arrivals.extend((0..(f64::from(ios) * rate / rates.iter().sum::<f64>()) as u32).map(
            |_| {
                at -= (1.0 - random.f64()).ln() / rate * service.0 as f64;
                (Nanos(start.0 + at as u64), tenant)
            },
        ));
    }
    arrivals.sort_unstable();
    let count = arrivals.len();
    let mut arrivals = VecDeque::from(arrivals);
    let (mut waits, mut counts) = (vec![0.0; rates.len()], vec![0.0; rates.len()]);
    for _ in 0..count {
        let completion = loop {
            while arrivals.front().is_some_and(|(at, _)| *at <= host.now()) {
                let (at, tenant) = arrivals.pop_front().expect("not empty");
                let io = read(host, tenant, at, &mut random);
                host.submit(&io);
            }
            let until = arrivals.front().map_or(Nanos::MAX, |(at, _)| *at);
            if let Some(completion) = host.complete(until) {
                break completion;
            }
        };
        let tenant = namespaces(host).at(completion.io.offset);
        waits[tenant] += (completion.latency().0 - service.0) as f64 / service.0 as f64;
        counts[tenant] += 1.0;
    }
    assert_eq!(host.complete(Nanos::MAX), None);
    waits.iter().zip(counts).map(|(wait, count)| wait / count).collect()
}

fn weighted(weights: [u32; 3]) -> Arbitration {
    Arbitration { burst: 1, weights: Some(weights) }
}

// n closed loops of depth d on one server: every IO waits for n d - 1 others. The slowdown of each
// tenant is n, and the fairness of equal tenants is 1.
#[test]
fn equal_closed_loops_wait_for_each_other() {
    for (tenants, depth, commands) in [(1, 1, 1), (2, 1, 1), (2, 1, 32), (3, 4, 1), (4, 2, 3)] {
        let classes = vec![QueueClass::Medium; tenants];
        let (mut host, service) = host(commands, &classes, Arbitration::default());
        let done = closed(&mut host, &vec![depth; tenants], 600);
        for completions in done {
            let expected = tenants as u64 * u64::from(depth) * service.0;
            for completion in &completions[20..] {
                assert_eq!(completion.latency().0, expected, "{tenants} tenants of {depth}");
            }
        }
    }
}

// Under round robin, a deep queue slows down a shallow queue no more than an equally shallow queue
// does. If the controller has room for all commands, the shallow queue waits for all commands of
// the deep queue.
#[test]
fn round_robin_protects_shallow_queues_where_commands_wait_in_them() {
    let classes = [QueueClass::Medium; 2];
    let (mut tight, service) = host(1, &classes, Arbitration::default());
    let done = closed(&mut tight, &[31, 1], 1000);
    assert!(done[1][5..].iter().all(|completion| completion.latency().0 == 2 * service.0));
    let (mut roomy, service) = host(32, &classes, Arbitration::default());
    let done = closed(&mut roomy, &[31, 1], 1000);
    assert!(done[1][5..].iter().all(|completion| completion.latency().0 == 32 * service.0));
}

// Classes whose queues are never empty share the server by weight.
#[test]
fn weights_divide_the_throughput() {
    use QueueClass::{High, Low, Medium};
    let (mut host, _) = host(1, &[Low, High, Medium, High], weighted([6, 3, 1]));
    let done = closed(&mut host, &[8; 4], 1000);
    let counts: Vec<usize> = done.iter().map(Vec::len).collect();
    assert_eq!(counts, [100, 300, 300, 300]);
}

// An urgent queue is a priority queue without pre-emption (Cobham, 1954): with rho the load of a
// class, in service times, the urgent class waits W = (rho_1 + rho_2)/2 / (1 - rho_1), and the
// other class W / (1 - rho_1 - rho_2).
#[test]
fn urgent_queues_wait_as_priority_queues_do() {
    use QueueClass::{Medium, Urgent};
    for (urgent, other) in [(0.3, 0.4), (0.1, 0.7), (0.6, 0.2)] {
        let (mut host, service) = host(1, &[Medium, Urgent], weighted([1, 1, 1]));
        let waits = open(&mut host, service, &[other, urgent], 400_000);
        let first = (urgent + other) / 2.0 / (1.0 - urgent);
        let expected = [first / (1.0 - urgent - other), first];
        println!("{urgent}, {other}: {waits:?} for {expected:?}");
        for (wait, expected) in waits.iter().zip(expected) {
            assert!((wait / expected - 1.0).abs() < 0.03, "{wait} for {expected}");
        }
    }
}

// For any order of service, the mean wait weighted by load is that of M/D/1 (Kleinrock's
// conservation law). Under round robin, equal tenants have the same mean wait.
#[test]
fn round_robin_conserves_the_mean_wait() {
    let (mut host, service) = host(1, &[QueueClass::Medium; 2], Arbitration::default());
    let waits = open(&mut host, service, &[0.35, 0.35], 400_000);
    let expected = 0.7 / 2.0 / (1.0 - 0.7);
    for wait in &waits {
        assert!((wait / expected - 1.0).abs() < 0.03, "{wait} for {expected}");
    }
    let (mut host, service) = self::host(1, &[QueueClass::Medium; 2], Arbitration::default());
    let waits = open(&mut host, service, &[0.6, 0.1], 400_000);
    let mean = (0.6 * waits[0] + 0.1 * waits[1]) / 0.7;
    assert!((mean / expected - 1.0).abs() < 0.03, "{mean} for {expected}");
    assert!(waits[1] < waits[0], "{waits:?}");
}

// c cores process commands of T each, first come, first served: of n commands at once, command i
// (from 0) is done after (floor(i / c) + 1) T. A closed loop completes c/T commands a second. Reads
// of pages without data take no other time.
#[test]
fn cores_bound_the_rate_of_commands() {
    for (cores, commands) in [(1, 5), (2, 7), (4, 32), (3, 2)] {
        let mut profile = Profile::default();
        let time = Nanos::micros(3);
        (profile.interface.cores, profile.interface.command_time) = (cores, time);
        let mut drive = drive(&profile);
        for nth in 0..commands {
            drive.submit(&request(Op::Read, nth * PAGE, PAGE, Nanos(0)));
        }
        for nth in 0..commands {
            let expected = Nanos((nth / u64::from(cores) + 1) * time.0);
            assert_eq!(drive.complete(Nanos::MAX).map(|done| done.completed), Some(expected));
        }
        let start = drive.now();
        let busy = commands.min(u64::from(cores));
        for nth in 0..commands {
            drive.submit(&request(Op::Read, nth * PAGE, PAGE, start));
        }
        for _ in 0..120 * busy {
            let done = drive.complete(Nanos::MAX).expect("in flight");
            drive.submit(&Io { at: done.completed, ..done.io });
        }
        assert_eq!(drive.now().0 - start.0, 120 * time.0, "{cores} cores, {commands} commands");
    }
}

// A write waits for its core and, at the same time, for its data on the link.
#[test]
fn a_write_waits_for_its_core_and_for_its_data() {
    let latency = |command: u64, per_kib: u64| {
        let mut profile = Profile::default();
        profile.interface.command_time = Nanos(command);
        profile.interface.transfer_per_kib = Nanos(per_kib);
        round_trip(&mut drive(&profile), Op::Write, 0, PAGE).latency().0
    };
    let flash = latency(0, 0);
    assert_eq!(latency(5000, 0), flash + 5000);
    assert_eq!(latency(0, 1000), flash + 4000);
    assert_eq!(latency(5000, 1000), flash + 5000);
    assert_eq!(latency(3000, 1000), flash + 4000);
}

// A single tenant gets the same answers as from a drive without submission queues, while the
// controller has room for its commands.
#[test]
fn one_tenant_is_a_drive() {
    let (mut host, _) = host(8, &[QueueClass::Low], weighted([3, 2, 1]));
    let (mut plain, _) = server(8);
    let mut random = fastrand::Rng::with_seed(4);
    let pages = host.info().capacity.0 / PAGE;
    for _ in 0..500 {
        for _ in 0..random.u32(1..8) {
            let op = if random.bool() { Op::Read } else { Op::Write };
            let io = request(op, random.u64(..pages) * PAGE, PAGE, host.now());
            host.submit(&io);
            plain.submit(&io);
        }
        while let Some(completion) = host.complete(Nanos::MAX) {
            assert_eq!(plain.complete(Nanos::MAX), Some(completion));
        }
        assert_eq!(plain.complete(Nanos::MAX), None);
        let until = Nanos(host.now().0 + random.u64(..2_000_000));
        host.idle_until(until);
        plain.idle_until(until);
        assert_eq!(host.now(), plain.now());
    }
    assert_eq!(host.device().counters(), plain.counters());
}

// Every byte of a drive is in a namespace.
#[test]
fn namespaces_divide_a_drive() {
    let (drive, _) = server(1);
    for count in 1..9 {
        let namespaces = Namespaces::of(drive.info(), count);
        let mut last = 0;
        for page in 0..drive.info().capacity.0 / PAGE {
            let nth = namespaces.at(Bytes(page * PAGE));
            assert!(nth == last || nth == last + 1);
            assert_eq!(
                nth == count as usize - 1,
                page * PAGE >= namespaces.start(count as usize - 1).0
            );
            last = nth;
        }
        assert_eq!(last, count as usize - 1);
    }
}
