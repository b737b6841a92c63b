//! Surfaces are smooth, and as monotone as their points.

use flashscope_model::{GridError, Surface, Trend};
use proptest::prelude::*;

/// Generates ascending numbers, each at least a twentieth above the previous number.
fn axis() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.05..2.0, 2..8).prop_map(|steps| {
        let mut log = -1.0;
        let next = |step: f64| {
            log += step;
            f64::exp(log)
        };
        steps.into_iter().map(next).collect()
    })
}

/// Generates two axes, and a value for each pair.
fn grid() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<f64>)> {
    (axis(), axis()).prop_flat_map(|(lens, frees)| {
        // Some edges are flat, as in measurements.
        let value = prop_oneof![1 => Just(1.0), 3 => 0.01..100.0_f64];
        let values = prop::collection::vec(value, lens.len() * frees.len());
        (Just(lens), Just(frees), values)
    })
}

/// Makes values rise with length and fall with free space, by cumulative sums.
fn monotone(values: &mut [f64], columns: usize) {
    for at in 0..values.len() {
        let above = if at < columns { 0.0 } else { values[at - columns] };
        let before = if at % columns == 0 { 0.0 } else { values[at - 1] };
        let corner = if at < columns || at % columns == 0 { 0.0 } else { values[at - columns - 1] };
        values[at] += above + before - corner;
    }
    values.chunks_exact_mut(columns).for_each(<[f64]>::reverse);
}

/// Returns a position between two neighbours of an axis.
fn between(axis: &[f64], cell: usize, part: f64) -> f64 {
    (axis[cell].ln() * (1.0 - part) + axis[cell + 1].ln() * part).exp()
}

proptest! {
    // Beyond its edges, the surface is constant.
    #[test]
    fn surfaces_pass_through_their_points((lens, frees, values) in grid()) {
        let surface = Surface::new(&lens, &frees, &values).unwrap();
        for (i, len) in lens.iter().enumerate() {
            for (j, free) in frees.iter().enumerate() {
                let (got, expected) = (surface.at(*len, *free), values[i * frees.len() + j]);
                prop_assert!((got / expected - 1.0).abs() < 1e-9, "{got} for {expected}");
            }
        }
        let (least, most) = (lens[0], frees[frees.len() - 1]);
        let corner = surface.at(least, most);
        for beyond in [0.0, least / 2.0, f64::NAN] {
            prop_assert_eq!(surface.at(beyond, 1e300), corner);
        }
    }

    // The points rise with length and fall with free space.
    #[test]
    fn surfaces_are_monotone_if_all_points_are(
        (lens, frees, mut values) in grid(),
        part in 0.0..1.0,
        other in 0.0..1.0,
    ) {
        monotone(&mut values, frees.len());
        let surface = Surface::new(&lens, &frees, &values).unwrap();
        let (low, high) = if part < other { (part, other) } else { (other, part) };
        for i in 0..lens.len() - 1 {
            for j in 0..frees.len() - 1 {
                for across in [0.0, 0.1, 0.5, part, 0.95, 1.0] {
                    let free = between(&frees, j, across);
                    let [a, b] = [low, high].map(|part| surface.at(between(&lens, i, part), free));
                    prop_assert!(b >= a * (1.0 - 1e-12), "length: {a} {b}");
                    let len = between(&lens, i, across);
                    let [a, b] = [low, high].map(|part| surface.at(len, between(&frees, j, part)));
                    prop_assert!(b <= a * (1.0 + 1e-12), "free space: {a} {b}");
                }
            }
        }
    }

    // Applies to each cell whose two edges in a direction both rise or both fall.
    #[test]
    fn surfaces_are_monotone_in_each_cell((lens, frees, values) in grid(), across in 0.0..1.0, part in 0.0..0.9) {
        let surface = Surface::new(&lens, &frees, &values).unwrap();
        let value = |i: usize, j: usize| values[i * frees.len() + j];
        for i in 0..lens.len() - 1 {
            for j in 0..frees.len() - 1 {
                let rises = [j, j + 1].map(|j| value(i + 1, j) - value(i, j));
                let at = |part: f64| surface.at(between(&lens, i, part), between(&frees, j, across));
                let (a, b) = (at(part), at(part + 0.1));
                prop_assert!(b >= a * (1.0 - 1e-12) || rises.iter().any(|rise| *rise < 0.0));
                prop_assert!(b <= a * (1.0 + 1e-12) || rises.iter().any(|rise| *rise > 0.0));
            }
        }
    }

    // The surface is finite and continuously differentiable across the edges of its cells.
    #[test]
    fn surfaces_are_smooth((lens, frees, values) in grid(), part in 0.0..1.0) {
        let surface = Surface::new(&lens, &frees, &values).unwrap();
        let h = 1e-6;
        for len in &lens[1..lens.len() - 1] {
            for j in 0..frees.len() - 1 {
                let free = between(&frees, j, part);
                let at = |off: f64| surface.at(len * off.exp(), free).ln();
                let [left, here, right] = [-h, 0.0, h].map(at);
                prop_assert!([left, here, right].iter().all(|value| value.is_finite()));
                prop_assert!((right - left).abs() < 1e3 * h, "{left} {right}");
                // The second derivatives of the adjacent cells may differ by several hundred.
                prop_assert!((right - 2.0 * here + left).abs() / h < 0.02, "{left} {here} {right}");
            }
        }
    }

    #[test]
    fn fits_follow_the_given_trends((lens, frees, values) in grid(), at in 0.0..1.0) {
        let (up, down) = (Some(Trend::Rising), Some(Trend::Falling));
        let surface = Surface::fitted(&lens, &frees, &values, up, down).unwrap();
        let along = |axis: &[f64], part: f64| {
            axis[0] * (axis[axis.len() - 1] / axis[0]).powf(part)
        };
        let (mut by_len, mut by_free) = (0.0, f64::INFINITY);
        for step in 0..=50 {
            let part = f64::from(step) / 50.0;
            let value = surface.at(along(&lens, part), along(&frees, at));
            prop_assert!(value >= by_len * (1.0 - 1e-12));
            by_len = value;
            let value = surface.at(along(&lens, at), along(&frees, part));
            prop_assert!(value <= by_free * (1.0 + 1e-12));
            by_free = value;
        }
    }
}

// A fit to noisy points is closer to the underlying law than an interpolation of these points.
#[test]
fn fitting_reduces_noise() {
    let mut rng = fastrand::Rng::with_seed(7);
    let lens: Vec<f64> = (0..12).map(|i| 2f64.powi(i)).collect();
    let frees: Vec<f64> = (0..12).map(|j| 0.01 * 2f64.powi(j)).collect();
    let law = |len: f64, free: f64| (1.0 + 1.0 / free).powf(0.1) / len.powf(0.1);
    let mut noisy = Vec::new();
    for len in &lens {
        noisy.extend(frees.iter().map(|free| law(*len, *free) * (1.0 + 0.2 * (rng.f64() - 0.5))));
    }
    let falling = Some(Trend::Falling);
    let through = Surface::new(&lens, &frees, &noisy).unwrap();
    let fitted = Surface::fitted(&lens, &frees, &noisy, falling, falling).unwrap();
    let off = |surface: &Surface| -> f64 {
        let of = |len: &f64| -> f64 {
            frees
                .iter()
                .map(|free| (surface.at(*len, *free) / law(*len, *free) - 1.0).powi(2))
                .sum()
        };
        lens.iter().map(of).sum()
    };
    assert!(off(&fitted) < 0.6 * off(&through), "{} {}", off(&fitted), off(&through));
}

// A power law, a plane in logarithms, is reproduced exactly, and a curved law closely.
#[test]
fn power_laws_are_reproduced() {
    let lens: Vec<f64> = (0..10).map(|i| 2f64.powi(i)).collect();
    let frees: Vec<f64> = (0..10).map(|j| 0.01 * 2f64.powi(j)).collect();
    let off = |law: &dyn Fn(f64, f64) -> f64| {
        let mut values = Vec::new();
        for len in &lens {
            values.extend(frees.iter().map(|free| law(*len, *free)));
        }
        let surface = Surface::new(&lens, &frees, &values).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let one = |_| {
            let (len, free) = (512f64.powf(rng.f64()), 0.01 * 512f64.powf(rng.f64()));
            (surface.at(len, free) / law(len, free) - 1.0).abs()
        };
        (0..2000).map(one).fold(0.0, f64::max)
    };
    assert!(off(&|len, free| 3.0 * len.powf(-0.5) * free.powf(-0.25)) < 1e-12);
    assert!(off(&|len, free| (1.0 + 1.0 / len) * (1.0 + 0.1 / free)) < 0.01);
}

// Each kind of invalid grid has its own error.
#[test]
fn invalid_grids_are_rejected() {
    let bad = |lens: &[f64], frees: &[f64], values: &[f64]| {
        Surface::new(lens, frees, values).unwrap_err().to_string()
    };
    let (axis, values) = ([1.0, 2.0], [1.0; 4]);
    assert_eq!(bad(&[1.0], &axis, &values), "only 1 mean length; give at least two");
    assert_eq!(
        bad(&axis, &[2.0, 2.0], &values),
        "free space 1 is not above the previous value; sort the values and remove duplicates"
    );
    assert_eq!(
        bad(&axis, &axis, &[1.0, 1.0, 0.0, 1.0]),
        "value 2 is 0; it must be a number above 0"
    );
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(
            Surface::new(&axis, &axis, &[value; 4]),
            Err(GridError::NotPositive { number: 0, .. })
        ));
        assert!(matches!(
            Surface::new(&[1.0, value], &axis, &values),
            Err(GridError::NotPositive { number: 1, .. })
        ));
    }
    let count = Surface::new(&axis, &axis, &values[..3]);
    assert_eq!(count, Err(GridError::Count { values: 3, points: 4 }));
}
