use std::sync::Arc;

use flashscope_command::bench::Part;
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, measure};
use super::{DTI, MEMORIGHT, OFF, SEED};
use crate::times::range;
use crate::{Axis, Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State, Tolerance};

/// Section 5.2, "Effect of granularity".
pub(crate) const FIGURE_6: Item = Item {
    id: "uflip-figure6",
    paper: Paper::Uflip,
    place: "Figure 6",
    title: "granularity for the Memoright SSD",
    expected: State::NotReproduced,
    inputs: &[MEMORIGHT, SEED],
    run: memoright,
};

/// Section 5.2, "Effect of granularity".
pub(crate) const FIGURE_7: Item = Item {
    id: "uflip-figure7",
    paper: Paper::Uflip,
    place: "Figure 7",
    title: "granularity for the Kingston DTI (SR, RR, SW)",
    expected: State::NotReproduced,
    inputs: &[DTI, SEED],
    run: dti,
};

const KIB: i64 = 1 << 10;

const WHOLE_PAGES: &str = "a page of the simulated buffer is a flash page of 16 KiB: a random write of 4 KB occupies as much as one of \
                          16 KB, and delays as much work";

const FIVE: &str =
    "in Table 3 a random write takes 5 ms, 12 to 17 times as much as the other IOs (.3 and .4 ms)";

const GATHERED: &str = "the simulated drive collects sequential writes until a page of 32 KiB is complete: their cost is that of their bytes and \
                       of the request. On the paper's drive, each part of a page has a cost";

const IN_TABLE_3: &str =
    "\"around 260 msec\" is 256 ms in Table 3, to which the simulated drive is fitted";

/// Measures the micro-benchmark granularity.
fn sizes(drive: &'static str, run: &Run<'_>) -> Result<Arc<Measurement>, Error> {
    measure(drive, &[Part::all("granularity")], run)
}

fn at(found: &Measurement, of: Baseline, kib: i64) -> f64 {
    found.mean("granularity", of.name(), kib * KIB)
}

/// Returns the fixed cost per IO of a baseline in us: the intercept of the line through its means.
fn latency(found: &Measurement, of: Baseline) -> f64 {
    let evidence = found.facts.hints.iter().flat_map(|hint| &hint.evidence);
    let mut latencies =
        evidence.filter(|e| e.unit == EvidenceUnit::Nanoseconds && e.experiment == of.name());
    latencies.next().map_or(f64::NAN, |evidence| evidence.value.value / 1e3)
}

/// Plots the means of baselines by IO size.
pub(super) fn figure(title: &str, found: &Measurement, of: &[Baseline]) -> Figure {
    #[allow(clippy::cast_precision_loss, reason = "IO sizes are far below 2^53 bytes")]
    let kib = |(size, ms): (i64, f64)| [size as f64 / 1024.0, ms];
    let series = |of: &Baseline| {
        let means = found.means("granularity", of.name());
        Series::line(of.name(), means.into_iter().map(kib).collect())
    };
    Figure {
        title: title.into(),
        x: Axis::log("IO size (KiB)"),
        y: Axis::log("response time (ms)"),
        series: of.iter().map(series).collect(),
    }
}

fn memoright(run: &Run<'_>) -> Result<Outcome, Error> {
    use Baseline::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};
    let found = sizes(MEMORIGHT.name, run)?;
    let mut claims = Vec::new();
    for (of, us) in [(SequentialRead, 70.0), (SequentialWrite, 70.0), (RandomRead, 115.0)] {
        let what = format!("{}: latency", of.name());
        claims.push(Claim::within((what, "us"), us, latency(&found, of), OFF));
        let doubled = (at(&found, of, 256) - at(&found, of, 128))
            / (at(&found, of, 128) - at(&found, of, 64));
        let what = format!("{}: step from 128 to 256 KB relative to 64 to 128 KB", of.name());
        claims.push(Claim::within((what, ""), 2.0, doubled, 2.0 * OFF));
    }
    let large = [32, 64, 128, 256].map(|kib| at(&found, RandomWrite, kib));
    let [least, _] = range(large);
    claims.push(Claim::statement(
        "for rather large random writes, the response time is much higher, at least 5 msec",
        format!("{least:.2} ms from 32 KB on"),
        least >= 5.0 * (1.0 - OFF),
    ));
    claims.push(alternates(&found));
    let rw = |kib| at(&found, RandomWrite, kib);
    for (kib, count) in [(8, 2.0), (4, 4.0)] {
        let what = format!("{count} random writes of {kib} KB relative to one of 16 KB");
        let together = count * rw(kib) / rw(16);
        claims.push(Claim::within((what, ""), 1.0, together, 2.0 * OFF).not_reproduced_by(
            count,
            Tolerance::Share(2.0 * OFF),
            WHOLE_PAGES,
        ));
    }
    let others =
        [SequentialRead, RandomRead, SequentialWrite].map(|of| rw(32) / at(&found, of, 32));
    let [_, factor] = range(others);
    claims.push(Claim::within(("slowdown of random writes", ""), 5.0, factor, OFF).print_wrong_by(
        16.7,
        Tolerance::Share(2.0 * OFF),
        FIVE,
    ));
    Ok(Outcome { claims, figures: vec![figure("Memoright SSD", &found, &Baseline::ALL)] })
}

/// Checks that random writes alternate between fast writes, like sequential writes, and slow
/// writes.
fn alternates(found: &Measurement) -> Claim {
    let times = found.times("granularity", "RW", Some(32 * KIB));
    let fast = 2.0 * at(found, Baseline::SequentialWrite, 32);
    let share = times.iter().filter(|time| **time <= fast).count() as f64 / times.len() as f64;
    let [_, slowest] = range(times.iter().copied());
    Claim::statement(
        "random writes alternate between cheap ones, of similar cost to sequential writes, and extremely expensive ones (tens \
         of ms)",
        format!("{:.0} % are fast, and the slowest takes {slowest:.0} ms", 100.0 * share),
        share > 0.25 && slowest >= 10.0,
    )
}

fn dti(run: &Run<'_>) -> Result<Outcome, Error> {
    use Baseline::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};
    let found = sizes(DTI.name, run)?;
    let small = [1, 2, 4, 8, 16].map(|kib| at(&found, SequentialWrite, kib));
    let whole = at(&found, SequentialWrite, 32);
    let [_, slowest] = range(small);
    let request = run.profile(DTI.name)?.interface.request_overhead.as_secs_f64() * 1e3;
    let by_byte = at(&found, SequentialWrite, 16) / (0.5 * (whole + request));
    let [least, most] = range([4, 8, 16, 32].map(|kib| at(&found, RandomWrite, kib)));
    let slower = [SequentialRead, RandomRead, SequentialWrite]
        .map(|of| at(&found, RandomWrite, 32) / at(&found, of, 32));
    let slower = range(slower);
    let claims = vec![
        Claim::statement(
            "smaller sequential writes incur a significantly higher cost than writes of 32KB",
            format!("up to {slowest:.2} ms, {whole:.2} ms for 32 KB"),
            slowest > 1.25 * whole,
        )
        .not_reproduced_if((0.8..1.25).contains(&by_byte), GATHERED),
        Claim::within(("random writes of 32 KB", "ms"), 260.0, at(&found, RandomWrite, 32), OFF)
            .print_wrong_by(256.0, Tolerance::Share(OFF), IN_TABLE_3),
        Claim::statement(
            "the response time of random writes is a rather constant value",
            format!("{least:.0} to {most:.0} ms from 4 to 32 KB"),
            most < 1.25 * least,
        ),
        Claim::statement(
            "random writes are one or two orders of magnitude slower",
            format!("{:.0} to {:.0} times", slower[0], slower[1]),
            slower[0] >= 10.0 && slower[1] < 1000.0,
        ),
    ];
    let shown = [SequentialRead, RandomRead, SequentialWrite];
    Ok(Outcome { claims, figures: vec![figure("Kingston DTI", &found, &shown)] })
}
