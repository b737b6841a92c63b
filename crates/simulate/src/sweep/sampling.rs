//! Samples the points of a space. A point has a share (0 to below 1) per factor: the position
//! within its levels or range.

use serde::Deserialize;

/// The ways to choose points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// All points.
    Full,
    /// A sample in which each factor is cut into as many parts as there are points, with one point
    /// per part (M. D. McKay, R. J. Beckman and W. J. Conover, *Technometrics* 21(2), 1979).
    LatinHypercube,
    /// A Sobol sequence, scrambled by the seed. A longer sequence starts with the same points.
    Sobol,
    /// A search for the Pareto front by NSGA-II (Deb et al., *IEEE Transactions on Evolutionary
    /// Computation* 6(2), 2002), with a limited number of points.
    Search,
}

/// The maximum number of points of any sample, which is the longest Sobol sequence.
pub(crate) const MAX_SAMPLES: u32 = 1 << 16;

/// The maximum number of factors, which is the maximum number of dimensions of a Sobol sequence.
pub(super) const MAX_FACTORS: usize = 256;

/// Returns `samples` points of a Latin hypercube.
#[allow(clippy::cast_precision_loss, reason = "points are few")]
pub(crate) fn latin_hypercube(factors: usize, samples: u32, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut points = vec![Vec::with_capacity(factors); samples as usize];
    for _ in 0..factors {
        let mut parts: Vec<u32> = (0..samples).collect();
        rng.shuffle(&mut parts);
        for (point, part) in points.iter_mut().zip(parts) {
            point.push((f64::from(part) + rng.f64()) / f64::from(samples));
        }
    }
    points
}

/// Returns the first `samples` points of a Sobol sequence.
#[allow(clippy::cast_possible_truncation, reason = "the seed is folded to 32 bits")]
pub(super) fn sobol(factors: usize, samples: u32, seed: u64) -> Vec<Vec<f64>> {
    let seed = (seed ^ (seed >> 32)) as u32;
    let point = |nth| {
        let dimensions = 0..factors as u32;
        dimensions.map(|dimension| f64::from(sobol_burley::sample(nth, dimension, seed))).collect()
    };
    (0..samples).map(point).collect()
}
