//! The drive of the playground against the simulator of the program: the same counts and the same
//! simulated time, and a film that ends at the state of the flash. A test of the page compares the
//! WebAssembly module with the snapshot.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use flashscope_measure::WarmUp;
use flashscope_playground::{Pattern, Playground, Setup, Workload};
use flashscope_sim::budget::{Budget, Limit};
use flashscope_sim::nand::ByCause;
use flashscope_simulate::{Simulation, SimulationRequest, Simulator, Work};
use flashscope_workload::state::Fill;

/// The IOs of a run.
const IOS: u64 = 20_000;

const SMALL: &str = "flash.packages=4&flash.dies_per_package=1&flash.planes_per_die=1&\
                     flash.blocks_per_plane=48&flash.pages_per_block=32&persistence.map=nv-ram";

/// The overrides for drives with log blocks. They have one package, because each pool has its own
/// log blocks.
const ONE: &str = "flash.packages=1&flash.blocks_per_plane=192&over_provisioning=0.1&log.blocks=12";

/// A profile, its fields, the pattern, the shares of reads and trims, the queue depth, and true if
/// the drive is filled.
type Case = (&'static str, &'static str, Pattern, [f64; 2], u32, bool);

const CASES: [Case; 14] = [
    ("agrawal-2008", "", Pattern::Uniform, [0.0, 0.0], 1, true),
    ("agrawal-2008", "", Pattern::Uniform, [0.0, 0.0], 1, false),
    ("agrawal-2008", "cleaning.policy=fifo", Pattern::HotCold(0.9), [0.5, 0.0], 4, true),
    ("agrawal-2008", "over_provisioning=0.3", Pattern::Zipf(0.9), [0.0, 0.2], 1, true),
    ("agrawal-2008", "cleaning.policy=cost-benefit", Pattern::HotCold(0.8), [0.0, 0.1], 16, true),
    ("agrawal-2008", "cleaning.policy=d-choices", Pattern::Uniform, [0.3, 0.0], 32, true),
    ("agrawal-2008", "cleaning.policy=windowed-greedy", Pattern::Sequential, [0.0, 0.0], 1, true),
    ("agrawal-2008", "scheduling.policy=read-first", Pattern::Uniform, [0.7, 0.0], 16, true),
    ("agrawal-2008", "scheduling.policy=suspend", Pattern::Uniform, [0.7, 0.1], 32, true),
    ("agrawal-2008", "scheduling.policy=out-of-order", Pattern::Zipf(0.99), [0.5, 0.2], 32, true),
    ("agrawal-2008", "ftl=dftl&map_cache.size=1KiB", Pattern::Uniform, [0.2, 0.1], 4, true),
    ("flashsim-2009", "ftl=bast&ONE", Pattern::Uniform, [0.0, 0.0], 1, true),
    ("flashsim-2009", "ftl=fast&ONE", Pattern::HotCold(0.9), [0.2, 0.0], 1, true),
    ("flashsim-2009", "ftl=bast&ONE", Pattern::Sequential, [0.0, 0.0], 1, true),
];

fn setups() -> impl Iterator<Item = Setup> {
    CASES.into_iter().map(|(profile, fields, pattern, [reads, trims], queue_depth, filled)| {
        let drive = format!("{profile}?{SMALL}&{}", fields.replace("ONE", ONE));
        Setup { drive, workload: Workload { pattern, reads, trims }, queue_depth, filled, seed: 7 }
    })
}

/// Runs the case in the simulator of the program.
fn simulated(setup: &Setup) -> Simulation {
    let work = Work {
        workload: setup.workload.spec(page_size(setup)),
        fill: if setup.filled { Fill::Sequential } else { Fill::None },
        warm_up: Some(WarmUp::None),
        ios: Some(IOS),
        queue_depth: Some(setup.queue_depth),
        seed: setup.seed,
        ..Work::default()
    };
    let request = SimulationRequest { drive: setup.drive.clone(), work };
    let memory = Budget::new(Limit::of_machine());
    let stop = AtomicBool::new(false);
    let simulator = Simulator::open(&request, &memory, &stop, &mut ()).unwrap();
    simulator.run(&stop, &mut ()).unwrap().simulation
}

fn by_cause(counts: &ByCause) -> BTreeMap<String, u64> {
    counts.entries().into_iter().map(|(name, count)| (name.into(), count)).collect()
}

fn page_size(setup: &Setup) -> u32 {
    if setup.drive.starts_with("flashsim") { 2048 } else { 4096 }
}

#[test]
fn playground_counts_what_the_simulator_counts() {
    let mut snapshot = String::new();
    for setup in setups() {
        let mut playground = Playground::open(&setup).unwrap();
        playground.run(IOS);
        let name = playground.command_line();
        let document = simulated(&setup);
        let numbers = playground.numbers();
        assert_eq!(playground.failure(), None, "{name}");
        let counters = playground.counters();
        assert_eq!(by_cause(&counters.flash.programs), document.flash_programs, "{name}");
        assert_eq!(by_cause(&counters.flash.reads), document.flash_reads, "{name}");
        assert_eq!(by_cause(&counters.flash.erases), document.erases, "{name}");
        assert_eq!(numbers.host_written, document.host_pages_written as f64, "{name}");
        assert_eq!(numbers.host_read, document.host_pages_read as f64, "{name}");
        assert_eq!(numbers.host_trimmed, document.host_pages_trimmed as f64, "{name}");
        assert_eq!(numbers.time, document.simulated_ns.0 as f64, "{name}");
        writeln!(snapshot, "{}", line_of(&setup, &numbers)).unwrap();
    }
    insta::assert_snapshot!("counters", snapshot);
}

fn line_of(setup: &Setup, numbers: &flashscope_playground::Numbers) -> String {
    let Setup { drive, workload: Workload { pattern, reads, trims }, queue_depth, filled, seed } =
        setup;
    let (number, skew) = match pattern {
        Pattern::Uniform => (0, 0.0),
        Pattern::HotCold(writes) => (1, *writes),
        Pattern::Zipf(exponent) => (2, *exponent),
        Pattern::Sequential => (3, 0.0),
    };
    let counts = flashscope_playground::Numbers::NAMES.iter().zip(numbers.values());
    let counts = counts.map(|(name, value)| format!("\"{name}\":{value}"));
    format!(
        "{{\"drive\":\"{drive}\",\"pattern\":{number},\"skew\":{skew},\"reads\":{reads},\"trims\":{trims},\
         \"queue_depth\":{queue_depth},\"filled\":{filled},\"seed\":{seed},\"ios\":{IOS},\"numbers\":{{{}}}}}",
        counts.collect::<Vec<_>>().join(",")
    )
}

#[test]
fn film_ends_at_the_state_of_the_flash() {
    for setup in setups() {
        let mut playground = Playground::open(&setup).unwrap();
        for _ in 0..40 {
            playground.run(500);
            assert_eq!(playground.differences(), 0, "{}", playground.command_line());
            let (numbers, counters) = (playground.numbers(), playground.counters());
            let shown = numbers.programs_host + numbers.programs_moved + numbers.programs_mapping;
            assert_eq!(shown, counters.flash.programs.total() as f64, "{}", setup.drive);
            assert_eq!(numbers.flash_reads, counters.flash.reads.total() as f64, "{}", setup.drive);
            assert_eq!(numbers.erases, counters.flash.erases.total() as f64, "{}", setup.drive);
        }
    }
}
