use flashscope_block::{Bytes, Io, Nanos};
use flashscope_workload::Stream;
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};
use flashscope_workload::uflip::{Experiment, MICRO_BENCHMARKS, Setup};

use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// Table 1, in section 3.2.
pub(crate) const TABLE_1: Item = Item {
    id: "uflip-table1",
    paper: Paper::Uflip,
    place: "Table 1, section 3.1",
    title: "micro-benchmark definitions: the issued IOs, compared with the formulas",
    expected: State::PrintWrong,
    inputs: &[
        Input { name: "io_size", summary: "IOSize", value: "32KiB", other: "16KiB" },
        Input {
            name: "target_size",
            summary: "the size of the drive",
            value: "32GiB",
            other: "1GiB",
        },
        Input {
            name: "ios",
            summary: "the number of compared IOs per run",
            value: "512",
            other: "256",
        },
    ],
    run,
};

/// The response time of an IO in this experiment.
const TAKES: Nanos = Nanos::micros(100);

const AFTER: &str = "an IO cannot wait for its successor: the rows of pause and bursts have i - 1";

const FLOOR: &str = "the floor must apply to the number of earlier IOs of the partition, and TargetOffset is missing: the printed offsets are \
                    not multiples of the IO size";

const GROUPS: &str = "as printed, pauses grow within a burst, and bursts have no pause between them; the text describes a pause between groups of \
                     Burst IOs";

/// Returns the address and the time of IO `i` by the formulas; random addresses are `None`. The
/// previous IO completed at `t`.
fn formula(pattern: &Pattern, i: u64, t: Nanos) -> (Option<u64>, Nanos) {
    let (size, target) = (pattern.io_size.0, pattern.target_size.0 - pattern.io_shift.0);
    let slots = target / size;
    let lba = match pattern.address {
        Address::Random => None,
        Address::Sequential => Some(i % slots * size),
        Address::Ordered { incr } => ordered(incr, i, slots).map(|slot| slot * size),
        Address::Partitioned { partitions } => {
            let ps = slots / partitions * size;
            Some(i % partitions * ps + (i / partitions * size) % ps)
        }
    };
    let offset = pattern.target_offset.0 + pattern.io_shift.0;
    let pause = match pattern.timing {
        Timing::Consecutive => Nanos(0),
        Timing::Pause { pause } => {
            if i == 0 {
                Nanos(0)
            } else {
                pause
            }
        }
        Timing::Burst { pause, burst } => {
            if i > 0 && i.is_multiple_of(burst) {
                pause
            } else {
                Nanos(0)
            }
        }
    };
    (lba.map(|lba| offset + lba), t + pause)
}

/// Returns the slot `Incr × i`, counted from the end for a negative `Incr`. Table 1 does not define
/// slots beyond the target space, which are `None`.
fn ordered(incr: i64, i: u64, slots: u64) -> Option<u64> {
    let step = incr.unsigned_abs() * i;
    let within = step < slots;
    within.then(|| if incr < 0 { slots - 1 - step } else { step })
}

/// Returns the number of IOs that differ from the formulas, and the number of all IOs.
fn differ(pattern: &Pattern, count: u64) -> (u64, u64) {
    let (mut stream, mut t, mut differ, mut all) = (pattern.stream(0), Nanos(0), 0, 0);
    for i in 0..count.min(pattern.io_count) {
        let Some(io) = stream.next(t) else { break };
        let (lba, at) = formula(pattern, i, t);
        let place = lba.map_or(in_place(pattern, &io), |lba| io.offset.0 == lba);
        let right = place && (io.len, io.op, io.at) == (pattern.io_size, pattern.op, at);
        (differ, all) = (differ + u64::from(!right), all + 1);
        t = io.at + TAKES;
    }
    (differ, all)
}

/// Returns true if an IO has an address `TargetOffset + IOShift + k × IOSize` within the target
/// space.
fn in_place(pattern: &Pattern, io: &Io) -> bool {
    let start = pattern.target_offset.0 + pattern.io_shift.0;
    let within = io.end().0 <= pattern.target_offset.0 + pattern.target_size.0;
    let place = io.offset.0.checked_sub(start);
    within && place.is_some_and(|place| place.is_multiple_of(pattern.io_size.0))
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (io_size, target_size, ios): (Bytes, Bytes, u64) =
        (run.number("io_size")?, run.number("target_size")?, run.number("ios")?);
    if io_size.0 < 512 || target_size < Bytes(4 * io_size.0) {
        return Err(Error::input(
            "io_size",
            &"must be at least 512 bytes, and at most a quarter of target_size",
        ));
    }
    let setup = Setup { io_size, ..Setup::paper(target_size, 0) };
    let mut claims = Vec::new();
    for benchmark in MICRO_BENCHMARKS {
        let (mut off, mut all) = (0, 0);
        for reference in references(&benchmark.experiments(&setup), target_size) {
            for pattern in patterns(&reference) {
                let (differ, of) = differ(&pattern, ios);
                (off, all) = (off + differ, all + of);
            }
        }
        let what = format!("{}: IOs that differ from the definition, of {all}", benchmark.title);
        #[allow(clippy::cast_precision_loss, reason = "counts of IOs are far below 2^53")]
        claims.push(Claim::exact(what, 0.0, off as f64));
    }
    claims.extend(as_printed(&setup));
    Ok(claims.into())
}

/// Returns the references of all runs that fit on the drive.
fn references(experiments: &[Experiment], size: Bytes) -> Vec<Reference> {
    let all = experiments.iter().flat_map(|e| &e.runs).map(|run| run.reference.clone());
    all.filter(|reference| reference.validate(size, Bytes(512)).is_ok()).collect()
}

/// Returns the patterns of a reference. Each process of a parallel reference has its own part of
/// the target space.
fn patterns(reference: &Reference) -> Vec<Pattern> {
    let Reference::Parallel { pattern, degree } = reference else {
        return reference.patterns().into_iter().copied().collect();
    };
    let share = pattern.target_size.0 / u64::from(*degree) / pattern.io_size.0 * pattern.io_size.0;
    let process = |p| Pattern {
        target_offset: Bytes(pattern.target_offset.0 + p * share),
        target_size: Bytes(share),
        ..*pattern
    };
    (0..u64::from(*degree)).map(process).collect()
}

/// Compares the three formulas that cannot be right as printed.
fn as_printed(setup: &Setup) -> Vec<Claim> {
    let (size, burst) = (setup.io_size.0 as f64, 10_u64);
    let (partitions, space) = (3.0_f64, 3.0 * 64.0 * size);
    let printed = |i: f64| (i / partitions * size).floor() % (space / partitions);
    let odd = (0..64_u32).filter(|i| printed(f64::from(*i)) % size != 0.0).count();
    let pauses: u64 = (0..burst).map(|i| i % burst).sum();
    vec![
        Claim::statement(
            "consecutive: t(IO_i) = t(IO_{i+1}) + rt(IO_{i+1})",
            "t(IO_{i-1}) + rt(IO_{i-1})",
            false,
        )
        .print_wrong_if(true, AFTER),
        Claim::statement(
            "partitioning: O_i = floor((i / Partitions) x IOSize) mod PS",
            format!(
                "{odd} of 64 offsets in three partitions would not be multiples of {}",
                setup.io_size
            ),
            odd == 0,
        )
        .print_wrong_if(odd > 0, FLOOR),
        Claim::statement(
            "bursts: t(IO_i) = t(IO_{i-1}) + rt(IO_{i-1}) + (i mod Burst) x Pause",
            format!("a burst of {burst} IOs would then have {pauses} pauses"),
            pauses == 1,
        )
        .print_wrong_if(pauses == burst * (burst - 1) / 2, GROUPS),
    ]
}
