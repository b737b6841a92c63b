use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Io, Nanos, Op};
use flashscope_document::SimulationStatus;
use flashscope_measure::{Phase, Progress, Step, WarmUp};
use flashscope_sim::{Drive, Profile};

use super::*;

/// A drive so small that filling it takes no time.
const SMALL: &str = "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&\
                     flash.blocks_per_plane=64";

fn request(drive: &str, work: Work) -> SimulationRequest {
    SimulationRequest { drive: drive.into(), work }
}

fn small(work: Work) -> Result<Simulation, Error> {
    simulate(&request(SMALL, work), &false.into(), &mut ()).map(|done| done.simulation)
}

#[test]
fn profile_and_its_name_give_the_same_simulation() {
    let work = Work { ios: Some(2000), ..Work::default() };
    let named = small(work.clone()).unwrap();
    let profile: Profile = flashscope_sim::setup::parse(&SMALL[4..]).unwrap();
    let (drive, stop) = (Drive::new(SMALL, &profile).unwrap(), false.into());
    let made = Simulator::on(drive, &work, &stop, &mut ()).unwrap().run(&stop, &mut ()).unwrap();
    assert_eq!(made.simulation, named);
    assert_eq!(named.wall_ns, Nanos(0), "no clock was read");
}

#[test]
fn a_drive_that_keeps_buckets_and_regions_of_a_cache_apart_moves_fewer_pages() {
    let drive = format!("{SMALL}&cleaning.frontiers=hot-and-cold");
    let [mixed, apart] = [false, true].map(|streams| {
        let workload =
            format!("object-cache?region=512KiB&lookups=0&object=16KiB&streams={streams}");
        let work = Work { workload, ios: Some(50_000), ..Work::default() };
        let done = simulate(&request(&drive, work), &false.into(), &mut ()).unwrap();
        done.simulation.write_amplification.unwrap()
    });
    assert!(apart < 0.9 * mixed, "{apart} and {mixed}");
}

#[test]
fn requests_survive_serialization() {
    let work = Work { warm_up: Some(WarmUp::Capacities(2.5)), pictures: true, ..Work::default() };
    for one in [request("demo", Work::default()), request(SMALL, work)] {
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<SimulationRequest>(&text).unwrap(), one, "{text}");
    }
    let least: SimulationRequest = serde_json::from_str(r#"{"drive":"demo"}"#).unwrap();
    assert_eq!(least, request("demo", Work::default()));
    assert!(
        serde_json::from_str::<SimulationRequest>(r#"{"drive":"demo","warm_up":"often"}"#).is_err()
    );
}

/// Counts events, and stops the simulation after `most` measured IOs.
struct EventCounter<'a> {
    stop: &'a AtomicBool,
    most: u64,
    phases: Vec<String>,
    begun: u32,
    each: u64,
}

impl Progress for EventCounter<'_> {
    fn show(&mut self, step: &Step<'_>) {
        self.phases.push(step.phase.into());
    }

    fn note(&mut self, _text: &str) {}
}

impl Hooks for EventCounter<'_> {
    fn begin(&mut self, phase: Phase, _now: Nanos) {
        self.begun += u32::from(phase == Phase::Measure);
    }

    fn wants_each(&self) -> bool {
        self.most > 0
    }

    fn each(&mut self, io: &Io, _at: Nanos, latency: Nanos) {
        assert!(io.op == Op::Write && latency > Nanos(0));
        self.each += 1;
        self.stop.store(self.each >= self.most, Ordering::Relaxed);
    }
}

#[test]
fn hooks_get_all_events_and_stop_keeps_measurements() {
    let work = Work { ios: Some(50_000), warm_up: Some(WarmUp::Ios(5000)), ..Work::default() };
    for most in [0, 100] {
        let stop = AtomicBool::new(false);
        let mut hooks = EventCounter { stop: &stop, most, phases: Vec::new(), begun: 0, each: 0 };
        let simulation =
            simulate(&request(SMALL, work.clone()), &stop, &mut hooks).unwrap().simulation;
        assert_eq!((hooks.begun, hooks.each), (1, if most == 0 { 0 } else { simulation.ios }));
        assert!(
            ["filling the drive", "warming up"]
                .iter()
                .all(|phase| hooks.phases.iter().any(|p| p == phase))
        );
        match most {
            0 => assert_eq!(
                (simulation.status, simulation.ios),
                (SimulationStatus::Complete, 50_000)
            ),
            _ => assert!(
                simulation.status == SimulationStatus::Interrupted && simulation.ios < 50_000
            ),
        }
    }
}

#[test]
fn invalid_requests_differ_from_failures() {
    let of = |work| small(work).unwrap_err();
    let none = Work::default;
    let (one, no_time) = (Some(1), Some(Nanos(0)));
    for (wrong, says) in [
        (of(Work { workload: "unifrm".into(), ..none() }), "uniform"),
        (of(Work { ios: Some(0), ..none() }), "--ios: measure at least one IO"),
        (of(Work { duration: no_time, ..none() }), "--duration: measure"),
        (of(Work { ios: one, duration: Some(Nanos(1)), ..none() }), "one of them"),
        (of(Work { queue_depth: Some(0), ..none() }), "at least 1"),
        (of(Work { queue_depth: Some(99_999), ..none() }), "interface.queue_depth"),
        (of(Work { observe: vec!["x".into()], ..none() }), "--list"),
        (of(Work { workload: "trace:/no/such".into(), ..none() }), "/no/such"),
    ] {
        assert!(wrong.to_string().contains(says), "{wrong}");
        assert_eq!(wrong.is_input(), says != "/no/such", "{wrong}");
    }
    let real = simulate(&request("/dev/sda", none()), &false.into(), &mut ()).unwrap_err();
    assert!(real.is_input() && real.to_string().contains("sim:demo"), "{real}");
    let array = Work { observe: vec!["cleaning".into()], ios: one, ..none() };
    let array = simulate(&request("demo?raid.drives=2", array), &false.into(), &mut ());
    assert!(array.unwrap_err().to_string().contains("array of 2"));
    let stopped = simulate(&request(SMALL, none()), &true.into(), &mut ()).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted) && !stopped.is_input());
    // FTLs with log blocks do not support trims.
    let trims =
        Work { workload: "uniform?trims=0.4".into(), warm_up: Some(WarmUp::Ios(999)), ..none() };
    let bast = simulate(
        &request(
            &format!("{SMALL}&background_cleaning=false&persistence.map=pages&ftl=bast"),
            trims,
        ),
        &false.into(),
        &mut (),
    );
    assert!(matches!(bast, Err(Error::Failed { .. })), "{:?}", bast.err());
}
