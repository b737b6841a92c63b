use flashscope_block::{Bytes, Nanos, Op};
use flashscope_workload::Stream;
use flashscope_workload::pattern::{Address, Pattern, Timing};

use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Figure 2, in section 3.1.
pub(crate) const FIGURE_2: Item = Item {
    id: "uflip-figure2",
    paper: Paper::Uflip,
    place: "Figure 2, section 3.1",
    title: "parameters and functions of IO patterns",
    expected: State::AsPrinted,
    inputs: &[
        Input { name: "io_size", summary: "IOSize", value: "32KiB", other: "16KiB" },
        Input { name: "io_shift", summary: "IOShift", value: "4KiB", other: "8KiB" },
        Input { name: "pause", summary: "Pause, ms", value: "1", other: "2" },
        Input { name: "burst", summary: "Burst", value: "4", other: "8" },
        Input { name: "partitions", summary: "Partitions", value: "4", other: "2" },
    ],
    run,
};

/// The response time of an IO, rt(IO_i).
const TAKES: Nanos = Nanos::millis(1);

const COUNT: u64 = 32;

/// Returns the time in ms and the address in KiB of each IO.
#[allow(clippy::cast_precision_loss, reason = "times and addresses are far below 2^53")]
fn points(pattern: &Pattern) -> Vec<[f64; 2]> {
    let (mut stream, mut t, mut points) = (pattern.stream(0), Nanos(0), Vec::new());
    while let Some(io) = stream.next(t) {
        points.push([io.at.0 as f64 / 1e6, io.offset.0 as f64 / 1024.0]);
        t = io.at + TAKES;
    }
    points
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (io_size, io_shift): (Bytes, Bytes) = (run.number("io_size")?, run.number("io_shift")?);
    let (pause, burst, partitions): (u64, u64, u64) =
        (run.number("pause")?, run.number("burst")?, run.number("partitions")?);
    let pause = Nanos::millis(pause);
    let base = Pattern {
        op: Op::Write,
        address: Address::Sequential,
        timing: Timing::Consecutive,
        io_size,
        io_shift: Bytes(0),
        target_offset: Bytes(16 * io_size.0),
        target_size: Bytes(64 * io_size.0),
        io_count: COUNT,
        io_ignore: 0,
        seed: 0,
    };
    let shifted = Pattern { io_shift, target_size: Bytes(65 * io_size.0), ..base };
    let with = |address| Pattern { address, ..base };
    let timed = |timing| Pattern { timing, ..base };
    let named = [
        ("sequential", base),
        ("IOShift", shifted),
        ("Partitions", with(Address::Partitioned { partitions })),
        ("Incr = 2", with(Address::Ordered { incr: 2 })),
        ("Incr = -1", with(Address::Ordered { incr: -1 })),
        ("Pause", timed(Timing::Pause { pause })),
        ("Burst", timed(Timing::Burst { pause, burst })),
    ];
    for (name, pattern) in &named {
        let valid = pattern.validate(Bytes::gib(1), Bytes(512));
        valid.map_err(|error| Error::input("io_size", &format_args!("{name}: {error}")))?;
    }
    let claims = vec![
        basic_patterns(&base, pause, burst, partitions),
        sizes(&base),
        Claim::statement(
            "we divide the target space into Partitions partitions which are considered in a round robin fashion",
            format!("{} IOs are in the first of {partitions}", first_of(&named[2].1, partitions)),
            first_of(&named[2].1, partitions) == COUNT.div_ceil(partitions),
        ),
        Claim::statement(
            "pause(p) = burst(1, p)",
            format!("the same times of {COUNT} IOs, the last at {:.0} ms", last(&named[5].1)),
            points(&named[5].1) == points(&timed(Timing::Burst { pause, burst: 1 })),
        ),
        Claim::statement(
            "consecutive = burst(0, -)",
            format!("the same times of {COUNT} IOs, the last at {:.0} ms", last(&base)),
            points(&base) == points(&timed(Timing::Burst { pause: Nanos(0), burst })),
        ),
        Claim::statement(
            "a pause of length Pause is introduced between groups of Burst IOs",
            format!("the last IO of {COUNT} is {:.0} ms later", last(&named[6].1) - last(&base)),
            last(&named[6].1) - last(&base) == ((COUNT - 1) / burst) as f64 * pause.0 as f64 / 1e6,
        ),
        Claim::statement(
            "the address is first computed assuming an alignment to IOSize boundaries",
            format!("with IOShift each IO is shifted by {io_shift}"),
            points(&base)
                .iter()
                .zip(points(&shifted))
                .all(|(a, b)| (b[1] - a[1]) * 1024.0 == io_shift.0 as f64),
        ),
    ];
    let series = named.iter().map(|(name, pattern)| Series::dots(*name, points(pattern))).collect();
    let figure = Figure {
        title: "Patterns: address and time of each IO".into(),
        x: Axis::linear("time (ms)"),
        y: Axis::linear("address (KiB)"),
        series,
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Checks that "IOSize(IO_i) is simply defined as the identity function over the parameter IOSize".
fn sizes(pattern: &Pattern) -> Claim {
    let mut stream = pattern.stream(0);
    let sizes: Vec<Bytes> = std::iter::from_fn(|| Some(stream.next(Nanos(0))?.len)).collect();
    let same = sizes.iter().all(|size| *size == pattern.io_size);
    let measured =
        sizes.first().map_or("none".into(), |size| format!("{} IOs, of {size}", sizes.len()));
    Claim::statement("IOSize is the identity function", measured, same)
}

/// Counts the IOs of a pattern in the first of `parts` equal parts of its target space.
fn first_of(pattern: &Pattern, parts: u64) -> u64 {
    let (mut stream, end) =
        (pattern.stream(0), pattern.target_offset.0 + pattern.target_size.0 / parts);
    let ios = std::iter::from_fn(|| stream.next(Nanos(0)));
    ios.filter(|io| io.offset.0 < end).count() as u64
}

fn last(pattern: &Pattern) -> f64 {
    points(pattern).last().map_or(f64::NAN, |[at, _]| *at)
}

/// Checks that "there are 3 x 1 x 4 x 2 = 24 basic IO patterns", all with different IOs.
fn basic_patterns(base: &Pattern, pause: Nanos, burst: u64, partitions: u64) -> Claim {
    let addresses = [
        Address::Sequential,
        Address::Random,
        Address::Ordered { incr: -1 },
        Address::Partitioned { partitions },
    ];
    let timings = [Timing::Consecutive, Timing::Pause { pause }, Timing::Burst { pause, burst }];
    let mut patterns: Vec<String> = Vec::new();
    for op in [Op::Read, Op::Write] {
        for address in addresses {
            let of = |timing: Timing| Pattern { op, address, timing, ..*base };
            patterns.extend(timings.map(|timing| format!("{op:?} {:?}", points(&of(timing)))));
        }
    }
    patterns.sort();
    patterns.dedup();
    Claim::exact(
        "basic IO patterns: 3 x 1 x 4 x 2",
        24.0,
        f64::from(u32::try_from(patterns.len()).unwrap_or(0)),
    )
}
