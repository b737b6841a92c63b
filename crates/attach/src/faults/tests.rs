use std::sync::mpsc::channel;

use flashscope_block::{Bytes, Errno, Nanos, Op};
use proptest::prelude::*;

use super::injector::Fate;
use super::{FaultInjector, FaultPlan, InjectedFault, Presence};
use crate::request::{Request, RequestError};

const UNIT: u64 = 4096;

/// The fate of a request that fails with `EIO`.
const IO: Fate = Fate { error: Some(RequestError::Drive(Errno::EIO)), delay: Nanos(0) };

/// The time at which the drives of these tests were attached.
const ORIGIN: Nanos = Nanos::secs(100);

fn request(op: Op, offset: u64, len: u64) -> Request {
    Request {
        op,
        offset: Bytes(offset),
        len: Bytes(len),
        stream: 0,
        metadata: None,
        data: Vec::new(),
        durable: false,
        appends: false,
    }
}

fn injector(plan: &str) -> FaultInjector {
    FaultInjector::new(&plan.parse().unwrap(), ORIGIN, None).unwrap()
}

/// Returns a time of the drive's clock, in milliseconds after it was attached.
fn at(millis: u64) -> Nanos {
    ORIGIN + Nanos::micros(1000 * millis)
}

fn read(unit: u64) -> Request {
    request(Op::Read, unit * UNIT, UNIT)
}

#[test]
fn a_rule_affects_its_requests_only() {
    let faults = injector(
        "[[fault]]
        effect = 'error'
        ops = ['write', 'flush']
        offset = '1MiB'
        len = '4KiB'
        from = '10ms'
        for = '5ms'
        [[fault]]
        effect = 'delay'
        delay = '3ms'
        ops = ['flush']",
    );
    let inside = request(Op::Write, 1 << 20, 512);
    assert_eq!(faults.at_arrival(&inside, at(12)), IO);
    for (offset, len, expected) in [
        ((1 << 20) - 512, 512, Fate::default()),
        ((1 << 20) - 512, 513, IO),
        ((1 << 20) + 4095, 1, IO),
        ((1 << 20) + 4096, 512, Fate::default()),
    ] {
        assert_eq!(faults.at_arrival(&request(Op::Write, offset, len), at(12)), expected);
    }
    let read = request(Op::Read, 1 << 20, 512);
    assert_eq!(faults.at_arrival(&read, at(12)), Fate::default(), "another operation");
    for millis in [0, 9, 15, 99] {
        assert_eq!(faults.at_arrival(&inside, at(millis)), Fate::default(), "{millis} ms");
    }
    let late = Fate { error: None, delay: Nanos::micros(3000) };
    let flush = request(Op::Flush, 0, 0);
    assert_eq!(faults.at_arrival(&flush, at(12)), late, "a flush has no range");
}

#[test]
fn the_skipped_requests_are_spared_and_the_count_is_kept() {
    let faults = injector("[[fault]]\neffect = 'error'\nskip = 2\ncount = 3");
    let hits: Vec<bool> = (0..8).map(|_| faults.at_arrival(&read(0), at(0)) == IO).collect();
    assert_eq!(hits, [false, false, true, true, true, false, false, false]);
    assert_eq!(faults.counts(), [("fault-1".into(), 3)]);
}

// With the same seed, the same requests are affected; with another seed, other requests. The
// fraction of affected requests is the probability of the rule.
#[test]
fn random_faults_follow_the_seed() {
    let affected = |seed: u64| -> Vec<bool> {
        let plan = format!("seed = {seed}\n[[fault]]\neffect = 'error'\nprobability = 0.25");
        let faults = injector(&plan);
        (0..10_000).map(|_| faults.at_arrival(&read(0), at(0)) == IO).collect()
    };
    let first = affected(1);
    assert_eq!(first, affected(1));
    assert_ne!(first, affected(2));
    let share = first.iter().filter(|hit| **hit).count();
    // The tolerance is six standard deviations of a binomial distribution.
    assert!(share.abs_diff(2500) < 260, "{share}");
}

#[test]
fn a_media_error_stays_until_its_unit_is_written() {
    let faults = injector("seed = 7\n[[fault]]\neffect = 'media-error'\nprobability = 0.3");
    let fails = |request: &Request| faults.at_arrival(request, at(1)) == IO;
    let bad: Vec<u64> = (0..1000).filter(|unit| fails(&read(*unit))).collect();
    assert!(bad.len().abs_diff(300) < 90, "{} of 1000 units", bad.len());
    let again: Vec<u64> = (0..1000).filter(|unit| fails(&read(*unit))).collect();
    assert_eq!(bad, again);
    let [first, second] = [bad[0] * UNIT, bad[1] * UNIT];
    assert!(fails(&request(Op::Write, first, 512)), "a part of a unit");
    assert!(!fails(&request(Op::Write, first, UNIT)));
    let complete = |request: &Request, result| {
        let _ = faults.at_completion(request, at(1), at(2), result);
    };
    complete(&request(Op::Write, first, UNIT), Err(Errno::EIO.into()));
    assert!(fails(&read(bad[0])), "the write failed");
    complete(&request(Op::Write, first, UNIT), Ok(()));
    assert!(!fails(&read(bad[0])));
    complete(&request(Op::Trim, second, UNIT), Ok(()));
    assert!(!fails(&read(bad[1])));
    assert!(fails(&read(bad[2])));
}

// Replies that are due in the stall are sent at its end, whether their requests arrived before the
// stall or during it.
#[test]
fn a_stall_holds_replies_until_its_end() {
    let faults = injector("[[fault]]\neffect = 'stall'\nfrom = '10ms'\nfor = '20ms'\nevery = '1s'");
    let due = |arrived, completed| {
        let (due, result) = faults.at_completion(&read(0), at(arrived), at(completed), Ok(()));
        assert_eq!(result, Ok(()));
        due
    };
    assert_eq!(due(5, 9), at(9));
    assert_eq!(due(5, 10), at(30));
    assert_eq!(due(15, 29), at(30));
    assert_eq!(due(15, 30), at(30));
    assert_eq!(due(31, 40), at(40));
    assert_eq!(due(1015, 1016), at(1030));
}

#[test]
fn requests_in_flight_are_lost_in_a_reset() {
    let faults = injector("[[fault]]\neffect = 'reset'\nfrom = '10ms'\nevery = '1s'");
    let ends =
        |arrived, completed| faults.at_completion(&read(0), at(arrived), at(completed), Ok(()));
    assert_eq!(ends(5, 9), (at(9), Ok(())));
    assert_eq!(ends(5, 20), (at(10), Err(RequestError::Lost)));
    assert_eq!(ends(20, 30), (at(30), Ok(())));
    assert_eq!(ends(1005, 1500), (at(1010), Err(RequestError::Lost)));
    assert_eq!(faults.at_arrival(&read(0), at(10)), Fate::default());
    let cuts = |millis| faults.presence(at(millis)).cuts;
    assert_eq!([0, 9, 10, 1009, 1010, 2010].map(cuts), [0, 0, 1, 1, 2, 3]);
}

#[test]
fn a_drive_disappears_and_returns() {
    let plan = "[[fault]]\nname = 'gone'\neffect = 'disappear'\nfrom = '10ms'\nfor = '20ms'";
    let (sender, told) = channel();
    let hook = Box::new(move |fault: &InjectedFault| sender.send(fault.clone()).unwrap());
    let faults = FaultInjector::new(&plan.parse().unwrap(), ORIGIN, Some(hook)).unwrap();
    let lost = Fate { error: Some(RequestError::Lost), delay: Nanos(0) };
    assert_eq!(faults.at_arrival(&read(0), at(9)), Fate::default());
    assert_eq!(faults.at_arrival(&read(1), at(10)), lost);
    assert_eq!(faults.at_arrival(&read(2), at(30)), Fate::default());
    let presence = |millis| faults.presence(at(millis));
    assert_eq!(presence(9), Presence { is_present: true, cuts: 0 });
    assert_eq!(presence(10), Presence { is_present: false, cuts: 1 });
    assert_eq!(presence(30), Presence { is_present: true, cuts: 1 });
    drop(faults);
    let told: Vec<_> = told.iter().map(|fault| (fault.at, fault.rule, fault.request)).collect();
    let millis = |millis: u64| Nanos::micros(1000 * millis);
    let of_request = Some((Op::Read, Bytes(UNIT), Bytes(UNIT)));
    assert_eq!(told, [(millis(10), "gone".into(), None), (millis(10), "gone".into(), of_request)]);
}

// Each cut is reported, even if several came between two checks or a request noticed them first.
#[test]
fn every_cut_is_reported_once() {
    let plan = "[[fault]]\nname = 'a'\neffect = 'reset'\nfrom = '10ms'\nevery = '10ms'
        [[fault]]\nname = 'b'\neffect = 'reset'\nfrom = '15ms'
        [[fault]]\nname = 'c'\neffect = 'reset'\nops = ['write']";
    let (sender, told) = channel();
    let hook = Box::new(move |fault: &InjectedFault| sender.send(fault.clone()).unwrap());
    let faults = FaultInjector::new(&plan.parse().unwrap(), ORIGIN, Some(hook)).unwrap();
    let cuts = |now: u64| -> Vec<(u64, String)> {
        assert!(faults.presence(at(now)).is_present);
        told.try_iter()
            .filter(|fault| fault.request.is_none())
            .map(|fault| (fault.at.0 / 1_000_000, fault.rule))
            .collect()
    };
    let told = |of: &[(u64, &str)]| -> Vec<(u64, String)> {
        of.iter().map(|(at, rule)| (*at, (*rule).to_owned())).collect()
    };
    assert_eq!(cuts(9), told(&[]));
    assert_eq!(cuts(25), told(&[(10, "a"), (15, "b"), (20, "a")]));
    assert_eq!(cuts(25), told(&[]));
    for millis in [31, 32] {
        let _ = faults.at_arrival(&request(Op::Write, 0, UNIT), at(millis));
    }
    assert_eq!(cuts(41), told(&[(30, "a"), (31, "c"), (32, "c"), (40, "a")]));
}

// The number of reports at a check is bounded, whatever the interval of a rule.
#[test]
fn the_reports_of_a_check_are_bounded() {
    let plan = "[[fault]]\neffect = 'reset'\nevery = '1ns'";
    let (sender, told) = channel();
    let hook = Box::new(move |fault: &InjectedFault| sender.send(fault.clone()).unwrap());
    let faults = FaultInjector::new(&plan.parse().unwrap(), ORIGIN, Some(hook)).unwrap();
    assert_eq!(faults.presence(at(1000)).cuts, 1_000_000_001);
    drop(faults);
    let told: Vec<_> = told.iter().map(|fault| fault.at.0).collect();
    assert!((1..=1000).contains(&told.len()), "{}", told.len());
    assert_eq!(told.last(), Some(&1_000_000_000), "the latest");
}

// The cut ends all requests in flight, and the drive is absent for the given time.
#[test]
fn a_request_can_make_the_drive_disappear() {
    let faults = injector(
        "[[fault]]\neffect = 'disappear'\nops = ['write']\nskip = 1\ncount = 1\nfor = '20ms'",
    );
    let lost = Fate { error: Some(RequestError::Lost), delay: Nanos(0) };
    let write = request(Op::Write, 0, UNIT);
    assert_eq!(faults.at_arrival(&write, at(1)), Fate::default());
    assert_eq!(faults.presence(at(2)), Presence { is_present: true, cuts: 0 });
    assert_eq!(faults.at_arrival(&write, at(5)), lost);
    let ends = |arrived| faults.at_completion(&read(0), at(arrived), at(9), Ok(()));
    assert_eq!(ends(4), (at(5), Err(RequestError::Lost)));
    assert_eq!(ends(5), (at(9), Ok(())));
    assert_eq!(faults.at_arrival(&read(1), at(24)), lost);
    assert_eq!(faults.presence(at(24)), Presence { is_present: false, cuts: 1 });
    assert_eq!(faults.presence(at(25)), Presence { is_present: true, cuts: 1 });
    assert_eq!(faults.at_arrival(&write, at(25)), Fate::default());
}

// A cut applies to its requests in spite of rules with other effects. Requests in flight do not use
// up its `count`.
#[test]
fn cuts_count_their_own_requests() {
    let faults = injector(
        "[[fault]]\neffect = 'delay'\ndelay = '1ms'\nops = ['write']
        [[fault]]\neffect = 'reset'\nops = ['write']\nskip = 2\ncount = 2",
    );
    let write = request(Op::Write, 0, UNIT);
    let lost: Vec<bool> = (0..6)
        .map(|millis| {
            let is_lost = faults.at_arrival(&write, at(10 * millis)).error.is_some();
            // Ten reads are in flight at each write.
            for _ in 0..10 {
                let _ = faults.at_completion(
                    &read(0),
                    at(10 * millis - millis.min(1)),
                    at(10 * millis),
                    Ok(()),
                );
            }
            is_lost
        })
        .collect();
    assert_eq!(lost, [false, false, true, true, false, false]);
    assert_eq!(faults.presence(at(60)).cuts, 2);
    let affected: Vec<u64> = faults.counts().into_iter().map(|(_, count)| count).collect();
    assert_eq!(affected, [4, 2 + 2 * 10]);
}

// The list of cuts at requests is bounded.
#[test]
fn many_cuts_at_requests_are_remembered_as_their_last() {
    let faults = injector("[[fault]]\neffect = 'reset'\nops = ['read']");
    for millis in 1..=1000 {
        assert_eq!(faults.at_arrival(&read(0), at(millis)).error, Some(RequestError::Lost));
    }
    assert_eq!(faults.presence(at(1000)), Presence { is_present: true, cuts: 1000 });
    let (due, result) = faults.at_completion(&read(0), at(0), at(2000), Ok(()));
    assert_eq!(result, Err(RequestError::Lost));
    assert!(due > at(900) && due <= at(1000), "{due:?}");
}

#[test]
fn rules_that_need_time_are_found() {
    let timed = |text: &str| text.parse::<FaultPlan>().unwrap().timed_rule();
    assert_eq!(timed("[[fault]]\neffect = 'error'\n[[fault]]\neffect = 'reset'\ncount = 1"), None);
    assert_eq!(timed("[[fault]]\neffect = 'error'\n[[fault]]\neffect = 'reset'"), Some(2));
    assert_eq!(timed("[[fault]]\neffect = 'error'\nfrom = '1s'"), Some(1));
    assert_eq!(timed("[[fault]]\neffect = 'disappear'\ncount = 1\nfor = '1s'"), Some(1));
}

#[test]
fn wrong_plans_are_refused_with_a_remedy() {
    let messages = [
        "",
        "seed = -1",
        "[[fault]]\neffect = 'explode'",
        "[[fault]]\neffect = 'error'\nchance = 1",
        "fault = []",
        "[[fault]]\neffect = 'delay'",
        "[[fault]]\neffect = 'delay'\ndelay = 10",
        "[[fault]]\neffect = 'delay'\ndelay = '10 parsecs'",
        "[[fault]]\neffect = 'stall'\nfrom = '1s'",
        "[[fault]]\neffect = 'stall'\nfor = '0s'",
        "[[fault]]\neffect = 'stall'\nfor = '2s'\nevery = '1s'",
        "[[fault]]\neffect = 'error'\nevery = '1s'",
        "[[fault]]\neffect = 'error'\nprobability = 0.0",
        "[[fault]]\neffect = 'error'\nprobability = nan",
        "[[fault]]\neffect = 'error'\nlen = '0'",
        "[[fault]]\neffect = 'error'\nops = []",
        "[[fault]]\neffect = 'error'\nname = 'a\"b'",
        "[[fault]]\neffect = 'error'\nname = 'a'\n[[fault]]\neffect = 'reset'\nname = 'a'",
        "[[fault]]\neffect = 'reset'\nfor = '1s'",
        "[[fault]]\neffect = 'reset'\nprobability = 0.5\nevery = '1s'",
        "[[fault]]\neffect = 'media-error'\nunit = '511'",
        "[[fault]]\neffect = 'error'\nops = ['flush']\nlen = '4KiB'",
        "[[fault]]\neffect = 'error'\nerror = 'EIO'",
    ]
    .map(|text| format!("{}\n", text.parse::<FaultPlan>().unwrap_err()));
    insta::assert_snapshot!(messages.join("---\n"));
}

// The plans on the page and the shipped example parse, and the page names every effect and field.
#[test]
fn the_documented_plans_parse() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    let page = std::fs::read_to_string(format!("{root}faults.md")).unwrap();
    let plans = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let plans: Vec<&str> = plans.collect();
    assert!(plans.len() >= 3);
    plans.iter().for_each(|plan| drop(injector(plan)));
    let example = std::fs::read_to_string(format!("{root}examples/stall.toml")).unwrap();
    assert_eq!(example.parse::<FaultPlan>(), plans[0].parse());
    let schema = serde_json::to_value(schemars::schema_for!(FaultPlan)).unwrap();
    let fields = schema["$defs"]["FaultRule"]["properties"].as_object().unwrap();
    let effects = schema["$defs"]["FaultEffect"]["oneOf"].as_array().unwrap();
    let effects = effects.iter().map(|effect| effect["const"].as_str().unwrap());
    for name in fields.keys().map(String::as_str).chain(effects) {
        let is_named =
            page.contains(&format!("`{name}`")) || page.contains(&format!("\n{name} = "));
        assert!(is_named, "docs/faults.md does not name {name}");
    }
}

proptest! {
    // A reply is never early. It is late only because of a fault in the plan, and lost only because
    // of a cut.
    #[test]
    fn replies_are_late_or_lost_as_planned(
        stall in (0u64..100, 1u64..50), cut in 0u64..200,
        arrived in 0u64..150, took in 0u64..50,
    ) {
        let plan = format!(
            "[[fault]]\neffect = 'stall'\nfrom = '{}ms'\nfor = '{}ms'\n[[fault]]\neffect = 'reset'\nfrom = '{cut}ms'",
            stall.0, stall.1,
        );
        let faults = injector(&plan);
        let completed = arrived + took;
        let (due, result) = faults.at_completion(&read(0), at(arrived), at(completed), Ok(()));
        let is_stalled = (stall.0..stall.0 + stall.1).contains(&completed);
        let expected = if is_stalled { stall.0 + stall.1 } else { completed };
        let is_cut = arrived < cut && cut <= expected;
        match is_cut {
            true => prop_assert_eq!((due, result), (at(cut), Err(RequestError::Lost))),
            false => prop_assert_eq!((due, result), (at(expected), Ok(()))),
        }
    }
}
