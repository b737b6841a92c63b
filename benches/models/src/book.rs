//! What models were off by, put together.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use flashscope_model::trace::Total;
use flashscope_predict::validation::{Case, Factors};

use crate::cases;

/// A prediction beside the simulator.
pub struct Line {
    pub model: String,
    pub ftl: &'static str,
    pub workload: String,
    pub drive: String,
    pub predicted: Total,
    pub simulated: Total,
    /// Nanoseconds that a request took, predicted and simulated.
    pub nanos: (f64, f64),
}

impl Line {
    fn erases(&self) -> f64 {
        let per_page = |total: &Total| total.erasures / total.pages as f64;
        per_page(&self.predicted) / per_page(&self.simulated)
    }

    fn write_amplification(&self) -> f64 {
        self.predicted.write_amplification() / self.simulated.write_amplification()
    }

    fn case(&self) -> Case<'_> {
        Case {
            model: &self.model,
            ftl: self.ftl,
            workload: &self.workload,
            erases: self.erases().ln(),
            write_amplification: self.write_amplification().ln(),
        }
    }
}

/// What intervals are to hold.
const LEVEL: f64 = 0.9;

/// Errors may be so large on average, and at most.
const LIMITS: (f64, f64) = (0.08, 0.20);

/// All predictions.
#[derive(Default)]
pub struct Book(Vec<Line>);

impl Book {
    /// What stands above lines.
    pub fn heading() {
        println!(
            "{:<32} {:<22} {:<9} {:<22} {:>12} {:>8} {:>8} {:>8} {:>9} {:>10}",
            "workload",
            "drive",
            "ftl",
            "by",
            "erases/1000",
            "error",
            "WA",
            "error",
            "ns/request",
            "simulating"
        );
    }

    /// Adds a prediction, and prints it.
    pub fn add(&mut self, line: Line) {
        let Line { model, ftl, workload, drive, predicted, nanos, .. } = &line;
        println!(
            "{workload:<32.32} {drive:<22} {ftl:<9} {model:<22} {:>12.3} {:>+7.1}% {:>8.3} {:>+7.1}% {:>9.0} {:>10.0}",
            1e3 * predicted.erasures / predicted.pages as f64,
            100.0 * (line.erases() - 1.0),
            predicted.write_amplification(),
            100.0 * (line.write_amplification() - 1.0),
            nanos.0,
            nanos.1
        );
        self.0.push(line);
    }

    /// Models with their FTL, each once.
    fn models(lines: &[&Line]) -> Vec<(&'static str, String)> {
        let mut models: Vec<(&str, String)> = Vec::new();
        for line in lines {
            let of = (line.ftl, line.model.clone());
            if !models.contains(&of) {
                models.push(of);
            }
        }
        models.sort_by_key(|(ftl, _)| {
            ["bast", "fast", "page-map", "dftl"].iter().position(|one| one == ftl)
        });
        models
    }

    /// Those on the paper's drive, or on the others.
    fn on(&self, papers: bool) -> Vec<&Line> {
        self.0.iter().filter(|line| (line.drive == cases::PAPERS) == papers).collect()
    }

    /// A table of what each model is off by on the paper's drive, or on drives that are full, and how often
    /// its intervals hold.
    pub fn table(&self, papers: bool) -> String {
        let all = self.on(papers);
        let mut text = String::from(
            "| FTL | predicted by | cases | erases: mean error | worst | WA: mean error | worst | within 8 % and 20 % | 90 % intervals hold | simulating takes |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
        );
        for (ftl, model) in Book::models(&all) {
            let lines: Vec<&Line> =
                all.iter().copied().filter(|line| line.ftl == ftl && line.model == model).collect();
            let errors = |of: fn(&Line) -> f64| -> (f64, f64) {
                let errors = lines.iter().map(|line| (of(line) - 1.0).abs());
                let mean = errors.clone().sum::<f64>() / lines.len() as f64;
                (mean, errors.fold(0.0, f64::max))
            };
            let (erases, amplification) = (errors(Line::erases), errors(Line::write_amplification));
            let within = |(mean, worst)| mean <= LIMITS.0 && worst <= LIMITS.1;
            let meets = within(erases) && within(amplification);
            let (predicted, simulated): (f64, f64) = lines
                .iter()
                .fold((0.0, 0.0), |sum, line| (sum.0 + line.nanos.0, sum.1 + line.nanos.1));
            let _ = writeln!(
                text,
                "| {ftl} | `{model}` | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {} | {} | {:.0} times as long |",
                lines.len(),
                100.0 * erases.0,
                100.0 * erases.1,
                100.0 * amplification.0,
                100.0 * amplification.1,
                if meets { "yes" } else { "no" },
                held(&lines).map_or_else(|| "-".into(), |share| format!("{:.0} %", 100.0 * share)),
                simulated / predicted,
            );
        }
        text
    }

    /// The worst cases of each model.
    pub fn worst(&self, papers: bool) -> String {
        let all = self.on(papers);
        let mut text = String::from(
            "| FTL | predicted by | workload | drive | erases | WA |\n|---|---|---|---|---|---|\n",
        );
        for (ftl, model) in Book::models(&all) {
            let lines = all.iter().filter(|line| line.ftl == ftl && line.model == model);
            let Some(worst) = lines.max_by(|one, two| size(one).total_cmp(&size(two))) else {
                continue;
            };
            let _ = writeln!(
                text,
                "| {ftl} | `{model}` | {} | {} | {:+.1} % | {:+.1} % |",
                worst.workload,
                worst.drive,
                100.0 * (worst.erases() - 1.0),
                100.0 * (worst.write_amplification() - 1.0)
            );
        }
        text
    }

    /// Writes the cases that intervals come from, and the page that shows them.
    pub fn write(&self, root: &Path) -> std::io::Result<()> {
        let mut cases = String::from("model,ftl,workload,erases,write_amplification\n");
        for line in &self.0 {
            let case = line.case();
            let Case { model, ftl, erases, write_amplification, .. } = case;
            // What stands in a name of a workload is no comma.
            let workload = format!("{} on {}", line.workload, line.drive).replace(',', "");
            let _ =
                writeln!(cases, "{model},{ftl},{workload},{erases:.5},{write_amplification:.5}");
        }
        fs::write(root.join("crates/predict/src/validation.csv"), cases)?;
        let page = include_str!("page.md")
            .replace("PAPERS TABLE\n", &self.table(true))
            .replace("PAPERS WORST\n", &self.worst(true))
            .replace("FULL TABLE\n", &self.table(false))
            .replace("FULL WORST\n", &self.worst(false));
        fs::write(root.join("docs/models-accuracy.md"), page)
    }
}

fn size(line: &Line) -> f64 {
    line.case().erases.abs().max(line.case().write_amplification.abs())
}

/// The share of cases that an interval holds which the cases of all other workloads give; none where those
/// are too few.
fn held(lines: &[&Line]) -> Option<f64> {
    let mut held = 0;
    for line in lines {
        let others = lines.iter().filter(|other| other.workload != line.workload);
        let others: Vec<Case<'_>> = others.map(|other| other.case()).collect();
        let factors = Factors::of(&others, LEVEL)?;
        // Cases are kept to five digits.
        let within = |error: f64, factor: f64| error.abs() <= factor.ln() + 5e-6;
        let case = line.case();
        held += usize::from(
            within(case.erases, factors.erases)
                && within(case.write_amplification, factors.write_amplification),
        );
    }
    Some(held as f64 / lines.len() as f64)
}
