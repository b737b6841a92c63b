use flashscope_block::{Bytes, Device, Op};
use flashscope_sim::ftl::Scope;
use flashscope_sim::nand::{Interleaving, Sharing};
use flashscope_sim::{Profile, SimDevice};

use super::{Latency, PAGE, assert_near, fill, open_loop, poisson};
use crate::{drive, round_trip};

/// The baseline with sixteen packages of a thirty-second of the size.
fn sixteen_packages() -> Profile {
    let mut profile = Profile::default();
    profile.flash.packages = 16;
    profile.flash.blocks_per_plane = 64;
    profile.interface.queue_depth = 1024;
    profile
}

fn full_drive(profile: &Profile) -> (SimDevice, u64) {
    let mut drive = drive(profile);
    fill(&mut drive);
    let pages = drive.info().capacity.0 / PAGE;
    (drive, pages)
}

/// As the paper says of Exchange: three reads to two writes at random places, of variable size
/// (here 1 to 4 pages), 900 a second.
fn exchange(profile: &Profile) -> Latency {
    let (mut drive, pages) = full_drive(profile);
    let mut random = fastrand::Rng::with_seed(4);
    let requests = poisson(20_000, 900.0, &mut random, |random| {
        let op = if random.f64() < 0.6 { Op::Read } else { Op::Write };
        (op, random.u64(..pages - 4), random.u64(1..=4))
    });
    open_loop(&mut drive, requests)
}

/// As the paper says of TPC-C: two reads to one write, of 8 KiB aligned, at random places, 300 a
/// second.
fn tpc_c(profile: &Profile) -> Latency {
    let (mut drive, pages) = full_drive(profile);
    let mut random = fastrand::Rng::with_seed(4);
    let requests = poisson(10_000, 300.0, &mut random, |random| {
        let op = if random.f64() < 2.0 / 3.0 { Op::Read } else { Op::Write };
        (op, random.u64(..pages / 2) * 2, 2)
    });
    open_loop(&mut drive, requests)
}

/// As most of the trace of `IOzone` is: 256 KiB at a time, in sequence, beginning half-way between
/// multiples of 32 KiB. One after the other.
fn iozone(profile: &Profile) -> Latency {
    let (mut drive, pages) = full_drive(profile);
    let mut latency = Latency::default();
    for request in 0..2 * pages / 64 {
        let offset = (request % (pages / 64 - 1) * 64 + 4) * PAGE;
        latency.add(round_trip(&mut drive, Op::Write, offset, 64 * PAGE).latency());
    }
    latency
}

/// The response times of a workload on a full drive of a profile.
type Workload = fn(&Profile) -> Latency;

const WORKLOADS: [(&str, Workload); 3] =
    [("TPC-C", tpc_c), ("Exchange", exchange), ("IOzone", iozone)];

/// The response times of a workload with gangs of 1, 8 and 16 packages, in microseconds.
fn by_gang(workload: Workload, change: fn(&mut Profile, u32)) -> [f64; 3] {
    [1, 8, 16].map(|packages| {
        let mut profile = sixteen_packages();
        if packages > 1 {
            profile.gang.packages = packages;
            change(&mut profile, packages);
        }
        workload(&profile).mean() / 1e3
    })
}

fn shared_bus(profile: &mut Profile, _: u32) {
    profile.gang.sharing = Sharing::Bus;
    profile.gang.queue_per_package = false;
}

fn asynchronous(profile: &mut Profile, _: u32) {
    profile.gang.sharing = Sharing::Control;
}

fn synchronous(profile: &mut Profile, packages: u32) {
    profile.gang.sharing = Sharing::Control;
    profile.page_span = packages;
    profile.logical_page_size = Bytes(PAGE * u64::from(packages));
    profile.stripe = profile.logical_page_size;
}

// Do requests take longer in shared-bus gangs of 8 packages, accessed serially, and still longer in
// gangs of 16, about in the proportions of Table 4 for Exchange: 237, 553 and 746 us?
#[test]
fn table_4() {
    let [alone, eight, sixteen] = by_gang(exchange, shared_bus);
    println!("no gang {alone:.0} us, 8-gang {eight:.0} us, 16-gang {sixteen:.0} us");
    assert!(alone < eight && eight < sixteen);
    assert_near("8-gang over none", eight / alone, 553.0 / 237.0, 0.25);
    assert_near("16-gang over 8-gang", sixteen / eight, 746.0 / 553.0, 0.25);
}

// Is a synchronous shared-control gang never faster than an asynchronous one of the same size, nor
// that than no gang (Figure 7)?
#[test]
fn figure_7() {
    for (name, workload) in WORKLOADS {
        let [alone, async_8, async_16] = by_gang(workload, asynchronous);
        let [_, sync_8, sync_16] = by_gang(workload, synchronous);
        let normalized = [async_8, async_16, sync_8, sync_16].map(|latency| latency / alone);
        println!("{name}: async 8, 16, sync 8, 16: {normalized:.2?}");
        assert!(alone <= async_8 && async_8 <= async_16, "{name}: {normalized:?}");
        assert!(async_8 <= sync_8 && async_16 <= sync_16, "{name}: {normalized:?}");
    }
}

/// Response times in microseconds without interleaving, between dies, and between plane pairs, each
/// of which has an active block then.
fn by_interleaving(workload: Workload) -> [f64; 3] {
    let kinds = [
        (Interleaving::None, Scope::Pool),
        (Interleaving::Die, Scope::Die),
        (Interleaving::PlanePair, Scope::Plane),
    ];
    kinds.map(|(interleaving, active_blocks)| {
        let mut profile = sixteen_packages();
        profile.interleaving = interleaving;
        profile.active_blocks = active_blocks;
        workload(&profile).mean() / 1e3
    })
}

// Does interleaving help where requests queue at the packages, as the large ones of IOzone do, the
// more the finer it is, and hardly elsewhere (Figure 6)?
#[test]
fn figure_6() {
    for (name, workload) in WORKLOADS {
        let [none, die, plane_pair] = by_interleaving(workload);
        let gains = [none / die, none / plane_pair];
        println!("{name}: I/O rate between dies and plane pairs over none: {gains:.3?}");
        match name {
            "IOzone" => assert!(gains[0] > 1.5 && gains[1] > gains[0], "{gains:?}"),
            _ => gains.iter().for_each(|gain| assert!((1.0..1.03).contains(gain), "{gains:?}")),
        }
    }
}
