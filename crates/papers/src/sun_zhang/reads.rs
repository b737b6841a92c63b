use flashscope_block::Data;

use super::{DRIVE, PAGE, READ_OFF, SEED, TRIALS, cumulative, share, trials};
use crate::test_bed::TestBed;
use crate::times::{mean, median};
use crate::{Axis, Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State};

/// Figure 2, in section 3.3.
pub(crate) const FIGURE_2: Item = Item {
    id: "sun-zhang-figure2",
    paper: Paper::SunZhang,
    place: "Figure 2",
    title: "random reads over the whole drive",
    expected: State::AsPrinted,
    inputs: &[DRIVE],
    run: full_range,
};

/// Figure 3, in section 3.3.
pub(crate) const FIGURE_3: Item = Item {
    id: "sun-zhang-figure3",
    paper: Paper::SunZhang,
    place: "Figure 3",
    title: "sequential reads, cumulative",
    expected: State::AsPrinted,
    inputs: &[DRIVE],
    run: in_order,
};

/// Figure 7, in section 4.1.
pub(crate) const FIGURE_7: Item = Item {
    id: "sun-zhang-figure7",
    paper: Paper::SunZhang,
    place: "Figure 7",
    title: "random reads by the distance from the previous read",
    expected: State::AsPrinted,
    inputs: &[DRIVE],
    run: by_distance,
};

/// Figure 8, in section 4.1.
pub(crate) const FIGURE_8: Item = Item {
    id: "sun-zhang-figure8",
    paper: Paper::SunZhang,
    place: "Figure 8",
    title: "random reads within a group",
    expected: State::AsPrinted,
    inputs: &[DRIVE],
    run: in_group,
};

/// Printed response times in ms of a read within the group of the previous read, and in another
/// group.
const WITHIN: f64 = 0.75;
const ACROSS: f64 = 1.0;

/// The number of groups of the drive (section 4.1).
const GROUPS: u64 = 4;

const MIB: f64 = 1_048_576.0;

/// Reads at random within the first `space` bytes. Returns each address with its response time in
/// ms.
fn random(bed: &mut TestBed, space: u64, run: &Run<'_>) -> Result<Vec<(u64, f64)>, Error> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut reads = Vec::new();
    for _ in 0..TRIALS {
        run.check_interrupt()?;
        let offset = random.u64(..space / PAGE) * PAGE;
        reads.push((offset, bed.read(offset)?));
    }
    Ok(reads)
}

fn times(reads: &[(u64, f64)]) -> Vec<f64> {
    reads.iter().map(|(_, time)| *time).collect()
}

fn full_range(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let space = bed.capacity();
    let times = times(&random(&mut bed, space, run)?);
    let near = |at: f64| share(&times, at * (1.0 - READ_OFF), at * (1.0 + READ_OFF));
    let both = near(WITHIN) + near(ACROSS);
    let claims = vec![
        Claim::statement(
            "most of which are either around 1ms or around 0.75ms",
            format!("{:.1} % of reads are within 5 % of one of these", 100.0 * both),
            both > 0.9 && near(WITHIN) > 0.1 && near(ACROSS) > 0.1,
        ),
        Claim::within(("a slow read", "ms"), ACROSS, slower(&times), READ_OFF),
    ];
    let figure = Figure {
        title: "Random reads of 4 KiB over the whole drive".into(),
        x: Axis::linear("trial"),
        y: Axis::linear("response time (ms)"),
        series: trials("reads", &times, &[WITHIN, ACROSS]),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Returns the median of the times above the mean.
fn slower(times: &[f64]) -> f64 {
    let mean = mean(times);
    median(&times.iter().copied().filter(|time| *time > mean).collect::<Vec<_>>())
}

fn in_order(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let mut in_order = Vec::new();
    for nth in 0..u64::from(TRIALS) {
        in_order.push(bed.read(nth * PAGE)?);
    }
    let space = bed.capacity();
    let at_random = times(&random(&mut bed, space, run)?);
    let points = cumulative(&in_order, 4.0);
    let ratio = mean(&at_random) / mean(&in_order);
    let claims = vec![
        Claim::statement(
            "the total time cost increases linearly along with the number of reads",
            format!("the correlation of time and number is {:.5}", linearity(&points)),
            linearity(&points) > 0.999,
        ),
        Claim::statement(
            "there is no much difference between the total costs of random read and sequential read of 4KB data \
             for 1000 times",
            format!("random reads take {ratio:.2} times as long"),
            ratio < 1.5,
        ),
    ];
    let figure = Figure {
        title: "Sequential reads of 4 KiB".into(),
        x: Axis::linear("data read (KiB)"),
        y: Axis::linear("elapsed time (ms)"),
        series: vec![
            Series::line("sequential", points),
            Series::line("random", cumulative(&at_random, 4.0)),
        ],
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Returns the correlation coefficient, which is 1 for a straight line.
pub(super) fn linearity(points: &[[f64; 2]]) -> f64 {
    let of = |axis: usize| mean(&points.iter().map(|point| point[axis]).collect::<Vec<_>>());
    let (x, y) = (of(0), of(1));
    let sum = |f: &dyn Fn(&[f64; 2]) -> f64| points.iter().map(f).sum::<f64>();
    let both = sum(&|point| (point[0] - x) * (point[1] - y));
    both / (sum(&|point| (point[0] - x).powi(2)) * sum(&|point| (point[1] - y).powi(2))).sqrt()
}

fn by_distance(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let space = bed.capacity();
    let reads = random(&mut bed, space, run)?;
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let distance = |pair: &[(u64, f64)]| [pair[1].0.abs_diff(pair[0].0) as f64 / MIB, pair[1].1];
    let points: Vec<[f64; 2]> = reads.windows(2).map(distance).collect();
    // A quarter of the drive is the largest distance within a group: the paper's 240 MB.
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let group = space as f64 / MIB / 4.0;
    let times_by = |near: bool| -> Vec<f64> {
        let points = points.iter().filter(|point| (point[0] < group) == near);
        points.map(|point| point[1]).collect()
    };
    let far = times_by(false);
    // Close reads are usually in the same group, but not always.
    let nearest: Vec<f64> =
        points.iter().filter(|point| point[0] < group / 4.0).map(|point| point[1]).collect();
    let knee = points.iter().filter(|point| point[1] < middle()).map(|point| point[0]);
    let claims = vec![
        Claim::within(("reads near the previous read", "ms"), WITHIN, median(&nearest), READ_OFF),
        Claim::within(("reads farther away", "ms"), ACROSS, median(&far), READ_OFF),
        Claim::within(
            ("largest distance of a fast read", "MB"),
            240.0,
            knee.fold(0.0, f64::max),
            READ_OFF,
        ),
        Claim::statement(
            "If any read needs to access a segment in a different group from the current one, there is an extra switch \
             time",
            format!("{:.1} % of distant reads are slower", 100.0 * share(&far, middle(), f64::MAX)),
            share(&far, middle(), f64::MAX) > 0.99,
        ),
    ];
    let figure = Figure {
        title: "Random reads by the distance from the previous read".into(),
        x: Axis::linear("distance (MiB)"),
        y: Axis::linear("response time (ms)"),
        series: vec![
            Series::dots("reads", points.clone()),
            Series::printed_level(format!("{WITHIN} ms up to 240 MB"), WITHIN, [0.0, 240.0]),
            Series::printed_level(
                format!("{ACROSS} ms beyond"),
                ACROSS,
                [240.0, points.iter().map(|point| point[0]).fold(240.0, f64::max)],
            ),
        ],
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// The middle between the times within and across groups, in ms.
fn middle() -> f64 {
    f64::midpoint(WITHIN, ACROSS)
}

fn in_group(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let group = bed.capacity() / GROUPS;
    // This read may switch the group, and is not timed.
    bed.read(0)?;
    let times = times(&random(&mut bed, group, run)?);
    let cheap = share(&times, 0.0, WITHIN * (1.0 + READ_OFF));
    let claims = vec![
        Claim::statement(
            "Nearly all the random reads cost around 0.75ms or less",
            format!("{:.1} % take at most 0.79 ms", 100.0 * cheap),
            cheap > 0.95,
        ),
        Claim::within(("a read within the group", "ms"), WITHIN, median(&times), READ_OFF),
    ];
    let figure = Figure {
        title: "Random reads of 4 KiB within a group".into(),
        x: Axis::linear("trial"),
        y: Axis::linear("response time (ms)"),
        series: trials("reads", &times, &[WITHIN]),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}
