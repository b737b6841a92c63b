//! Random histories of a host that writes, finishes and resets zones, with failures and power cuts.

use std::collections::BTreeMap;

use flashscope_block::{Device, Errno, Nanos, Op, Zone, ZoneState};
use flashscope_sim::nand::Lpn;
use flashscope_sim::{Profile, SimDevice};
use proptest::prelude::*;

use crate::zones::{PAGE, limits, with_hole, zone, zoned};
use crate::{drive, request};

/// The host's record of a zone.
#[derive(Clone, Copy, Default)]
struct HostZone {
    /// The write pointer after the last power cut, in pages. Pages before it may have been lost.
    kept: u64,
    /// The end of the acknowledged pages.
    acknowledged: u64,
    /// The write pointer after the last write.
    submitted: u64,
    /// True if a reset of the zone is in flight.
    resets: bool,
}

/// A host that records the state of its zones.
struct Host {
    drive: SimDevice,
    zones: Vec<HostZone>,
    /// The zone, the offset and the operation of each request in flight.
    in_flight: Vec<(u32, u64, Op)>,
    random: fastrand::Rng,
    /// True if blocks of the flash fail.
    fails: bool,
}

impl Host {
    fn new(profile: &Profile, seed: u64) -> Host {
        let fails = profile.reliability.program_failures > 0.0;
        let mut drive = drive(profile);
        drive.expect_power_cuts();
        let count = limits(&mut drive).zones.min(6) as usize;
        let random = fastrand::Rng::with_seed(seed);
        let zones = vec![HostZone::default(); count];
        Host { drive, zones, in_flight: Vec::new(), random, fails }
    }

    /// Checks that no block has data of two zones.
    fn check_blocks(&mut self) {
        let pages = limits(&mut self.drive).capacity.0 / PAGE;
        let mut zone_of_block = BTreeMap::new();
        for number in 0..self.zones.len() as u64 {
            let lpns = number * pages..(number + 1) * pages;
            let lpns = lpns.map(|lpn| Lpn(u32::try_from(lpn).expect("small")));
            for page in lpns.filter_map(|lpn| self.drive.locate(lpn)) {
                let block = page.block.0;
                let owner = *zone_of_block.entry(block).or_insert(number);
                assert_eq!(owner, number, "block {block} has data of two zones");
            }
        }
    }

    fn step(&mut self) {
        let number = self.random.u32(..u32::try_from(self.zones.len()).expect("a few"));
        let known = self.zones[number as usize];
        match self.random.u32(..20) {
            0 => self.cut(),
            1 => self.finish(number),
            2 | 3 if self.in_flight.iter().all(|(zone, _, _)| *zone != number) => {
                self.reset(number)
            }
            4..=10 if !self.in_flight.is_empty() => {
                self.answer(Nanos::MAX);
            }
            _ if !known.resets && self.in_flight.len() < 16 => self.write(number),
            _ => {}
        }
        self.check_blocks();
    }

    /// Makes a zone full before all of it is written, if it is active.
    fn finish(&mut self, number: u32) {
        if zone(&mut self.drive, number).state.is_active() {
            let zones = self.drive.zones().expect("it has zones");
            assert_eq!(zones.finish(number), Ok(()));
        }
    }

    fn submit(&mut self, number: u32, op: Op, offset: u64, len: u64) {
        self.in_flight.push((number, offset, op));
        self.drive.submit(&request(op, offset, len, self.drive.now()));
    }

    /// Resets a zone. Takes a read-only zone offline first in half of the cases.
    fn reset(&mut self, number: u32) {
        let Zone { start, size, state, .. } = zone(&mut self.drive, number);
        if state == ZoneState::ReadOnly && self.random.bool() {
            let zones = self.drive.zones().expect("it has zones");
            assert_eq!(zones.take_offline(number), Ok(()));
            self.zones[number as usize] = HostZone::default();
        }
        if !state.is_lost() {
            self.zones[number as usize] = HostZone { resets: true, ..HostZone::default() };
        }
        self.submit(number, Op::Trim, start.0, size.0);
    }

    /// Writes a few pages, if the zone has room for them. The drive may refuse to open the zone.
    fn write(&mut self, number: u32) {
        let Zone { start, write_pointer, .. } = zone(&mut self.drive, number);
        let zone_before = zone(&mut self.drive, number);
        let left = (zone_before.end() - write_pointer).0 / PAGE;
        if left > 0 && zone_before.state != ZoneState::Offline {
            let pages = self.random.u64(1..=left.min(7));
            self.submit(number, Op::Write, write_pointer.0, pages * PAGE);
            let pointer = zone(&mut self.drive, number).write_pointer.0;
            self.zones[number as usize].submitted = (pointer - start.0) / PAGE;
        }
    }

    /// Receives an answer, if one arrives in time. Data counts as acknowledged up to the first
    /// write of its zone that is still in flight.
    fn answer(&mut self, until: Nanos) -> bool {
        let Some(done) = self.drive.complete(until) else { return false };
        let of =
            |(_, offset, op): &(u32, u64, Op)| (*offset, *op) == (done.io.offset.0, done.io.op);
        let place = self.in_flight.iter().position(of).expect("in flight");
        let (number, _, op) = self.in_flight.remove(place);
        let start = zone(&mut self.drive, number).start.0;
        let known = &mut self.zones[number as usize];
        match (done.result, op) {
            (Err(Errno::EOVERFLOW), Op::Write) => {}
            (Err(errno), _) => {
                let is_lost = zone(&mut self.drive, number).state.is_lost();
                assert!(self.fails && is_lost && errno == Errno::EIO, "{errno} of zone {number}");
            }
            (Ok(()), Op::Trim) => *known = HostZone::default(),
            (Ok(()), _) => {
                let waiting = self.in_flight.iter().filter(|(zone, _, _)| *zone == number);
                let first = waiting.map(|(_, offset, _)| (offset - start) / PAGE).min();
                let end = first.unwrap_or(known.submitted).min(known.submitted);
                known.acknowledged = known.acknowledged.max(end);
            }
        }
        true
    }

    /// Cuts the power after a random time, and checks all zones.
    fn cut(&mut self) {
        let until = Nanos(self.drive.now().0 + self.random.u64(..5_000_000));
        while self.answer(until) {}
        self.drive.cut_power().expect("it recovers");
        self.in_flight.clear();
        for number in 0..u32::try_from(self.zones.len()).expect("a few") {
            self.check(number);
        }
    }

    fn check(&mut self, number: u32) {
        let known = self.zones[number as usize];
        let Zone { start, capacity, write_pointer, state, .. } = zone(&mut self.drive, number);
        let pages = capacity.0 / PAGE;
        let first = u64::from(number) * pages;
        let written = (write_pointer.0 - start.0) / PAGE;
        let drive = &self.drive;
        let there = |place: u64| {
            let lpn = u32::try_from(first + place).expect("small");
            drive.locate(Lpn(lpn)).is_some()
        };
        if !known.resets {
            assert!((known.kept..known.acknowledged).all(there), "data of zone {number}");
            let is_full = state == ZoneState::Full;
            assert!(is_full || written <= known.submitted, "the pointer of zone {number}");
        }
        assert!(!state.is_open(), "a cut closes zones");
        assert!(!(written..pages).any(there), "zone {number} has data beyond its pointer");
        self.zones[number as usize] =
            HostZone { kept: written, acknowledged: 0, submitted: written, resets: false };
    }
}

proptest! {
    // For any requests and power cuts, acknowledged data remains until its zone is reset, and later
    // writes can continue at the write pointers.
    #[test]
    fn acknowledged_data_survives_power_cuts(
        seed in any::<u64>(),
        spanned in prop::sample::select(vec![1u32, 2, 4]),
        policy in prop::sample::select(vec!["fcfs", "read-first", "out-of-order", "suspend"]),
        hole in 0u64..40,
        failures in prop::sample::select(vec![0.0, 0.02, 0.2]),
    ) {
        let mut profile = zoned(4, spanned, 1);
        profile.reliability.program_failures = failures;
        profile.reliability.erase_failures = failures;
        profile.scheduling.policy = policy.into();
        let profile = with_hole(profile, hole);
        let mut host = Host::new(&profile, seed);
        (0..400).for_each(|_| host.step());
    }
}
