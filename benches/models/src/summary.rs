//! Lines of a table, and what their errors come to.

use flashscope_model::trace::Total;

/// Relative errors of what was predicted of one FTL.
pub struct Summary {
    name: String,
    /// The size of each, of write amplification and of erasures, and the case.
    errors: Vec<([f64; 2], String)>,
}

/// What stands above them.
pub fn heading() {
    println!(
        "\n{:<40} {:<7} {:<9} {:>9} {:>9} {:>8} {:>8} {:>10}",
        "trace", "ftl", "by", "simulated", "predicted", "error", "ns/write", "simulating"
    );
}

impl Summary {
    pub fn new(name: &str) -> Summary {
        Summary { name: name.into(), errors: Vec::new() }
    }

    /// A case, both with the nanoseconds that each write took.
    pub fn add(&mut self, case: &str, ftl: &str, truth: (Total, f64), predicted: (Total, f64)) {
        let (simulated, found) = (truth.0.write_amplification(), predicted.0.write_amplification());
        let error = found / simulated - 1.0;
        println!(
            "{case:<40} {ftl:<7} {:<9} {simulated:>9.3} {found:>9.3} {:>+7.1}% {:>8.0} {:>10.0}",
            self.name,
            100.0 * error,
            predicted.1,
            truth.1
        );
        let per_page = |total: &Total| total.erasures / total.pages as f64;
        // Without erasures in either there is no error.
        let erasures = per_page(&predicted.0) / per_page(&truth.0).max(f64::MIN_POSITIVE) - 1.0;
        let erasures = if predicted.0.erasures == truth.0.erasures { 0.0 } else { erasures };
        self.errors.push(([error.abs(), erasures.abs()], format!("{case}, {ftl}")));
    }
}

/// When all cases were added.
impl Drop for Summary {
    fn drop(&mut self) {
        for (nth, what) in ["write amplification", "erasures"].into_iter().enumerate() {
            let errors = self.errors.iter().map(|(errors, case)| (errors[nth], case));
            let mean = errors.clone().map(|error| error.0).sum::<f64>() / self.errors.len() as f64;
            let Some((worst, case)) = errors.max_by(|one, two| one.0.total_cmp(&two.0)) else {
                continue;
            };
            println!(
                "{}: {what} of {} cases, mean absolute error {:.2} %, worst {:.1} % ({case})",
                self.name,
                self.errors.len(),
                100.0 * mean,
                100.0 * worst
            );
        }
    }
}
