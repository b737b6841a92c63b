//! Devices without flash: the probe names their medium, and states nothing about flash.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos, NullDevice};
use flashscope_document::probe::{Answer, Parameter};
use flashscope_probe::{Budget, Event, Investigation, Knowledge, Lab, investigate};
use flashscope_probe_bench::disk::{Disk, Mechanics};
use flashscope_probe_bench::noise::{Noise, Noisy};

fn probed(device: &mut dyn Device, bytes: u64) -> Knowledge {
    let stop = AtomicBool::new(false);
    let mut keep = ();
    let budget = Budget { bytes: Bytes(bytes), time: Nanos::secs(3600) };
    let mut lab = Lab::new(device, budget, 1, &stop, &mut keep);
    let mut tell = |_: &Event<'_>| {};
    investigate(&mut lab, &mut Investigation { parameters: &[], observer: &mut tell }).0
}

/// Checks that the medium is `medium`, and that no other parameter has an answer.
fn assert_is(knowledge: &Knowledge, medium: &str) {
    let stated = knowledge.finding(Parameter::Medium);
    let stated = stated.map(|finding| (&finding.answer, &finding.because));
    assert_eq!(knowledge.class(Parameter::Medium), Some(medium), "{stated:?}");
    let others = knowledge.findings().filter(|finding| finding.parameter != Parameter::Medium);
    let mut count = 0;
    for finding in others {
        let Answer::Unknown { why } = &finding.answer else { panic!("stated: {finding:?}") };
        assert!(why.starts_with("there is no flash"), "{why}");
        count += 1;
    }
    assert_eq!(count, flashscope_document::probe::PARAMETERS.len() - 1);
}

// The disks vary in cache, capacity and rotation, the probes in write budget, and the host is
// noisy.
#[test]
fn hard_disks_are_rotating() {
    let turns = [Nanos::micros(11_111), Nanos::micros(8333), Nanos::micros(4000)];
    for (case, turn) in turns.into_iter().enumerate() {
        for (cache, capacity, bytes) in
            [(false, 1, u64::MAX), (true, 1, u64::MAX), (true, 4096, 0), (false, 500, 1 << 30)]
        {
            let mechanics = Mechanics { turn, cache, ..Mechanics::desktop(Bytes::gib(capacity)) };
            let noise = Noise::of(0.05);
            let mut disk = Noisy::new(Disk::new(mechanics), noise, case as u64);
            assert_is(&probed(&mut disk, bytes), "rotating");
        }
    }
}

// The probe must recognize the device without filling its 64 GiB.
#[test]
fn a_device_that_answers_at_once_is_nothing() {
    let ticks = Cell::new(0);
    let clock = || {
        ticks.set(ticks.get() + 25);
        Nanos(ticks.get())
    };
    let mut null = NullDevice::new(Bytes::gib(64), 32, clock);
    assert_is(&probed(&mut null, Bytes::gib(640).0), "nothing");
    assert!(ticks.get() < 1_000_000, "filling the device took {} ns", ticks.get());
}

// Reads alone may leave the medium unknown.
#[test]
fn simulated_drives_are_flash() {
    for name in ["demo", "sun-zhang-pny?flash.blocks_per_plane=512"] {
        let mut drive = flashscope_sim::open(name).unwrap();
        let knowledge = probed(&mut drive, 20 << 30);
        assert_eq!(knowledge.class(Parameter::Medium), Some("flash"), "{name}: {knowledge:?}");
        let mut unwritten = flashscope_sim::open(name).unwrap();
        let reads_alone = probed(&mut unwritten, 0);
        let medium = reads_alone.class(Parameter::Medium);
        assert!(matches!(medium, None | Some("flash")), "{name}: {reads_alone:?}");
    }
}
