//! Collects the errors of the models, and writes them as a page.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use flashscope_model::trace::Total;

use crate::cases;

/// A prediction and the simulation of the same case.
pub(crate) struct Line {
    pub model: String,
    pub ftl: &'static str,
    pub workload: String,
    pub drive: String,
    pub predicted: Total,
    pub simulated: Total,
    /// Nanoseconds per request that the prediction and the simulation took.
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
}

/// The limit of the mean error over all cases, and the limit of the error of each case.
const LIMITS: (f64, f64) = (0.08, 0.20);

/// The list of all predictions.
#[derive(Default)]
pub(crate) struct Book(Vec<Line>);

impl Book {
    /// Prints the heading of the lines that [`Book::add`] prints.
    pub(crate) fn heading() {
        println!(
            "{:<32} {:<22} {:<9} {:<22} {:>12} {:>8} {:>8} {:>8} {:>9} {:>10}",
            "workload",
            "drive",
            "ftl",
            "model",
            "erases/1000",
            "error",
            "WA",
            "error",
            "ns/request",
            "simulated"
        );
    }

    /// Adds a prediction, and prints it.
    pub(crate) fn add(&mut self, line: Line) {
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

    /// Returns each model once, with its FTL.
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

    /// Returns the lines for the paper's drive, or for the other drives.
    fn on(&self, papers: bool) -> Vec<&Line> {
        self.0.iter().filter(|line| (line.drive == cases::PAPERS) == papers).collect()
    }

    /// Returns a table of the errors of each model on the paper's drive or on full drives.
    pub(crate) fn table(&self, papers: bool) -> String {
        let all = self.on(papers);
        let mut text = String::from(
            "| FTL | model | cases | erases: mean error | worst | WA: mean error | worst | within 8 % and 20 % | simulation takes |\n\
             |---|---|---|---|---|---|---|---|---|\n",
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
                "| {ftl} | `{model}` | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {} | {:.0} times as long |",
                lines.len(),
                100.0 * erases.0,
                100.0 * erases.1,
                100.0 * amplification.0,
                100.0 * amplification.1,
                if meets { "yes" } else { "no" },
                simulated / predicted,
            );
        }
        text
    }

    /// Returns a table of the worst case of each model.
    pub(crate) fn worst(&self, papers: bool) -> String {
        let all = self.on(papers);
        let mut text = String::from(
            "| FTL | model | workload | drive | erases | WA |\n|---|---|---|---|---|---|\n",
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

    /// Writes the page with the tables.
    pub(crate) fn write(&self, root: &Path) -> std::io::Result<()> {
        let page = include_str!("page.md")
            .replace("PAPERS TABLE\n", &self.table(true))
            .replace("PAPERS WORST\n", &self.worst(true))
            .replace("FULL TABLE\n", &self.table(false))
            .replace("FULL WORST\n", &self.worst(false));
        fs::write(root.join("docs/models-accuracy.md"), page)
    }
}

/// Returns the larger of the errors of a line, as a logarithm.
fn size(line: &Line) -> f64 {
    line.erases().ln().abs().max(line.write_amplification().ln().abs())
}
