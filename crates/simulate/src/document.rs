//! Builds the document of a simulation from its measurements.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, Device, Errno, Nanos, Op};
use flashscope_document::{
    Cleaning, Correction, EnergyStatistics, LatencyNs, SIMULATION_VERSION, SimulationStatus,
    SimulationWarmUp, ZoneStatistics,
};
use flashscope_measure::{FailedIo, Load, Measurement, Outcome, RunEnd, STEADY};
use flashscope_sim::nand::ByCause;
use flashscope_sim::observe::Findings;
use flashscope_sim::{Counters, Drive, EnergyUse, SimDevice, ZoneCounts};
use flashscope_workload::state::Fill;

use super::Simulation;
use super::reading::Reading;

/// Describes a failed IO: the error and the offset.
pub(crate) fn failure(FailedIo { errno, offset, .. }: FailedIo) -> String {
    let why = match errno {
        Errno::EOPNOTSUPP => " (a trim, which the FTL of this drive does not support)",
        _ => "",
    };
    format!("{errno} at offset {} B{why}", offset.0)
}

/// Builds the document from a measurement. The caller adds the workload, the fill, the tenants, the
/// heat map, the wall time and the speed.
pub(crate) fn document(
    drive: &Drive,
    load: &Load,
    outcome: &Outcome<Reading>,
    measured: &Measurement<Reading>,
    observations: Findings,
) -> Simulation {
    let reading = measured.after.since(&measured.before);
    let counted = reading.counters;
    let latencies = &measured.latencies;
    let ios = latencies.all().count();
    let bytes = |op: Op| measured.bytes[usize::from(op.code())];
    let of = |op| latencies.of(op).and_then(LatencyNs::of);
    #[allow(clippy::cast_precision_loss)]
    let rate = ios as f64 / measured.took.as_secs_f64();
    let (status, error) = match outcome.ended {
        RunEnd::Complete => (SimulationStatus::Complete, None),
        RunEnd::Interrupted => (SimulationStatus::Interrupted, None),
        RunEnd::Failed { first, .. } => (SimulationStatus::Failed, Some(failure(first))),
    };
    let geometry = *drive.members()[0].nand().geometry();
    let data_pages = geometry.data_pages();
    let block = Bytes(u64::from(geometry.pages_per_block) * geometry.page_size.0);
    Simulation {
        schema_version: SIMULATION_VERSION,
        conclusions: Vec::new(),
        drive: drive.info().clone(),
        workload: String::new(),
        seed: load.seed,
        queue_depth: load.queue_depth,
        open_loop: load.open_loop,
        fill: Fill::None,
        warm_up: warm_up(outcome),
        status,
        error,
        ios,
        ios_per_second: Some(rate).filter(|rate| rate.is_finite()),
        bytes_read: bytes(Op::Read),
        bytes_written: bytes(Op::Write),
        bytes_trimmed: bytes(Op::Trim),
        host_pages_read: counted.host_pages_read,
        host_pages_written: counted.host_pages_written,
        host_pages_absorbed: counted.write_hits,
        host_pages_trimmed: counted.host_pages_trimmed,
        flash_reads: by_cause(&counted.flash.reads),
        flash_programs: by_cause(&counted.flash.programs),
        erases: by_cause(&counted.flash.erases),
        events: named(counted.flash.events.entries()),
        write_amplification: counted.write_amplification(),
        host_pages_moved: Some(counted.host_pages_moved).filter(|pages| *pages > 0),
        total_write_amplification: counted.total_write_amplification(),
        equivalent_throughput: counted.equivalent_throughput(data_pages),
        cleaning: cleaning(&counted, data_pages),
        tenants: Vec::new(),
        fairness: None,
        placement: reading.placement(block),
        zones: drive.members().iter().find_map(SimDevice::zone_counts).map(zones),
        correction: correction(&counted),
        energy: drive
            .energy(&counted, ios, measured.took)
            .map(|used| energy(&used, ios, measured.took)),
        latency_ns: LatencyNs::of(latencies.all()),
        read_latency_ns: of(Op::Read),
        write_latency_ns: of(Op::Write),
        trim_latency_ns: of(Op::Trim),
        latency_heat_map: None,
        observations,
        simulated_ns: measured.took,
        wall_ns: Nanos(0),
        speed: None,
    }
}

fn zones(counts: ZoneCounts) -> ZoneStatistics {
    let ZoneCounts { zones, read_only, offline } = counts;
    ZoneStatistics { zones, read_only, offline }
}

fn warm_up(outcome: &Outcome<Reading>) -> SimulationWarmUp {
    let done = &outcome.warm_up;
    SimulationWarmUp {
        ios: done.ios,
        bytes: done.bytes,
        window_write_amplification: done.windows.clone(),
        steady: done.steady,
        criterion: done.steady.map(|_| STEADY.to_string()),
    }
}

fn energy(used: &EnergyUse, ios: u64, took: Nanos) -> EnergyStatistics {
    let joules = used.total();
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 IOs
    let count = ios as f64;
    EnergyStatistics {
        joules,
        joules_per_io: (ios > 0).then_some(joules / count),
        mean_watts: (took > Nanos(0)).then(|| joules / took.as_secs_f64()),
        parts: used.parts().into_iter().map(|(name, joules)| (name.into(), joules)).collect(),
    }
}

/// Returns the correction of bit errors, if a read needed any beyond its first attempt.
fn correction(counted: &Counters) -> Option<Correction> {
    let flash = &counted.flash;
    (flash.read_retries > 0 || flash.failed_reads > 0).then_some(Correction {
        retries: flash.read_retries,
        uncorrectable_reads: flash.failed_reads,
        pages_refreshed: flash.programs.wear,
    })
}

fn by_cause(commands: &ByCause) -> BTreeMap<String, u64> {
    named(commands.entries())
}

fn named<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(name, count)| (name.into(), count)).collect()
}

fn cleaning(counted: &Counters, data_pages: u32) -> Cleaning {
    Cleaning {
        count: counted.cleanings(),
        pages_moved: counted.pages_moved(),
        efficiency: counted.cleaning_efficiency(data_pages),
    }
}
