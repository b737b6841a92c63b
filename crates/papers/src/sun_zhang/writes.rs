use flashscope_block::Data;

use super::reads::linearity;
use super::{DRIVE, PAGE, READ_OFF, SEED, TRIALS, cumulative, share, trials};
use crate::test_bed::TestBed;
use crate::times::{mean, median, range};
use crate::{
    Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State, Tolerance,
};

/// Figure 4, in section 3.3.
pub(crate) const FIGURE_4: Item = Item {
    id: "sun-zhang-figure4",
    paper: Paper::SunZhang,
    place: "Figure 4",
    title: "random writes over the whole drive",
    expected: State::AsPrinted,
    inputs: &[
        DRIVE,
        Input {
            name: "zeros",
            summary: "the share of the drive that held zeros before, which the paper does not give",
            value: "0.05",
            other: "0.9",
        },
    ],
    run: at_random,
};

/// Figure 5, in section 3.3.
pub(crate) const FIGURE_5: Item = Item {
    id: "sun-zhang-figure5",
    paper: Paper::SunZhang,
    place: "Figures 5 and 6",
    title: "sequential writes, individual and cumulative",
    expected: State::PrintWrong,
    inputs: &[DRIVE],
    run: in_order,
};

/// Printed times in ms of a write that merges a segment, of a write that merges a segment of zeros,
/// and of a write without a merge.
const MERGE: f64 = 120.0;
const ZEROS: f64 = 30.0;
const WRITE: f64 = 2.0;

const ONE_TIME: &str = "the paper gives three values for the same quantity: 2 ms (random writes), 1.5 ms (sequential ones) and 2.6 ms (Table 2); \
                       the simulated drive has one of them, 2 ms";

/// The number of sequential writes between two writes that merge.
const BETWEEN: u32 = 63;

/// Blocks of 4 KB in a segment.
pub(super) const SEGMENT: u64 = 64;

fn at_random(run: &Run<'_>) -> Result<Outcome, Error> {
    let profile = run.profile("drive")?;
    let zeros: f64 = run.number("zeros")?;
    let mut bed = TestBed::filled(&profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to the number of pages"
    )]
    let empty = (pages as f64 * zeros.clamp(0.0, 1.0)) as u64;
    for page in (0..empty).step_by(30) {
        bed.time(
            flashscope_block::Op::Write,
            Data::Zeros,
            page * PAGE,
            30.min(empty - page) * PAGE,
        )?;
    }
    let (mut random, mut times) = (fastrand::Rng::with_seed(SEED), Vec::new());
    for _ in 0..TRIALS {
        run.check_interrupt()?;
        times.push(bed.write(Data::Random, random.u64(..pages) * PAGE)?);
    }
    let near = |at: f64| share(&times, 0.8 * at, 1.2 * at);
    let around = |at: f64| {
        median(
            &times
                .iter()
                .copied()
                .filter(|time| (0.8 * at..1.2 * at).contains(time))
                .collect::<Vec<_>>(),
        )
    };
    let few = times.iter().filter(|time| **time < 2.0 * WRITE).count();
    let claims = vec![
        Claim::within(("the median random write", "ms"), MERGE, median(&times), READ_OFF),
        Claim::within(("a random write that merges a segment of zeros", "ms"), ZEROS, around(ZEROS), READ_OFF),
        Claim::statement(
            "Much of the random writes take around 120ms which is very large compared with that only a few writes \
             costing only 30ms",
            format!("{:.1} % around 120 ms, {:.1} % around 30 ms", 100.0 * near(MERGE), 100.0 * near(ZEROS)),
            near(MERGE) > 0.5 && near(ZEROS) < near(MERGE) && near(ZEROS) > 0.0,
        ),
        Claim::statement(
            "There is even a few writes which only take around 2ms",
            format!("{few} of {TRIALS} take less than 4 ms"),
            few > 0,
        )
        .not_reproduced_if(
            profile.log.blocks.saturating_mul(TRIALS) < 2 * profile.flash.blocks_per_plane,
            "with a log list of 3 and 3840 segments, one random write in 1280 addresses a segment with a log block",
        ),
    ];
    let figure = Figure {
        title: "Random writes of 4 KiB over the whole drive".into(),
        x: Axis::linear("trial"),
        y: Axis::linear("response time (ms)"),
        series: trials("writes", &times, &[MERGE, ZEROS, WRITE]),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

fn in_order(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let mut times = Vec::new();
    for nth in 0..u64::from(TRIALS) {
        times.push(bed.write(Data::Random, (10 * SEGMENT + nth) * PAGE)?);
    }
    let (slow, fast): (Vec<f64>, Vec<f64>) = times.iter().partition(|time| **time > 10.0 * WRITE);
    let at: Vec<u32> = (1_u32..)
        .zip(&times)
        .filter(|(_, time)| **time > 10.0 * WRITE)
        .map(|(nth, _)| nth)
        .collect();
    let gaps: Vec<f64> = at.windows(2).map(|pair| f64::from(pair[1] - pair[0] - 1)).collect();
    let [least, most] = range(gaps);
    let sums = cumulative(&times, 4.0);
    let claims = vec![
        Claim::within(("the slow writes", "ms"), MERGE, mean(&slow), READ_OFF),
        Claim::within(("all others", "ms"), 1.5, mean(&fast), READ_OFF).print_wrong_by(
            WRITE,
            Tolerance::Share(0.1),
            ONE_TIME,
        ),
        Claim::exact("fast writes between two slow ones, minimum", f64::from(BETWEEN), least),
        Claim::exact("fast writes between two slow ones, maximum", f64::from(BETWEEN), most),
        Claim::statement(
            "the total cost increases linearly and there are also intervals with size of 64*4KB",
            format!("the correlation of time and size is {:.4}", linearity(&sums)),
            linearity(&sums) > 0.99,
        ),
    ];
    let axis = |label| Axis::linear(label);
    let each = Figure {
        title: "Sequential writes of 4 KiB".into(),
        x: axis("trial"),
        y: axis("response time (ms)"),
        series: trials("writes", &times, &[MERGE, 1.5]),
    };
    let all = Figure {
        title: "Sequential writes of 4 KiB, cumulative".into(),
        x: axis("data written (KiB)"),
        y: axis("elapsed time (ms)"),
        series: vec![Series::line("writes", sums)],
    };
    Ok(Outcome { claims, figures: vec![each, all] })
}
