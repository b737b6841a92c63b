use flashscope_block::{Data, Op};

use super::writes::SEGMENT;
use super::{DRIVE, PAGE, READ_OFF, SEED};
use crate::test_bed::TestBed;
use crate::times::mean;
use crate::{Axis, Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State};

/// Figure 16, in section 4.4.
pub(crate) const FIGURE_16: Item = Item {
    id: "sun-zhang-figure16",
    paper: Paper::SunZhang,
    place: "Figures 16 and 17",
    title: "large reads compared with small ones, and per block",
    expected: State::PrintWrong,
    inputs: &[DRIVE],
    run: reads,
};

/// Figure 18, in section 4.4.
pub(crate) const FIGURE_18: Item = Item {
    id: "sun-zhang-figure18",
    paper: Paper::SunZhang,
    place: "Figures 18 and 19",
    title: "large writes compared with small ones, and per block",
    expected: State::AsPrinted,
    inputs: &[DRIVE],
    run: writes,
};

/// The size of the largest request, in blocks of 4 KB.
const MAX_REQUEST: u64 = 30;

/// The printed time per 4 KB block of a large read, in ms.
const PER_BLOCK: f64 = 0.25;

/// The number of requests per size.
const TIMES: u32 = 20;

/// Returns the mean time in ms of requests of 1 to [`MAX_REQUEST`] blocks.
fn by_size(
    mut time: impl FnMut(u64) -> Result<f64, Error>,
    run: &Run<'_>,
) -> Result<Vec<f64>, Error> {
    let mut means = Vec::new();
    for blocks in 1..=MAX_REQUEST {
        run.check_interrupt()?;
        let times = (0..TIMES).map(|_| time(blocks)).collect::<Result<Vec<f64>, Error>>()?;
        means.push(mean(&times));
    }
    Ok(means)
}

fn outcome(what: &str, times: &[f64], printed: Vec<Series>, claims: Vec<Claim>) -> Outcome {
    let size = |nth: u32| f64::from(nth);
    let large = (1..).zip(times).map(|(nth, time)| [size(nth), *time]).collect();
    let small = (1..).zip(times).map(|(nth, _)| [size(nth), size(nth) * times[0]]).collect();
    let per_block = (1..).zip(times).map(|(nth, time)| [size(nth), time / size(nth)]).collect();
    let x = Axis::linear("size (4 KB)");
    let together = Figure {
        title: format!("The same data in one {what}, and in several of 4 KB"),
        x: x.clone(),
        y: Axis::linear("time (ms)"),
        series: vec![Series::line("one", large), Series::line("several", small)],
    };
    let each = Figure {
        title: format!("Time of a {what} per 4 KB"),
        x,
        y: Axis::linear("time (ms)"),
        series: [vec![Series::line(what, per_block)], printed].concat(),
    };
    Outcome { claims, figures: vec![together, each] }
}

fn reads(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let group = bed.capacity() / 4;
    let mut random = fastrand::Rng::with_seed(SEED);
    bed.read(0)?;
    let times = by_size(
        |blocks| {
            let offset = random.u64(..group / PAGE - MAX_REQUEST) * PAGE;
            bed.time(Op::Read, Data::Random, offset, blocks * PAGE)
        },
        run,
    )?;
    let (share, per_block) = comparison(&times);
    let claims = vec![
        Claim::statement(
            "can cost only less than a quarter of the time for reading data in multiple chunks of 4KB when the total \
             data size is 30*4KB",
            format!("{share:.3} of that time"),
            share < 0.25,
        )
        .print_wrong_if(
            (0.25..1.1 / 3.0).contains(&share),
            "by the paper's own 0.75 ms for 4 KB (section 3.3) and 0.25 ms per 4 KB of a large read (Figure 17) the share is a \
                        third; compared with random 4 KB reads from any group (1 ms) it is a quarter",
        ),
        Claim::within(("time per 4 KB in a read of 30 blocks", "ms"), PER_BLOCK, per_block, READ_OFF),
        level(&times),
    ];
    #[allow(clippy::cast_precision_loss, reason = "MAX_REQUEST is 30")]
    let printed = Series::printed(format!("{PER_BLOCK} ms"), vec![[MAX_REQUEST as f64, PER_BLOCK]]);
    Ok(outcome("read", &times, vec![printed], claims))
}

/// Returns the time of one request of 30 blocks relative to 30 requests of one block, and its time
/// per block in ms.
#[allow(clippy::cast_precision_loss, reason = "MAX_REQUEST is 30")]
fn comparison(times: &[f64]) -> (f64, f64) {
    let last = times.last().copied().unwrap_or_default();
    (last / (MAX_REQUEST as f64 * times[0]), last / MAX_REQUEST as f64)
}

/// Checks that the time per block levels off: it must change by less than 5 % from 25 to 30 blocks.
fn level(times: &[f64]) -> Claim {
    let per_block: Vec<f64> =
        (1_u32..).zip(times).map(|(nth, time)| time / f64::from(nth)).collect();
    let last = per_block.len() - 1;
    let change = (per_block[last - 5] / per_block[last] - 1.0).abs();
    Claim::statement(
        "the average time cost per block gradually become nearly constant",
        format!("from 25 to 30 blocks it changes by {:.1} %", 100.0 * change),
        change < 0.05,
    )
}

fn writes(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut bed = TestBed::filled(&run.profile("drive")?, Data::Random)?;
    let segments = bed.capacity() / PAGE / SEGMENT;
    let mut random = fastrand::Rng::with_seed(SEED);
    // The first write of a pair obtains the log block. The second write, which is timed, merges
    // nothing.
    let times = by_size(
        |blocks| {
            let offset = random.u64(..segments) * SEGMENT * PAGE;
            bed.write(Data::Random, offset)?;
            bed.time(Op::Write, Data::Random, offset, blocks * PAGE)
        },
        run,
    )?;
    let (share, _) = comparison(&times);
    let claims = vec![
        Claim::statement(
            "get very similar performance shown in Figure 18 and 19 to the performance of large read",
            format!("one write of 30 blocks takes {share:.2} of the time of 30 writes"),
            share < 1.0,
        ),
        level(&times),
    ];
    Ok(outcome("write", &times, vec![], claims))
}
