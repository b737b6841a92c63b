use flashscope_sim::budget::Budget;

use super::*;
use crate::{Simulation, SimulationRequest, SimulationResult, request, simulate};

const DRIVE: &str = "sim:demo?flash.packages=4&flash.blocks_per_plane=32&over_provisioning=0.3&\
                     cleaning.free_threshold=0.02&cleaning.background_threshold=0.04";

fn tenants(specs: &[&str]) -> Vec<Tenant> {
    specs.iter().map(|spec| spec.parse().expect("a tenant")).collect()
}

fn request(specs: &[&str], ios: u64) -> SimulationRequest {
    let warm_up = Some("20000".parse().expect("a warm-up"));
    let work = Work { tenants: tenants(specs), ios: Some(ios), warm_up, ..Work::default() };
    SimulationRequest { drive: DRIVE.into(), work }
}

fn run(request: &SimulationRequest) -> Result<Simulation, Error> {
    let result: SimulationResult = simulate(request, &false.into(), &mut ())?;
    Ok(result.simulation)
}

#[test]
fn equal_tenants_are_treated_fairly() {
    let specs = ["a=uniform?reads=0.5&queue_depth=4", "b=uniform?reads=0.5&queue_depth=4"];
    let simulation = run(&request(&specs, 60_000)).expect("it works");
    let fairness = simulation.fairness.expect("both ran alone");
    assert!(fairness > 0.97 && fairness <= 1.0, "{fairness}");
    let slowdowns: Vec<f64> = simulation.tenants.iter().filter_map(|one| one.slowdown).collect();
    assert!(slowdowns.iter().all(|slowdown| *slowdown > 1.3), "{slowdowns:?}");
}

#[test]
fn the_measurements_of_tenants_add_up() {
    let specs = ["cache=zipf?reads=0.9", "log:low=sequential?op=write&size=64KiB&queue_depth=3"];
    let request = request(&specs, 20_000);
    let simulation = run(&request).expect("it works");
    let [cache, log] = &simulation.tenants[..] else { panic!("two tenants") };
    assert_eq!(cache.ios + log.ios, simulation.ios);
    assert_eq!(cache.bytes_written + log.bytes_written, simulation.bytes_written);
    assert_eq!(cache.bytes_read, simulation.bytes_read);
    assert_eq!((log.class.as_str(), log.queue_depth, cache.queue_depth), ("low", 3, 1));
    assert_eq!(log.offset_bytes, cache.length_bytes);
    assert_eq!(log.alone.as_ref().map(|alone| alone.latency_ns.count), Some(log.ios));
    let (again, mut first) = (run(&request).expect("it works"), simulation);
    assert_eq!(again, first, "the same request has the same result");
    let alone = Work { alone: false, ..request.work.clone() };
    let shared = run(&SimulationRequest { work: alone, ..request }).expect("it works");
    first.fairness = None;
    for tenant in &mut first.tenants {
        (tenant.alone, tenant.slowdown) = (None, None);
    }
    assert_eq!(shared, first);
}

// An urgent queue has priority only while commands wait in the queues. The controller therefore
// accepts few commands at once.
#[test]
fn an_urgent_class_protects_a_tenant() {
    let slowdown = |spec: &str| {
        let specs = [spec, "batch=uniform?op=write&size=32KiB&queue_depth=32"];
        let mut request = request(&specs, 20_000);
        request.drive += "&interface.queue_depth=4";
        request.work.arbitration.weights = Some([4, 2, 1]);
        run(&request).expect("it works").tenants[0].slowdown.expect("it ran alone")
    };
    let (urgent, low) = (slowdown("a:urgent=uniform?op=read"), slowdown("a:low=uniform?op=read"));
    assert!(urgent < 0.9 * low, "{urgent}, {low}");
}

// A tenant that runs alone has the same warm-up and length as together with a trace, which does not
// repeat.
#[test]
fn a_tenant_alone_has_the_load_of_all() {
    let trace = concat!(
        "a=trace:",
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/traces/msr.csv?remap=fold"
    );
    for (specs, warm_up) in
        [([trace, "b=uniform"], WarmUp::None), (["a=zipf", "b=uniform"], WarmUp::Steady)]
    {
        let request = request(&specs, 100);
        let work = Work { warm_up: None, ..request.work };
        let load = |only| {
            let drive = request::drive(&request.drive, &Budget::default()).expect("a drive");
            let tenants = Tenants::open(&work, &drive, only, &false.into(), &mut ());
            let tenants = tenants.expect("it works");
            tenants.load(&work, InitialContents::None).expect("it works")
        };
        let (all, one) = (load(None), load(Some(1)));
        assert_eq!(all.warm_up, warm_up);
        assert_eq!((one.warm_up, one.length), (all.warm_up, all.length));
    }
}

#[test]
fn texts_of_tenants_are_read_and_written() {
    for text in ["a=uniform", "db:urgent=trace:t.csv?remap=fold&speed=2", "x y:low=zipf"] {
        assert_eq!(text.parse::<Tenant>().expect("a tenant").to_string(), text);
    }
    for text in ["uniform", "=uniform", "a=", "a:first=uniform", "uniform?size=4KiB"] {
        let error = text.parse::<Tenant>().expect_err("no tenant").to_string();
        assert!(error.contains(text) && error.contains("NAME=WORKLOAD"), "{error}");
    }
}

#[test]
fn invalid_tenants_are_refused_by_name() {
    for (specs, expected) in [
        (&["a=uniform", "a=zipf"][..], "two tenants are named `a`"),
        (&["a=uniform", "b=unifrom"], "--tenant b: "),
        (&["a=uniform", "b=uflip:granularity/RW"], "--tenant b: the runs of a uFLIP pattern"),
        (&["a=uniform?length=100GiB"], "--tenant a: "),
    ] {
        let error = run(&request(specs, 10)).expect_err("invalid").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Returns the write amplification of tenants that are caches, or of one cache without tenants if
/// `count` is 0, on a drive with placement handles.
fn write_amplification_of_caches(count: usize, streams: bool) -> f64 {
    let workload =
        format!("object-cache?region=512KiB&lookups=0&small_space=0.04&streams={streams}");
    let warm_up = Some("40000".parse().expect("a warm-up"));
    let work = Work { ios: Some(40_000), warm_up, alone: false, ..Work::default() };
    let work = match count {
        0 => Work { workload, ..work },
        count => {
            let spec = |nth| format!("cache-{nth}={workload}").parse().expect("a tenant");
            Work { tenants: (0..count).map(spec).collect(), ..work }
        }
    };
    let drive = format!("{DRIVE}&placement.handles=3");
    run(&SimulationRequest { drive, work }).expect("it works").write_amplification.expect("writes")
}

// The streams of a tenant's workload reach the drive, as those of a workload that has the drive
// alone (count 0).
#[test]
fn streams_lower_the_write_amplification_of_tenants() {
    for count in [0, 1, 2] {
        let [mixed, apart] =
            [false, true].map(|streams| write_amplification_of_caches(count, streams));
        assert!(mixed > 1.5 && apart < 1.05, "{count} tenants: {mixed} and {apart}");
    }
}
