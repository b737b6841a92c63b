use flashscope_block::{Data, Io, Nanos};
use flashscope_workload::Stream as _;

use super::PAGE;
use super::workloads::{NOT_PUBLIC, REWRITES, postmark_files, two_reads_per_write};
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

/// The mean response time in us, and the pages moved by cleaning.
type Point = [f64; 2];

/// The time between two requests of a package: a drive of eight packages serves 300 per second
/// (section 4.3).
const GAP: u64 = 26_666_667;

/// Two reads of 8 KiB per write, at random addresses.
fn tpc_c(bed: &mut TestBed) -> Result<f64, Error> {
    let pages = bed.capacity() / PAGE;
    let mut random = fastrand::Rng::with_seed(8);
    bed.open_loop(
        (0..4 * pages).map(|index| two_reads_per_write(&mut random, pages, Nanos(index * GAP))),
    )
}

/// The writes of PostMark.
fn postmark(bed: &mut TestBed) -> Result<f64, Error> {
    let mut files = postmark_files(bed)?;
    let requests = 2 * bed.capacity() / PAGE;
    let mut writes = (0..requests)
        .map_while(|index| files.next(Nanos(0)).map(|io| Io { at: Nanos(index * GAP), ..io }));
    bed.open_loop(&mut writes)
}

/// A workload that replaces a trace. Returns its mean response time in us.
type Replacement = fn(&mut TestBed) -> Result<f64, Error>;

const REPLACEMENTS: [(&str, Replacement); 2] = [("TPC-C", tpc_c), ("Postmark", postmark)];

fn at(threshold: f64, workload: Replacement, run: &Run<'_>) -> Result<Point, Error> {
    run.check_interrupt()?;
    let mut profile = run.profile("drive")?;
    profile.cleaning.free_threshold = threshold;
    let mut bed = TestBed::filled(&profile, Data::Random)?;
    let before = bed.drive.counters();
    let took = workload(&mut bed)?;
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 pages")]
    let moved = bed.drive.counters().since(&before).pages_moved() as f64;
    Ok([took, moved])
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut times, mut moves) = (Vec::new(), Vec::new(), Vec::new());
    let mut most_moved = 0.0_f64;
    for (name, workload) in REPLACEMENTS {
        let points = THRESHOLDS.iter().map(|threshold| at(*threshold, workload, run));
        let points = points.collect::<Result<Vec<_>, Error>>()?;
        let rises = |of: usize| points.windows(2).all(|pair| pair[0][of] < pair[1][of]);
        let (first, last) = (points[0], points[THRESHOLDS.len() - 1]);
        most_moved = most_moved.max(first[1]);
        let measured = format!(
            "{name}: {:.0} to {:.0} us, {:.0} to {:.0} pages moved",
            first[0], last[0], first[1], last[1]
        );
        claims.push(
            match name {
                "TPC-C" => Claim::statement(
                    "the access latencies increase in TPC-C with the threshold",
                    measured,
                    rises(0) && rises(1),
                ),
                _ => Claim::statement(
                    "other workloads show little difference",
                    measured,
                    (last[0] / first[0] - 1.0).abs() < 0.02 && last[1] < most_moved / 10.0,
                ),
            }
            .on_substitute(NOT_PUBLIC)
            .not_reproduced_if(name == "Postmark", REWRITES),
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
