use flashscope_block::{Bytes, Data, Io, Nanos, Op};

use super::PAGE;
use super::workloads::NOT_PUBLIC;
use crate::test_bed::TestBed;
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Figure 8, in section 4.3.
pub(crate) const FIGURE_8: Item = Item {
    id: "agrawal-figure8",
    paper: Paper::Agrawal,
    place: "Figure 8",
    title: "impact of minimum free blocks, with other workloads than the traces, on one plane",
    expected: State::NotReproduced,
    inputs: &[Input {
        name: "drive",
        summary: "the simulated drive: a plane of the baseline",
        value: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=512&\
                persistence.map=nv-ram",
        other: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=512&\
                persistence.map=nv-ram&flash.page_program=400us",
    }],
    run,
};

const THRESHOLDS: [f64; 5] = [0.02, 0.04, 0.06, 0.08, 0.1];

/// A function of the random numbers, the number of pages and the index of a write. Returns the page
/// to write.
type Place = fn(&mut fastrand::Rng, u64, u64) -> u64;

const PLACES: [(&str, Place); 2] = [
    ("random writes, as TPC-C", |random, pages, _| random.u64(..pages)),
    ("sequential writes, as IOzone and Postmark", |_, pages, index| index % pages),
];

/// Returns the mean response time in us, and the pages moved, of 100 writes per second.
fn at(threshold: f64, place: Place, run: &Run<'_>) -> Result<[f64; 2], Error> {
    run.check_interrupt()?;
    let mut profile = run.profile("drive")?;
    profile.cleaning.free_threshold = threshold;
    let mut bed = TestBed::filled(&profile, Data::Random)?;
    let (pages, mut random) = (bed.capacity() / PAGE, fastrand::Rng::with_seed(8));
    let before = bed.drive.counters();
    let took = bed.open_loop((0..4 * pages).map(|index| Io {
        op: Op::Write,
        stream: 0,
        offset: Bytes(place(&mut random, pages, index) * PAGE),
        len: Bytes(PAGE),
        at: Nanos(index * 10_000_000),
        data: Data::Random,
    }))?;
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 pages")]
    let moved = bed.drive.counters().since(&before).pages_moved() as f64;
    Ok([took, moved])
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut times, mut moves) = (Vec::new(), Vec::new(), Vec::new());
    for (name, place) in PLACES {
        let points = THRESHOLDS.iter().map(|threshold| at(*threshold, place, run));
        let points = points.collect::<Result<Vec<_>, Error>>()?;
        let rises = |of: usize| points.windows(2).all(|pair| pair[0][of] < pair[1][of]);
        let (first, last) = (points[0], points[THRESHOLDS.len() - 1]);
        let measured = format!(
            "{name}: {:.0} to {:.0} us, {:.0} to {:.0} pages moved",
            first[0], last[0], first[1], last[1]
        );
        claims.push(
            match name.starts_with("random") {
                true => Claim::statement(
                    "the access latencies increase in TPC-C with the threshold",
                    measured,
                    rises(0) && rises(1),
                ),
                false => Claim::statement(
                    "other workloads show little difference",
                    measured,
                    (last[0] / first[0] - 1.0).abs() < 0.01 && last[1] == 0.0,
                ),
            }
            .on_substitute(NOT_PUBLIC),
        );
        let curve = |of: usize| {
            THRESHOLDS.iter().zip(&points).map(|(at, point)| [100.0 * at, point[of]]).collect()
        };
        times.push(Series::line(name, curve(0)));
        moves.push(Series::line(name, curve(1)));
    }
    let figure = |title: &str, y, series| Figure {
        title: title.into(),
        x: Axis::linear("minimum free blocks (%)"),
        y: Axis::linear(y),
        series,
    };
    let figures = vec![
        figure("Response time by threshold", "mean response time (us)", times),
        figure("Pages moved by threshold", "pages moved", moves),
    ];
    Ok(Outcome { claims, figures })
}
