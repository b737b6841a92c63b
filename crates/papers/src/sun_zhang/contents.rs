use flashscope_block::{Data, Op};
use flashscope_sim::Profile;

use super::writes::SEGMENT;
use super::{DRIVE, PAGE, READ_OFF, TRIALS, levels};
use crate::test_bed::TestBed;
use crate::times::{mean, numbered};
use crate::{Axis, Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State, Tolerance};

/// Figure 9, in section 4.2.
pub(crate) const FIGURE_9: Item = Item {
    id: "sun-zhang-figure9",
    paper: Paper::SunZhang,
    place: "Figures 9 to 12",
    title: "\"1\" != \"0\": sequential writes of ones and zeros, onto ones and zeros",
    expected: State::AsPrinted,
    inputs: &[DRIVE],
    run: matrix,
};

/// Figure 13, in section 4.2.
pub(crate) const FIGURE_13: Item = Item {
    id: "sun-zhang-figure13",
    paper: Paper::SunZhang,
    place: "Figures 13 to 15",
    title: "sequential writes of data that is half zeros",
    expected: State::PrintWrong,
    inputs: &[DRIVE],
    run: halves,
};

/// Printed times of a merge in ms, with zeros and with other data.
const ZEROS: f64 = 25.0;
const ONES: f64 = 120.0;

/// The printed time in ms if half of each 4 KB is zeros.
const HALF: f64 = 60.0;

/// Writes in sequence onto a filled drive, and returns the times in ms. The last write to a segment
/// merges it.
fn writes(profile: &Profile, onto: Data, of: Data, run: &Run<'_>) -> Result<Vec<f64>, Error> {
    run.check_interrupt()?;
    let mut bed = TestBed::filled(profile, onto)?;
    (0..u64::from(TRIALS)).map(|nth| bed.time(Op::Write, of, nth * PAGE, PAGE)).collect()
}

/// Returns the mean time of the writes that merge.
fn merges(times: &[f64]) -> f64 {
    let nth = usize::try_from(SEGMENT).expect("a segment has 64 blocks");
    mean(&times.iter().copied().skip(nth - 1).step_by(nth).collect::<Vec<_>>())
}

/// Plots times by trial, with the printed times of a merge.
fn figure(title: &str, measured: Vec<Series>, printed: &[f64]) -> Figure {
    let series = [measured, levels(printed)].concat();
    let y = Axis::log("response time (ms)");
    Figure { title: title.into(), x: Axis::linear("trial"), y, series }
}

const TITLE: &str = "Response time by written and previous content";

fn matrix(run: &Run<'_>) -> Result<Outcome, Error> {
    let profile = run.profile("drive")?;
    let (mut claims, mut series) = (Vec::new(), Vec::new());
    let name = |data| if data == Data::Zeros { "0" } else { "1" };
    for (onto, of, printed) in [
        (Data::Zeros, Data::Zeros, ZEROS),
        (Data::Zeros, Data::Random, ONES),
        (Data::Random, Data::Zeros, ZEROS),
        (Data::Random, Data::Random, ONES),
    ] {
        let times = writes(&profile, onto, of, run)?;
        let what = format!("a merge, \"{}\" written onto \"{}\"", name(of), name(onto));
        claims.push(Claim::within((what.clone(), "ms"), printed, merges(&times), READ_OFF));
        series.push(Series::dots(what, numbered(&times)));
    }
    Ok(Outcome { claims, figures: vec![figure(TITLE, series, &[ONES, ZEROS])] })
}

fn halves(run: &Run<'_>) -> Result<Outcome, Error> {
    let profile = run.profile("drive")?;
    let mut times = Vec::new();
    for of in [Data::Random, Data::HalfZeros, Data::Zeros] {
        times.push(writes(&profile, Data::Zeros, of, run)?);
    }
    let [whole, half, none] = [0, 1, 2].map(|nth| merges(&times[nth]));
    let claims = vec![
        Claim::within(("a merge, both halves with ones", "ms"), ONES, whole, READ_OFF),
        Claim::within(("a merge, one half of each 4 KB zeros", "ms"), HALF, half, READ_OFF).print_wrong_by(
            f64::midpoint(whole, none),
            Tolerance::Share(0.02),
            "if the content of each 2 KB page sets its cost, the time is the mean of a merge of ones and a merge of zeros: \
                        (120 + 25) / 2 = 72.5 ms by the paper's own figures",
        ),
        Claim::statement(
            "This cost is nearly half of the that for writing blocks with all \"1\"s",
            format!("{:.2} of that cost", half / whole),
            half / whole < 0.7,
        ),
    ];
    let series = ["both halves with ones", "one half zeros", "both zeros"];
    let series = series.into_iter().zip(&times);
    let series = series.map(|(name, times)| Series::dots(name, numbered(times))).collect();
    Ok(Outcome {
        claims,
        figures: vec![figure("Sequential writes onto zeros", series, &[ONES, HALF, ZEROS])],
    })
}
