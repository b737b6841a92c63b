use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

use crate::Estimate;

/// The mean of one run, with the standard error estimated within the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunMean {
    /// The mean over the run's IOs.
    pub mean: f64,
    /// The standard error of the mean, allowing for dependence between IOs; above 0.
    pub standard_error: f64,
}

/// The statistics of repeated runs of one experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// The unweighted mean of the runs, with a 95 % interval from the variance between them. The
    /// interval is wide for few runs.
    pub mean: Estimate,
    /// The variance of a run's mean due to the IOs within the run: the mean of the squared standard
    /// errors.
    pub within_variance: f64,
    /// The variance of the true means between runs; 0 if the runs differ by no more than
    /// `within_variance` explains.
    pub between_variance: f64,
    /// 1 minus the probability that runs with the same true mean differ this much by chance.
    pub confidence: f64,
}

/// Separates the variance between runs from the variance within runs.
///
/// Uses the random-effects model, by the method of moments with equal weights (Hedges and Olkin,
/// *Statistical Methods for Meta-Analysis*, chapter 9), and Cochran's test (*Biometrics* 10, 1954).
/// Returns `None` for fewer than two runs, or if a standard error is not above 0.
pub fn repeats(runs: &[RunMean]) -> Option<Repeats> {
    if runs.len() < 2 || !runs.iter().all(|run| run.standard_error > 0.0) {
        return None;
    }
    let count = runs.len() as f64;
    let freedom = count - 1.0;
    let mean = runs.iter().map(|run| run.mean).sum::<f64>() / count;
    let variance = runs.iter().map(|run| (run.mean - mean).powi(2)).sum::<f64>() / freedom;
    let within_variance = runs.iter().map(|run| run.standard_error.powi(2)).sum::<f64>() / count;
    let means: Vec<f64> = runs.iter().map(|run| run.mean).collect();
    Some(Repeats {
        mean: mean_of_repeats(&means)?,
        within_variance,
        between_variance: (variance - within_variance).max(0.0),
        confidence: ChiSquared::new(freedom).ok()?.cdf(heterogeneity(runs)),
    })
}

/// Returns the mean of independent values, with its 95 % interval by Student's t, or `None` for no
/// values. A single value has no interval.
pub fn mean_of_repeats(values: &[f64]) -> Option<Estimate> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = || {
        let freedom = count - 1.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
        Some(t * (variance / count).sqrt())
    };
    (!values.is_empty()).then(|| Estimate::symmetric(mean, spread()))
}

/// Returns Cochran's Q: the sum of squared distances from the weighted mean, in standard errors.
fn heterogeneity(runs: &[RunMean]) -> f64 {
    let weight = |run: &RunMean| run.standard_error.powi(-2);
    let weights: f64 = runs.iter().map(weight).sum();
    let mean = runs.iter().map(|run| weight(run) * run.mean).sum::<f64>() / weights;
    runs.iter().map(|run| weight(run) * (run.mean - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean_interval;
    use crate::scripted::{Kind, Script};

    /// Simulates 300 experiments of three runs each, with dependent values. The true means of the
    /// runs have the relative standard deviation `between`.
    fn experiments(between: f64) -> Vec<Repeats> {
        let experiment = |seed: u64| {
            let runs: Vec<RunMean> = (0..3_u64)
                .map(|run| {
                    let mut script = Script::new(Kind::Dependent, 3 * seed + run);
                    let factor = script.noise(between);
                    let values: Vec<f64> = script.take(4096).iter().map(|x| x * factor).collect();
                    let interval = mean_interval(&values, 1, 0.95).unwrap();
                    RunMean { mean: interval.value, standard_error: interval.standard_error }
                })
                .collect();
            repeats(&runs).unwrap()
        };
        (0..300).map(experiment).collect()
    }

    fn average(of: impl Fn(&Repeats) -> f64, all: &[Repeats]) -> f64 {
        all.iter().map(of).sum::<f64>() / all.len() as f64
    }

    // Also checks that the test has its nominal rate of false alarms.
    #[test]
    fn between_and_within_variance_are_separated() {
        let (alike, unlike) = (experiments(1e-9), experiments(0.1));
        let within = average(|repeats| repeats.within_variance, &alike);
        let between = average(|repeats| repeats.between_variance, &alike);
        assert!(between < within / 2.0);
        let between = average(|repeats| repeats.between_variance, &unlike);
        assert!((1300.0..1900.0).contains(&between), "{between}");
        let alarms = alike.iter().filter(|repeats| repeats.confidence > 0.95).count();
        assert!((5..=27).contains(&alarms), "{alarms}");
    }

    #[test]
    fn intervals_of_repeats_cover_the_mean() {
        for between in [1e-9, 0.1] {
            let all = experiments(between);
            let covered = all.iter().filter(|repeats| repeats.mean.covers(400.0)).count();
            assert!((274..=296).contains(&covered), "{covered}");
        }
    }

    // Runs without a standard error have no result either.
    #[test]
    fn a_single_run_has_no_result() {
        let run = RunMean { mean: 1.0, standard_error: 0.1 };
        assert_eq!(repeats(&[run]), None);
        assert_eq!(repeats(&[run, RunMean { standard_error: 0.0, ..run }]), None);
        let alike = repeats(&[run, run, run]).unwrap();
        assert_eq!((alike.between_variance, alike.confidence), (0.0, 0.0));
    }
}
