use flashscope_model::{Uniform, bast, fast, head_len, head_len_as_printed};

use super::WRITTEN;
use crate::{
    Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State, Tolerance,
};

/// Section III.
pub(crate) const EQUATIONS: Item = Item {
    id: "boboila-equations",
    paper: Paper::Boboila,
    place: "Table I, equations 4 to 15",
    title: "merges and erasures of Hybrid Log Block and FAST under uniform writes",
    expected: State::PrintWrong,
    inputs: &[
        Input { name: "block", summary: "pages of an erase block, B", value: "64", other: "128" },
        Input { name: "free", summary: "the free space ratio, f", value: "0.07", other: "0.2" },
    ],
    run,
};

/// The tolerance for rounding.
const EXACT: f64 = 1e-9;

/// The mean lengths of writes at which the equations are evaluated, in pages.
const LENGTHS: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];

const LIMIT: &str = "the upper limit of the integral is h = B - 1, which makes the second exponent (1 - B) / w. The printed (1 - w) / w \
                    gives heads a negative length for w = 1 and for w far above B";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (block, free): (f64, f64) = (run.number("block")?, run.number("free")?);
    let mut claims = vec![
        Claim::exact("N_min = T / B, of 64 pages", 156_250.0, WRITTEN / block).not_reproduced_by(
            WRITTEN / block,
            Tolerance::Absolute(0.0),
            "the paper's blocks have 64 pages",
        ),
    ];
    for w in LENGTHS {
        let uniform =
            Uniform::new(block, 8192.0, free, w).map_err(|error| Error::input("free", &error))?;
        let by_model = [bast::predict(&uniform), fast::predict(&uniform)]
            .map(|prediction| prediction.erasures * WRITTEN);
        let what = |equation: &str| format!("{equation}, w = {w}");
        claims.push(Claim::within(
            (what("equation 7: E"), ""),
            equation_7(block, free, w),
            by_model[0],
            EXACT,
        ));
        claims.push(Claim::within(
            (what("equation 15: E"), ""),
            equation_15(block, free, w),
            by_model[1],
            EXACT,
        ));
        let integral = equation_11(block, w);
        claims.push(
            Claim::within(
                (what("equation 12: H_l"), "pages"),
                head_len_as_printed(block, w),
                integral,
                1e-6,
            )
            .print_wrong_by(head_len(block, w), Tolerance::Share(1e-6), LIMIT),
        );
    }
    let curve = |of: fn(f64, f64) -> f64| {
        (0..=48).map(|nth| 2f64.powf(f64::from(nth) / 4.0)).map(|w| [w, of(block, w)]).collect()
    };
    let figure = Figure {
        title: "Mean length of heads, equation 12: corrected, and the positive part as printed"
            .into(),
        x: Axis::log("mean write length (pages)"),
        y: Axis::linear("H_l (pages)"),
        series: vec![
            Series::line("H_l", curve(head_len)),
            Series::printed_line("H_l", positive(curve(head_len_as_printed))),
        ],
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

fn positive(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.into_iter().filter(|point| point[1] >= 0.0).collect()
}

/// Equations 1 to 3: the numbers of heads, middles and tails in T pages.
fn fragments(block: f64, w: f64) -> [f64; 3] {
    let whole = (1.0 + 1.0 / w) * (-block / w).exp();
    [WRITTEN / w, WRITTEN / block * whole, WRITTEN / block * (1.0 - whole)]
}

/// Equations 4 to 7.
fn equation_7(block: f64, free: f64, w: f64) -> f64 {
    let [heads, middles, tails] = fragments(block, w);
    let switch = middles * (1.0 - free);
    let partial = tails * (1.0 - free).powi(2);
    let full = (middles + tails) * free + heads * (1.0 - free);
    switch + partial + 2.0 * full
}

/// Equations 8 to 15, with H_l by the corrected equation 12.
fn equation_15(block: f64, free: f64, w: f64) -> f64 {
    let [heads, middles, tails] = fragments(block, w);
    let per_log = block / head_len(block, w);
    let valid = heads / (free * (per_log * middles + heads) + heads / per_log);
    middles + tails + (valid + 1.0) / per_log * heads
}

/// Equation 11 by Simpson's rule.
fn equation_11(block: f64, w: f64) -> f64 {
    const STEPS: u32 = 20_000;
    let longer = |h: f64| (-h / w).exp();
    let at = |h: f64| h * longer(h) + h * (block - h) * longer(h) / w;
    let width = (block - 2.0) / f64::from(STEPS);
    let weight = |nth: u32| match nth {
        0 | STEPS => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=STEPS).map(|nth| weight(nth) * at(1.0 + f64::from(nth) * width)).sum();
    sum * width / 3.0 / block
}
