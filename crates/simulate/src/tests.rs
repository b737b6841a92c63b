use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Io, Nanos, Op};
use flashscope_document::SimulationStatus;
use flashscope_measure::{Phase, Progress, Step, WarmUp};
use flashscope_sim::{Drive, Profile};
use flashscope_workload::state::Fill;

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

/// The fields that turn [`SMALL`] into a drive whose zones are one block each.
const ZONED: &str =
    "&zones.blocks=1&persistence.map=nv-ram&background_cleaning=false&interface.logical_block=4KiB";

// Both drives have the same flash and as much live data. A zoned drive leaves all moves to the
// host, and host and drive together move less data.
#[test]
fn zones_leave_all_write_amplification_to_the_host() {
    let [zoned, usual] = [ZONED, "&background_cleaning=false"].map(|fields| {
        let workload = "log-structured?segment=256KiB&live=0.7".into();
        let work = Work { workload, ios: Some(60_000), ..Work::default() };
        simulate(&request(&format!("{SMALL}{fields}"), work), &false.into(), &mut ()).unwrap()
    });
    let (zoned, usual) = (zoned.simulation, usual.simulation);
    assert_eq!(zoned.write_amplification, Some(1.0));
    let new = zoned.host_pages_written - zoned.host_pages_moved.unwrap();
    #[allow(clippy::cast_precision_loss, reason = "a few pages")]
    let of_host = zoned.host_pages_written as f64 / new as f64;
    assert!(of_host > 1.5 && zoned.total_write_amplification == Some(of_host), "{of_host}");
    assert!(usual.write_amplification.unwrap() > 1.0);
    assert!(usual.total_write_amplification.unwrap() > of_host);
}

// A hole at the end of each zone changes addresses and nothing else.
#[test]
fn holes_of_zones_change_no_count() {
    for warm_up in [WarmUp::Ios(20_000), WarmUp::Capacities(2.0), WarmUp::Steady] {
        let [plain, hole] =
            [("", ""), ("&zones.size=512KiB", "&spacing=512KiB")].map(|(size, spacing)| {
                let workload = format!("log-structured?segment=256KiB&live=0.7{spacing}");
                let warm_up = Some(warm_up);
                let work = Work { workload, ios: Some(3000), warm_up, ..Work::default() };
                let request = request(&format!("{SMALL}{ZONED}{size}"), work);
                simulate(&request, &false.into(), &mut ()).unwrap().simulation
            });
        assert_eq!(hole.warm_up, plain.warm_up);
        assert_eq!(hole.host_pages_written, plain.host_pages_written);
        let counts = (hole.write_amplification, &hole.erases, hole.zones);
        assert_eq!(counts, (plain.write_amplification, &plain.erases, plain.zones));
        let counts = hole.zones.expect("it has zones");
        assert_eq!((counts.read_only, counts.offline), (0, 0));
        assert!(hole.drive.capacity > plain.drive.capacity);
    }
}

// A drive whose blocks have failed names its lost zones.
#[test]
fn lost_zones_are_named() {
    let workload = "log-structured?segment=256KiB&live=0.7".into();
    let warm_up = Some(WarmUp::Ios(100));
    let work = Work { workload, ios: Some(1_000_000), warm_up, ..Work::default() };
    let drive = format!("{SMALL}{ZONED}&reliability.block_lifetime=9");
    let done = simulate(&request(&drive, work), &false.into(), &mut ()).unwrap();
    let counts = done.simulation.zones.expect("it has zones");
    assert_eq!((counts.read_only, counts.offline), (0, 1), "the reset that failed ended it");
    let reason = done.reason.expect("it failed");
    assert!(reason.ends_with(", 0 are read-only and 1 are offline"), "{reason}");
}

#[test]
fn a_workload_that_breaks_the_rules_of_zones_is_told_them() {
    let work = Work { ios: Some(100), ..Work::default() };
    let error = simulate(&request(&format!("{SMALL}{ZONED}"), work), &false.into(), &mut ());
    let error = error.map(|_| ()).expect_err("it writes anywhere").to_string();
    assert!(error.contains("EIO") && error.contains("log-structured?segment=262144"), "{error}");
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

    fn receives_each(&self) -> bool {
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

/// Returns the write amplification of each quarter of the capacity after a fill, and of the long
/// run.
fn after_fill(drive: &str, fill: Fill) -> (Vec<f64>, f64) {
    let window = |warm_up, ios, fill| {
        let work = Work { fill, warm_up: Some(warm_up), ios: Some(ios), ..Work::default() };
        let done = simulate(&request(drive, work), &false.into(), &mut ()).unwrap().simulation;
        (done.write_amplification.unwrap(), done.drive.capacity.0 / 4096)
    };
    let (_, pages) = window(WarmUp::None, 1, Fill::None);
    let quarter = |nth| window(WarmUp::Ios(nth * pages / 4), pages / 4, fill).0;
    let long = window(WarmUp::Ios(8 * pages), 4 * pages, Fill::Random).0;
    ((0..4).map(quarter).collect(), long)
}

// Compares two ways to the same state: a pass of at most 1.2 times the flash, and eight times the
// capacity at random.
#[test]
fn a_steady_fill_has_the_write_amplification_of_the_long_run_from_the_first_write_on() {
    let mut off = 0.0_f64;
    for change in [
        "over_provisioning=0.05&cleaning.policy=greedy",
        "over_provisioning=0.15&cleaning.policy=fifo",
        "over_provisioning=0.3&cleaning.policy=d-choices",
        "over_provisioning=0.1&cleaning.policy=cost-benefit&flash.packages=3",
        "over_provisioning=0.2&cleaning.policy=windowed-greedy&flash.pages_per_block=24",
        "over_provisioning=0.12&cleaning.frontiers=host-and-cleaning",
        "over_provisioning=0.12&persistence.map=nv-ram&ftl=dftl&map_cache.size=8KiB",
    ] {
        let drive = format!(
            "sim:agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&\
             flash.blocks_per_plane=512&cleaning.free_threshold=0.006&timed=false&\
             background_cleaning=false&{change}"
        );
        let (quarters, long) = after_fill(&drive, Fill::Steady);
        println!("{change}: {quarters:.3?} for {long:.3}");
        for found in &quarters {
            assert!((found / long - 1.0).abs() < 0.04, "{change}: {quarters:?} for {long}");
        }
        off = off.max((after_fill(&drive, Fill::Random).0[0] / long - 1.0).abs());
    }
    assert!(off > 0.3, "a random fill is no steadier: {off}");
}

#[test]
fn steady_fills_are_refused_where_pages_are_not_mapped() {
    let work = Work { fill: Fill::Steady, ios: Some(1), ..Work::default() };
    let failed = simulate(&request("sim:flashsim-2009?ftl=fast", work), &false.into(), &mut ());
    assert!(failed.err().unwrap().to_string().starts_with("--fill steady: "));
}
