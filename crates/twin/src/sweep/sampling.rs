//! Which points of a space are taken, as shares (0 to below 1) of the way along each factor.

use serde::Deserialize;

/// How points are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// All of them.
    Full,
    /// So many, each factor cut into as many parts, of which each has one point (M. D. McKay,
    /// R. J. Beckman and W. J. Conover, *Technometrics* 21(2), 1979).
    LatinHypercube,
    /// So many of a Sobol sequence that is scrambled by the seed: a longer one begins with the same.
    Sobol,
    /// So many at most, found by NSGA-II (Deb et al., *IEEE Transactions on Evolutionary
    /// Computation* 6(2), 2002), which looks for the Pareto front.
    Search,
}

/// The most points of a Sobol sequence, and so of every sample.
pub const MOST_SAMPLES: u32 = 1 << 16;

/// The most factors: dimensions of a Sobol sequence.
pub const MOST_FACTORS: usize = 256;

/// `samples` points of a Latin hypercube.
#[allow(clippy::cast_precision_loss, reason = "points are few")]
pub fn latin_hypercube(factors: usize, samples: u32, seed: u64) -> Vec<Vec<f64>> {
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

/// The first `samples` points of a Sobol sequence.
#[allow(clippy::cast_possible_truncation, reason = "the seed is folded to 32 bits")]
pub fn sobol(factors: usize, samples: u32, seed: u64) -> Vec<Vec<f64>> {
    let seed = (seed ^ (seed >> 32)) as u32;
    let point = |nth| {
        let dimensions = 0..factors as u32;
        dimensions.map(|dimension| f64::from(sobol_burley::sample(nth, dimension, seed))).collect()
    };
    (0..samples).map(point).collect()
}
