use flashscope_document::facts::EvidenceUnit;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measured, Method, measure};
use super::{DTI, MEMORIGHT, OFF, SEED};
use crate::times::range;
use crate::{Axis, Claim, Error, Figure, Found, Item, Paper, Run, Series, State, Tolerance};

/// Section 5.2, effect of granularity.
pub const FIGURE_6: Item = Item {
    id: "uflip-figure6",
    paper: Paper::Uflip,
    place: "Figure 6",
    title: "granularity for the Memoright SSD",
    stands: State::Explained,
    inputs: &[MEMORIGHT, SEED],
    run: memoright,
};

/// Section 5.2, effect of granularity.
pub const FIGURE_7: Item = Item {
    id: "uflip-figure7",
    paper: Paper::Uflip,
    place: "Figure 7",
    title: "granularity for the Kingston DTI (SR, RR, SW)",
    stands: State::Explained,
    inputs: &[DTI, SEED],
    run: dti,
};

const KIB: i64 = 1 << 10;

const WHOLE_PAGES: &str = "a page of the simulated buffer is one of the flash, 16 KiB: a random write of 4 KB takes up what one of \
                           16 KB does, and is put off as long";

const FIVE: &str =
    "by Table 3 a random write takes 5 ms, where others take .3 and .4 ms: 12 to 17 times as much";

const GATHERED: &str = "the simulated drive gathers writes in order until a page of 32 KiB is whole: they cost what their bytes do, and \
                        the request. The drive of the paper pays for each part of a page";

const IN_TABLE_3: &str =
    "\"around 260 msec\" are 256 ms in Table 3, which the simulated drive is fitted to";

/// Mean response times by IO size.
fn sizes(drive: &'static str, run: &Run<'_>) -> Result<Measured, Error> {
    measure(drive, Method::few(run), |benchmark, _, _| benchmark == "granularity", run)
}

fn at(found: &Measured, of: Baseline, kib: i64) -> f64 {
    found.mean("granularity", of.name(), kib * KIB)
}

/// What a baseline costs beside its bytes, us: of the line through its means.
fn latency(found: &Measured, of: Baseline) -> f64 {
    let evidence = found.facts.hints.iter().flat_map(|hint| &hint.evidence);
    let mut latencies =
        evidence.filter(|e| e.unit == EvidenceUnit::Nanoseconds && e.experiment == of.name());
    latencies.next().map_or(f64::NAN, |found| found.value.value / 1e3)
}

/// Means of baselines by IO size.
pub(super) fn figure(title: &str, found: &Measured, of: &[Baseline]) -> Figure {
    #[allow(clippy::cast_precision_loss, reason = "IO sizes")]
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

fn memoright(run: &Run<'_>) -> Result<Found, Error> {
    use Baseline::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};
    let found = sizes(MEMORIGHT.name, run)?;
    let mut claims = Vec::new();
    for (of, us) in [(SequentialRead, 70.0), (SequentialWrite, 70.0), (RandomRead, 115.0)] {
        let what = format!("{}: latency", of.name());
        claims.push(Claim::close((what, "us"), us, latency(&found, of), OFF));
        let doubled = (at(&found, of, 256) - at(&found, of, 128))
            / (at(&found, of, 128) - at(&found, of, 64));
        let what = format!("{}: 128 to 256 KB over 64 to 128 KB, linear", of.name());
        claims.push(Claim::close((what, ""), 2.0, doubled, 2.0 * OFF));
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
        let what = format!("{count} random writes of {kib} KB, over one of 16 KB");
        let together = count * rw(kib) / rw(16);
        claims.push(Claim::close((what, ""), 1.0, together, 2.0 * OFF).unless(
            count,
            Tolerance::Share(2.0 * OFF),
            WHOLE_PAGES,
        ));
    }
    let others =
        [SequentialRead, RandomRead, SequentialWrite].map(|of| rw(32) / at(&found, of, 32));
    let [_, factor] = range(others);
    claims.push(
        Claim::close(("random writes, times slower than others", ""), 5.0, factor, OFF).unless(
            16.7,
            Tolerance::Share(2.0 * OFF),
            FIVE,
        ),
    );
    Ok(Found { claims, figures: vec![figure("Memoright SSD", &found, &Baseline::ALL)] })
}

/// Whether random writes are as cheap as sequential ones by turns.
fn alternates(found: &Measured) -> Claim {
    let times = found.times("granularity", "RW", Some(32 * KIB));
    let cheap = 2.0 * at(found, Baseline::SequentialWrite, 32);
    let share = times.iter().filter(|time| **time <= cheap).count() as f64 / times.len() as f64;
    let [_, dearest] = range(times.iter().copied());
    Claim::statement(
        "random writes alternate between cheap ones, of similar cost to sequential writes, and extremely expensive ones (tens \
         of ms)",
        format!("{:.0} % are cheap, and the dearest takes {dearest:.0} ms", 100.0 * share),
        share > 0.25 && dearest >= 10.0,
    )
}

fn dti(run: &Run<'_>) -> Result<Found, Error> {
    use Baseline::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};
    let found = sizes(DTI.name, run)?;
    let small = [1, 2, 4, 8, 16].map(|kib| at(&found, SequentialWrite, kib));
    let whole = at(&found, SequentialWrite, 32);
    let [_, dearest] = range(small);
    let request = run.profile(DTI.name)?.interface.request_overhead.as_secs_f64() * 1e3;
    let by_byte = at(&found, SequentialWrite, 16) / (0.5 * (whole + request));
    let [least, most] = range([4, 8, 16, 32].map(|kib| at(&found, RandomWrite, kib)));
    let slower = [SequentialRead, RandomRead, SequentialWrite]
        .map(|of| at(&found, RandomWrite, 32) / at(&found, of, 32));
    let slower = range(slower);
    let claims = vec![
        Claim::statement(
            "smaller sequential writes incur a significantly higher cost than writes of 32KB",
            format!("up to {dearest:.2} ms, {whole:.2} ms for 32 KB"),
            dearest > 1.25 * whole,
        )
        .since((0.8..1.25).contains(&by_byte), GATHERED),
        Claim::close(("random writes of 32 KB", "ms"), 260.0, at(&found, RandomWrite, 32), OFF)
            .unless(256.0, Tolerance::Share(OFF), IN_TABLE_3),
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
    Ok(Found { claims, figures: vec![figure("Kingston DTI", &found, &shown)] })
}
