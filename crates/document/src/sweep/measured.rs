//! The points of a sweep, each combined from one row per repeat.

use flashscope_stats::{Estimate, mean_of_repeats};

use super::{Level, Objective, Row, RowStatus, Setting};

/// The results of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint<'a> {
    /// The index of the point, from 0, in the order of the sweep.
    pub point: u32,
    /// The level of each factor; `None` if the factor does not apply.
    pub levels: &'a [Option<Level>],
    /// For each objective, the value in each repeat; `None` if a repeat has none.
    pub values: Vec<Option<Vec<f64>>>,
}

impl<'a> MeasuredPoint<'a> {
    /// Combines the rows of a point. All its values are `None` if a repeat is missing or failed.
    ///
    /// # Panics
    /// If `rows` is empty.
    pub fn of(rows: &'a [Row], objectives: &[Objective], repeats: u32) -> MeasuredPoint<'a> {
        let done = rows.iter().filter(|row| row.status == RowStatus::Done);
        let whole = done.count() == repeats as usize;
        let values = |objective: &Objective| {
            let numbers = rows.iter().map(|row| row.numbers.get(&objective.field).copied());
            whole.then(|| numbers.collect()).flatten()
        };
        let values = objectives.iter().map(values).collect();
        MeasuredPoint { point: rows[0].point, levels: &rows[0].levels, values }
    }

    /// Returns the mean of an objective with its interval over the repeats, if it has values.
    pub fn estimate(&self, objective: usize) -> Option<Estimate> {
        mean_of_repeats(self.values[objective].as_ref()?)
    }

    /// Returns the mean and interval of each objective, if all have values.
    pub fn estimates(&self) -> Option<Vec<Estimate>> {
        (0..self.values.len()).map(|objective| self.estimate(objective)).collect()
    }

    /// Returns the mean of each objective, if all have values.
    pub fn means(&self) -> Option<Vec<f64>> {
        Some(self.estimates()?.into_iter().map(|estimate| estimate.value).collect())
    }
}

/// Returns the coordinates of a point in the space, without factors that do not apply.
pub fn settings(levels: &[Option<Level>], names: &[&str]) -> Vec<Setting> {
    let set = names.iter().zip(levels);
    set.filter_map(|(name, level)| Some(Setting { factor: (*name).into(), level: level.clone()? }))
        .collect()
}

/// Groups rows by point. The rows must be sorted by point and repeat.
pub fn by_point(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.point == b.point)
}
