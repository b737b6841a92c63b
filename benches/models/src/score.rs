//! Derives intervals from one part of the population, and scores them on the other part.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use flashscope_document::prediction::Interval;
use flashscope_document::prediction::Passes;
use flashscope_model::trace::Total;
use flashscope_predict::validation::{Case, Factors, Stratum};
use flashscope_predict::{
    CountedPasses, Numbers, Pieces, Pools, SelectedModel, SimulatedDrive, not_modelled,
    repeat_passes, simulate_passes,
};
use flashscope_sim::{Design, setup};

use crate::population::{Pair, Part, models};
use crate::side_by_side::side_by_side;

/// The level of the intervals.
const LEVEL: f64 = 0.9;

/// The least number of cases in a row of the table; smaller strata are pooled.
const MIN_CASES: usize = 20;

/// A prediction, and the simulation of the same passes.
pub(crate) struct ScoredPrediction {
    model: &'static str,
    ftl: &'static str,
    stratum: Stratum,
    design: Design,
    predicted: Total,
    simulated: Total,
}

impl ScoredPrediction {
    fn case(&self) -> Case<'static> {
        let ratio = self.predicted.erasures.max(0.5) / self.simulated.erasures.max(0.5);
        let amplification =
            self.predicted.write_amplification() / self.simulated.write_amplification();
        Case {
            model: self.model,
            ftl: self.ftl,
            stratum: self.stratum,
            erases: ratio.ln(),
            write_amplification: amplification.ln(),
        }
    }

    /// Returns whether the intervals for erases and write amplification contain the simulation;
    /// `None` if there are too few cases for intervals.
    fn holds(&self, calibration: &[Case<'_>]) -> Option<[bool; 2]> {
        let factors = Factors::of(calibration, LEVEL)?;
        let numbers = Numbers::new(&self.design, self.predicted, Some(factors));
        let contains = |interval: Option<Interval>, value: f64| {
            interval.is_some_and(|one| one.low <= value && value <= one.high)
        };
        Some([
            contains(numbers.erases().interval, self.simulated.erasures),
            contains(numbers.write_amplification().interval, self.simulated.write_amplification()),
        ])
    }
}

/// Predicts and simulates `count` pairs of a part, on two threads. Skips drives that cannot be
/// made, and predictions without intervals.
pub(crate) fn run(part: Part, count: usize) -> Vec<ScoredPrediction> {
    let pairs: Vec<Pair> = part.draw(count).collect();
    side_by_side(&pairs, score).into_iter().flatten().collect()
}

/// Compares each model of a pair with the simulator.
fn score(pair: &Pair) -> Vec<ScoredPrediction> {
    let never = AtomicBool::new(false);
    let Some(design) = pair.design() else { return Vec::new() };
    let Some(mut requests) = pair.requests(&design) else { return Vec::new() };
    if !not_modelled(&design).is_empty() {
        return Vec::new();
    }
    let mut passes: Option<Passes> = None;
    let mut predicted: Vec<(SelectedModel, Total, bool)> = Vec::new();
    for model in models(&design) {
        let Ok(mut pools) = Pools::new(&design, model, Pieces::default()) else { continue };
        let total = match passes {
            Some(passes) => {
                let Some(mut again) = pair.requests(&design) else { continue };
                repeat_passes(&passes, &mut pools, &mut again)
            }
            None => CountedPasses::find(&mut pools, &mut requests, (&never, &mut ())).map(
                |CountedPasses { passes: found, total, .. }| {
                    passes = Some(found);
                    total
                },
            ),
        };
        let Ok(total) = total else { continue };
        predicted.push((model, total, requests.has_trimmed()));
    }
    let Some(passes) = passes.filter(|passes| passes.converged) else { return Vec::new() };
    let profile = setup::parse(&pair.drive).expect("it has a design");
    let mut simulated = SimulatedDrive::new(&profile).expect("it has a design");
    let Some(mut again) = pair.requests(&design) else { return Vec::new() };
    let Ok((truth, _)) = simulate_passes(&passes, &mut simulated, &mut again, (&never, &mut ()))
    else {
        return Vec::new();
    };
    let followed =
        predicted.into_iter().filter(|(model, _, trims)| model.follows_trims() || !trims);
    let scored = followed.map(|(model, total, trims)| ScoredPrediction {
        model: model.name(),
        ftl: design.ftl.name,
        stratum: Stratum::of(total.write_amplification(), trims),
        design: design.clone(),
        predicted: total,
        simulated: truth,
    });
    scored.collect()
}

/// Returns the cases as CSV.
pub(crate) fn csv(scored: &[ScoredPrediction]) -> String {
    let mut text = String::from("model,ftl,stratum,erases,write_amplification\n");
    for case in scored.iter().map(ScoredPrediction::case) {
        let Case { model, ftl, stratum, erases, write_amplification } = case;
        let _ = writeln!(text, "{model},{ftl},{stratum},{erases:.5},{write_amplification:.5}");
    }
    text
}

/// Returns the table of the held-out part by stratum, the worst first.
pub(crate) fn table(calibration: &[ScoredPrediction], held_out: &[ScoredPrediction]) -> String {
    let cases: Vec<Case<'_>> = calibration.iter().map(ScoredPrediction::case).collect();
    let mut rows: BTreeMap<(&str, &str, Stratum), Row> = BTreeMap::new();
    for scored in held_out {
        let key = (scored.ftl, scored.model, scored.stratum);
        let like = |case: &&Case<'_>| (case.ftl, case.model, case.stratum) == key;
        let like: Vec<Case<'_>> = cases.iter().filter(like).copied().collect();
        rows.entry(key).or_default().add(&scored.case(), scored.holds(&like));
    }
    let mut pooled: BTreeMap<String, Row> = BTreeMap::new();
    for ((ftl, model, stratum), row) in rows {
        let name = match row.cases >= MIN_CASES {
            true => format!("{ftl} | `{model}` | {stratum}"),
            false => format!("{ftl} | `{model}` | small strata"),
        };
        pooled.entry(name).or_default().merge(&row);
    }
    let mut rows: Vec<(String, Row)> = pooled.into_iter().collect();
    rows.sort_by(|one, two| one.1.worst().total_cmp(&two.1.worst()));
    let mut text = String::from(
        "| FTL | model | stratum | cases | without interval | erases: 90 % intervals hold | WA: 90 % intervals hold | WA: mean error |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut all = Row::default();
    for (name, row) in &rows {
        all.merge(row);
        let _ = writeln!(text, "| {name} {}", row.text());
    }
    let _ = writeln!(text, "| all | | {}", all.text());
    text
}

/// The scores of a stratum.
#[derive(Default)]
struct Row {
    cases: usize,
    without: usize,
    held: [usize; 2],
    error: f64,
}

impl Row {
    fn add(&mut self, case: &Case<'_>, holds: Option<[bool; 2]>) {
        self.cases += 1;
        self.error += case.write_amplification.abs();
        match holds {
            None => self.without += 1,
            Some(holds) => {
                for (held, holds) in self.held.iter_mut().zip(holds) {
                    *held += usize::from(holds);
                }
            }
        }
    }

    fn merge(&mut self, other: &Row) {
        self.cases += other.cases;
        self.without += other.without;
        self.error += other.error;
        for (held, more) in self.held.iter_mut().zip(other.held) {
            *held += more;
        }
    }

    fn share(&self, of: usize) -> f64 {
        of as f64 / (self.cases - self.without) as f64
    }

    fn worst(&self) -> f64 {
        self.held.map(|held| self.share(held)).into_iter().fold(f64::INFINITY, f64::min)
    }

    fn text(&self) -> String {
        let share = |of: usize| match self.cases == self.without {
            true => "-".into(),
            false => format!("{:.0} %", 100.0 * self.share(of)),
        };
        let error = 100.0 * self.error / self.cases as f64;
        let [erases, amplification] = self.held.map(share);
        let (cases, without) = (self.cases, self.without);
        format!("| {cases} | {without} | {erases} | {amplification} | {error:.1} % |")
    }
}
