//! Tests the addresses at which commands of two planes are carried out together.

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::nand::{Interleaving, PlaneAddresses};
use flashscope_sim::setup::Scope;
use flashscope_sim::{Profile, SimDevice};

use crate::queues::{closed_loop, dies_on_a_bus, fill, sequential_writes};
use crate::{drain, drive, request};

const PAGE: u64 = 4096;

const RULES: [PlaneAddresses; 3] =
    [PlaneAddresses::Any, PlaneAddresses::SamePage, PlaneAddresses::SameBlock];

/// Returns a drive of two dies with two pairs of planes each.
fn pairs(addresses: PlaneAddresses) -> Profile {
    let mut profile = dies_on_a_bus(2, "fcfs");
    profile.flash.planes_per_die = 4;
    profile.flash.blocks_per_plane = 32;
    profile.flash.two_plane_commands = true;
    profile.flash.two_plane_addresses = addresses;
    profile.interleaving = Interleaving::PlanePair;
    profile.active_blocks = Scope::Plane;
    profile
}

fn joined(drive: &SimDevice) -> u64 {
    drive.nand().queue_totals().expect("commands wait in queues").joined
}

/// Returns the share of commands that were carried out together with another one, in percent.
fn share(before: u64, drive: &SimDevice, commands: u64) -> u64 {
    200 * (joined(drive) - before) / commands
}

// Lanes are aligned to planes: consecutive pages go to the same page of the same block of both
// planes of a pair, and join under every rule.
#[test]
fn sequential_writes_join_under_every_rule() {
    for addresses in RULES {
        let mut drive = drive(&pairs(addresses));
        sequential_writes(&mut drive, 32, 4000);
        assert!(share(0, &drive, 4000) >= 99, "{addresses}");
    }
}

#[test]
fn random_reads_join_only_where_the_rule_allows() {
    for addresses in RULES {
        let mut drive = drive(&pairs(addresses));
        fill(&mut drive, 16);
        let before = joined(&drive);
        closed_loop(&mut drive, 64, 1.0, 20_000);
        let found = share(before, &drive, 20_000);
        let limits = match addresses {
            PlaneAddresses::Any => 85..=100,
            PlaneAddresses::SamePage => 1..=5,
            PlaneAddresses::SameBlock => 0..=0,
        };
        assert!(limits.contains(&found), "{addresses}: {found} %");
    }
}

// Garbage collection fills the open blocks of two lanes unevenly. Without a lane that catches up, 1
// % of the commands join. Few blocks beside each other are open at once, because each plane is
// cleaned by itself.
#[test]
fn lanes_of_a_pair_return_to_the_same_page() {
    for (addresses, limits) in
        [(PlaneAddresses::SamePage, 55..80), (PlaneAddresses::SameBlock, 2..15)]
    {
        let mut drive = drive(&pairs(addresses));
        fill(&mut drive, 16);
        closed_loop(&mut drive, 64, 0.0, 20_000);
        let (before, counters) = (joined(&drive), drive.counters());
        closed_loop(&mut drive, 64, 0.0, 20_000);
        let found = share(before, &drive, 20_000);
        assert!(limits.contains(&found), "{addresses}: {found} %");
        let amplification = drive.counters().since(&counters).write_amplification();
        assert!(amplification.is_some_and(|found| (2.0..2.3).contains(&found)));
    }
}

// Two reads that arrive together take the time of one, and a transfer more, if their addresses
// allow it. The bus carries a page in 4 us.
#[test]
fn joined_reads_take_the_time_of_one() {
    // The drive writes pages 0 to 7 to its eight planes in turn. Page 1 is on the other plane of
    // the pair, and so is page 9, on the next page of its block.
    for (addresses, other, took) in [
        (PlaneAddresses::SameBlock, 1, 68),
        (PlaneAddresses::Any, 9, 68),
        (PlaneAddresses::SamePage, 9, 128),
    ] {
        let mut drive = drive(&pairs(addresses));
        sequential_writes(&mut drive, 1, 16);
        let start = drive.now();
        for page in [0, other] {
            drive.submit(&request(Op::Read, page * PAGE, PAGE, start));
        }
        let last = drain(&mut drive).into_iter().map(|done| done.latency()).max();
        assert_eq!(last, Some(Nanos::micros(took)), "{addresses}: {other}");
    }
}
