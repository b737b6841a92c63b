use flashscope_predict::drawn::{DEA2, EIGHT, LAIR62B, Lengths, Traits};
use flashscope_sim::Profile;
use flashscope_sim::ftl::{self, Family, LogSharing};

use super::workloads::{Drive, NOT_PUBLIC, by_workload};
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Figure 3, in sections III.C and IV.
pub(crate) const FIGURE_3: Item = Item {
    id: "boboila-figure3",
    paper: Paper::Boboila,
    place: "Figure 3",
    title: "analytical and interpolated predictions, compared with simulations, of eight workloads in place of the traces",
    expected: State::NotReproduced,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive, a part of the paper's drive; its FTL is replaced by each FTL in turn",
            value: "flashsim-2009?flash.blocks_per_plane=2048&log.blocks=142&timed=false&persistence.map=nv-ram",
            other: "flashsim-2009?flash.blocks_per_plane=2048&log.blocks=70&timed=false&persistence.map=nv-ram",
        },
        Input {
            name: "lengths",
            summary: "mean lengths of the measured writes, in pages; the prediction interpolates between them",
            value: "1 4 16 64 256",
            other: "1 256",
        },
    ],
    run,
};

/// The ratios of free space to written space at which a drive is measured, for interpolation.
pub(super) const FREES: [f64; 5] = [0.08, 0.25, 1.0, 5.0, 30.0];

/// The paper's drive, with `--full`.
const PAPERS: &str = "flashsim-2009-30g?timed=false&persistence.map=nv-ram";

/// The largest relative error of a prediction with good accuracy.
const GOOD: f64 = 0.2;

/// The least number of workloads, out of eight, that counts as "most".
const MAJORITY: usize = 5;

/// The largest relative error of a prediction that follows each fragment.
const FRAGMENT_ERROR: f64 = 0.01;

/// The equivalent throughputs of a workload.
struct Workload {
    simulated: f64,
    analytic: f64,
    interpolated: f64,
    /// The prediction of the model that follows each fragment of each request through the log
    /// blocks.
    by_fragment: f64,
}

impl Workload {
    /// Returns the relative error of a predicted throughput.
    fn error(&self, predicted: f64) -> f64 {
        predicted / self.simulated - 1.0
    }
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let lens = run.inputs.get("lengths").split_whitespace();
    let lens = lens.map(|text| text.parse().map_err(|error| Error::input("lengths", &error)));
    let lens = lens.collect::<Result<Vec<f64>, Error>>()?;
    let profile = match run.full {
        true => flashscope_sim::setup::parse(PAPERS).map_err(|e| Error::input("drive", &e))?,
        false => run.profile("drive")?,
    };
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (name, ftl, model) in [("Hybrid Log Block", "bast", "bast"), ("FAST", "fast", "fast-2011")]
    {
        let drive = Drive::of(&profile, ftl)?;
        let points = drive.measure(&lens, &FREES, run)?;
        let one = |traits: &Traits| workload(&drive, model, &points, traits, run);
        let workloads = EIGHT.iter().map(one).collect::<Result<Vec<_>, Error>>()?;
        let independent = EIGHT.iter().map(|traits| one(&traits.with_independent_addresses()));
        let independent = independent.collect::<Result<Vec<_>, Error>>()?;
        for (published, predicted) in PREDICTIONS {
            claims.push(accuracy((published, name), &workloads, &independent, predicted));
        }
        claims.push(fragment_accuracy(name, &workloads));
        figures.push(figure(name, &workloads));
    }
    claims.push(boundaries(&profile, run)?);
    claims.push(variance(&profile, run)?);
    let claims = claims.into_iter().map(|claim| claim.on_substitute(NOT_PUBLIC)).collect();
    Ok(Outcome { claims, figures })
}

fn workload(
    drive: &Drive,
    model: &str,
    points: &flashscope_predict::InterpolatedModel,
    traits: &Traits,
    run: &Run<'_>,
) -> Result<Workload, Error> {
    let mut simulation = drive.simulate(traits, run)?;
    let cost = drive.interpolate(points, &mut simulation)?;
    let best = match ftl::family(&drive.profile.ftl).and_then(Family::sharing) {
        Some(LogSharing::One) => "fragment-bast",
        _ => "fragment-fast",
    };
    Ok(Workload {
        simulated: simulation.throughput(),
        analytic: drive.predict(model, &mut simulation)?,
        interpolated: simulation.throughput_of(&cost),
        by_fragment: drive.predict(best, &mut simulation)?,
    })
}

type Throughput = fn(&Workload) -> f64;

/// The paper's statements about both kinds of prediction.
const PREDICTIONS: [(&str, Throughput); 2] = [
    ("While most of the predictions give good accuracy", |of| of.analytic),
    ("While performance on most workloads is predicted with good accuracy", |of| of.interpolated),
];

/// Checks that most predictions are good.
fn accuracy(
    (published, name): (&str, &str),
    workloads: &[Workload],
    independent: &[Workload],
    predicted: Throughput,
) -> Claim {
    let error = |of: &Workload| of.error(predicted(of));
    let good = |all: &[Workload]| all.iter().filter(|of| error(of).abs() <= GOOD).count();
    let list: Vec<String> =
        workloads.iter().map(|of| format!("{:+.0} %", 100.0 * error(of))).collect();
    let measured = format!(
        "{name}: {} of 8 within 20 % ({}); {} with independent addresses",
        good(workloads),
        list.join(", "),
        good(independent)
    );
    Claim::statement(published, measured, good(workloads) >= MAJORITY)
        .not_reproduced_if(good(independent) >= MAJORITY, INDEPENDENT)
}

const INDEPENDENT: &str = "the equations assume that writes to a block come at random. In some of these workloads a write continues the previous write, \
                   and a few blocks receive many writes. Log blocks then fill up before they are merged, at a cost of two erasures for all of \
                   their pages. With the same lengths and space but independent addresses, most predictions are within 20 %";

/// Checks that the fragments alone determine the cost.
fn fragment_accuracy(name: &str, workloads: &[Workload]) -> Claim {
    let worst = workloads.iter().map(|of| of.error(of.by_fragment).abs()).fold(0.0, f64::max);
    Claim::number(
        (format!("{name}: largest error of predictions by fragment"), "%"),
        0.0,
        100.0 * worst,
        crate::Tolerance::Absolute(100.0 * FRAGMENT_ERROR),
    )
}

/// Returns the relative error of the equations for a workload under an FTL.
fn model_error(
    profile: &Profile,
    ftl: &str,
    model: &str,
    traits: &Traits,
    run: &Run<'_>,
) -> Result<f64, Error> {
    let drive = Drive::of(profile, ftl)?;
    let mut simulation = drive.simulate(traits, run)?;
    Ok(drive.predict(model, &mut simulation)? / simulation.throughput() - 1.0)
}

/// Explains the error of lair62b with FAST: many writes begin on block boundaries.
fn boundaries(profile: &Profile, run: &Run<'_>) -> Result<Claim, Error> {
    let anywhere = Traits { aligned: 0.0, ..LAIR62B };
    let with = model_error(profile, "fast", "fast-2011", &LAIR62B, run)?;
    let without = model_error(profile, "fast", "fast-2011", &anywhere, run)?;
    Ok(Claim::statement(
        "lair62b trace has a high number of block boundary accesses, translated by FAST into partial merges",
        format!(
            "{:+.0} % with writes on block boundaries, {:+.0} % with the same writes anywhere",
            100.0 * with,
            100.0 * without
        ),
        with.abs() > 2.0 * without.abs() && with > 0.5,
    ))
}

/// Explains the error of dea2 with Hybrid Log Block: its lengths vary widely.
fn variance(profile: &Profile, run: &Run<'_>) -> Result<Claim, Error> {
    let regular = Traits { lengths: &[Lengths::Geometric(1.0, 100.0)], ..DEA2 };
    let with = model_error(profile, "bast", "bast", &DEA2, run)?;
    let without = model_error(profile, "bast", "bast", &regular, run)?;
    Ok(Claim::statement(
        "dea2 has very long write lengths of 100 2K-pages on average and high variance, ranging up to 2000 2K-pages. In this case, \
         free space distribution may be harder to compute",
        format!(
            "{:+.1} % with its lengths, {:+.1} % with geometric lengths of the same mean",
            100.0 * with,
            100.0 * without
        ),
        (with - without).abs() > 0.02,
    ))
}

fn figure(name: &str, workloads: &[Workload]) -> Figure {
    let kinds = ["simulation", "prediction, analytical", "prediction, interpolation"];
    let of = |of: &Workload| [of.simulated, of.analytic, of.interpolated];
    Figure {
        title: format!("{name}: write throughput of workloads like the paper's"),
        x: by_workload(),
        y: Axis::linear("write throughput"),
        series: Series::bars_by_kind(kinds, &workloads.iter().map(of).collect::<Vec<_>>()),
    }
}
