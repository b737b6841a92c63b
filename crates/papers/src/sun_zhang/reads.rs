use flashscope_block::Data;

use super::{DRIVE, PAGE, READ_OFF, SEED, TRIALS, beside, cumulative, share};
use crate::bed::Bed;
use crate::times::{mean, median};
use crate::{Axis, Claim, Error, Figure, Found, Item, Paper, Run, Series, State};

/// Section 3.3.
pub const FIGURE_2: Item = Item {
    id: "sun-zhang-figure2",
    paper: Paper::SunZhang,
    place: "Figure 2",
    title: "random reads over the whole drive",
    stands: State::Pass,
    inputs: &[DRIVE],
    run: full_range,
};

/// Section 3.3.
pub const FIGURE_3: Item = Item {
    id: "sun-zhang-figure3",
    paper: Paper::SunZhang,
    place: "Figure 3",
    title: "sequential reads, cumulative",
    stands: State::Pass,
    inputs: &[DRIVE],
    run: in_order,
};

/// Section 4.1.
pub const FIGURE_7: Item = Item {
    id: "sun-zhang-figure7",
    paper: Paper::SunZhang,
    place: "Figure 7",
    title: "random reads by the distance from the one before",
    stands: State::Pass,
    inputs: &[DRIVE],
    run: by_distance,
};

/// Section 4.1.
pub const FIGURE_8: Item = Item {
    id: "sun-zhang-figure8",
    paper: Paper::SunZhang,
    place: "Figure 8",
    title: "random reads within a group",
    stands: State::Pass,
    inputs: &[DRIVE],
    run: in_group,
};

/// Response times that are printed, ms: of a read within the group of the one before, and in another.
const WITHIN: f64 = 0.75;
const ACROSS: f64 = 1.0;

/// Groups of the drive (section 4.1).
const GROUPS: u64 = 4;

const MIB: f64 = 1_048_576.0;

/// Random reads of the first `space` bytes: each place with what it took, ms.
fn random(bed: &mut Bed, space: u64, run: &Run<'_>) -> Result<Vec<(u64, f64)>, Error> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut reads = Vec::new();
    for _ in 0..TRIALS {
        run.go_on()?;
        let offset = random.u64(..space / PAGE) * PAGE;
        reads.push((offset, bed.read(offset)?));
    }
    Ok(reads)
}

fn times(reads: &[(u64, f64)]) -> Vec<f64> {
    reads.iter().map(|(_, time)| *time).collect()
}

fn full_range(run: &Run<'_>) -> Result<Found, Error> {
    let mut bed = Bed::filled(&run.profile("drive")?, Data::Random)?;
    let space = bed.capacity();
    let times = times(&random(&mut bed, space, run)?);
    let near = |at: f64| share(&times, at * (1.0 - READ_OFF), at * (1.0 + READ_OFF));
    let both = near(WITHIN) + near(ACROSS);
    let claims = vec![
        Claim::statement(
            "most of which are either around 1ms or around 0.75ms",
            format!("{:.1} % of reads within 5 % of one of these", 100.0 * both),
            both > 0.9 && near(WITHIN) > 0.1 && near(ACROSS) > 0.1,
        ),
        Claim::close(("a read that takes longer", "ms"), ACROSS, slower(&times), READ_OFF),
    ];
    let figure = Figure {
        title: "Random reads of 4 KiB over the whole drive".into(),
        x: Axis::linear("trial"),
        y: Axis::linear("response time (ms)"),
        series: beside("reads", &times, &[WITHIN, ACROSS]),
    };
    Ok(Found { claims, figures: vec![figure] })
}

/// The median of those that take longer than the mean.
fn slower(times: &[f64]) -> f64 {
    let mean = mean(times);
    median(&times.iter().copied().filter(|time| *time > mean).collect::<Vec<_>>())
}

fn in_order(run: &Run<'_>) -> Result<Found, Error> {
    let mut bed = Bed::filled(&run.profile("drive")?, Data::Random)?;
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
        x: Axis::linear("read so far (KiB)"),
        y: Axis::linear("time so far (ms)"),
        series: vec![
            Series::line("sequential", points),
            Series::line("random", cumulative(&at_random, 4.0)),
        ],
    };
    Ok(Found { claims, figures: vec![figure] })
}

/// How straight a line is: the correlation coefficient.
pub(super) fn linearity(points: &[[f64; 2]]) -> f64 {
    let of = |axis: usize| mean(&points.iter().map(|point| point[axis]).collect::<Vec<_>>());
    let (x, y) = (of(0), of(1));
    let sum = |f: &dyn Fn(&[f64; 2]) -> f64| points.iter().map(f).sum::<f64>();
    let both = sum(&|point| (point[0] - x) * (point[1] - y));
    both / (sum(&|point| (point[0] - x).powi(2)) * sum(&|point| (point[1] - y).powi(2))).sqrt()
}

fn by_distance(run: &Run<'_>) -> Result<Found, Error> {
    let mut bed = Bed::filled(&run.profile("drive")?, Data::Random)?;
    let space = bed.capacity();
    let reads = random(&mut bed, space, run)?;
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let distance = |pair: &[(u64, f64)]| [pair[1].0.abs_diff(pair[0].0) as f64 / MIB, pair[1].1];
    let points: Vec<[f64; 2]> = reads.windows(2).map(distance).collect();
    // Of four groups the farthest within one are 240 MB apart, which is the paper's 240 MB.
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let group = space as f64 / MIB / 4.0;
    let where_ = |near: bool| -> Vec<f64> {
        let points = points.iter().filter(|point| (point[0] < group) == near);
        points.map(|point| point[1]).collect()
    };
    let far = where_(false);
    // Reads that are near each other lie in one group the more often the nearer they are.
    let nearest: Vec<f64> =
        points.iter().filter(|point| point[0] < group / 4.0).map(|point| point[1]).collect();
    let knee = points.iter().filter(|point| point[1] < middle()).map(|point| point[0]);
    let claims = vec![
        Claim::close(("reads near the one before", "ms"), WITHIN, median(&nearest), READ_OFF),
        Claim::close(("reads farther away", "ms"), ACROSS, median(&far), READ_OFF),
        Claim::close(
            ("distance up to which reads are cheap", "MB"),
            240.0,
            knee.fold(0.0, f64::max),
            READ_OFF,
        ),
        Claim::statement(
            "If any read needs to access a segment in a different group from the current one, there is an extra switch \
             time",
            format!(
                "{:.1} % of reads farther away take it",
                100.0 * share(&far, middle(), f64::MAX)
            ),
            share(&far, middle(), f64::MAX) > 0.99,
        ),
    ];
    let figure = Figure {
        title: "Random reads by the distance from the one before".into(),
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
    Ok(Found { claims, figures: vec![figure] })
}

/// Between both, ms.
fn middle() -> f64 {
    f64::midpoint(WITHIN, ACROSS)
}

fn in_group(run: &Run<'_>) -> Result<Found, Error> {
    let mut bed = Bed::filled(&run.profile("drive")?, Data::Random)?;
    let group = bed.capacity() / GROUPS;
    // The first read may come from another group.
    bed.read(0)?;
    let times = times(&random(&mut bed, group, run)?);
    let cheap = share(&times, 0.0, WITHIN * (1.0 + READ_OFF));
    let claims = vec![
        Claim::statement(
            "Nearly all the random reads cost around 0.75ms or less",
            format!("{:.1} % take at most 5 % more", 100.0 * cheap),
            cheap > 0.95,
        ),
        Claim::close(("a read within the group", "ms"), WITHIN, median(&times), READ_OFF),
    ];
    let figure = Figure {
        title: "Random reads of 4 KiB within a group".into(),
        x: Axis::linear("trial"),
        y: Axis::linear("response time (ms)"),
        series: beside("reads", &times, &[WITHIN]),
    };
    Ok(Found { claims, figures: vec![figure] })
}
