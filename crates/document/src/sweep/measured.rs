//! Points, of which there is a row for each repeat.

use flashscope_stats::{Estimate, mean_of_repeats};

use super::{Level, Objective, Row, RowStatus, Setting};

/// What was measured at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint<'a> {
    /// The point, from 0, in the order of the sweep.
    pub point: u32,
    /// What each factor is set to; none where it does not apply.
    pub levels: &'a [Option<Level>],
    /// Of each objective the value in each repeat; `None` where one has none.
    pub values: Vec<Option<Vec<f64>>>,
}

impl<'a> MeasuredPoint<'a> {
    /// What was measured at the point of these rows: nothing where a repeat is missing or has failed.
    ///
    /// # Panics
    /// Of no rows.
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

    /// The mean of an objective with its interval over the repeats, if it has values.
    pub fn estimate(&self, objective: usize) -> Option<Estimate> {
        mean_of_repeats(self.values[objective].as_ref()?)
    }

    /// The same of each objective, if all have values.
    pub fn estimates(&self) -> Option<Vec<Estimate>> {
        (0..self.values.len()).map(|objective| self.estimate(objective)).collect()
    }

    /// The mean of each objective, if all have values.
    pub fn means(&self) -> Option<Vec<f64>> {
        Some(self.estimates()?.into_iter().map(|estimate| estimate.value).collect())
    }
}

/// Where a point is in the space: factors that do not apply are left out.
pub fn settings(levels: &[Option<Level>], names: &[&str]) -> Vec<Setting> {
    let set = names.iter().zip(levels);
    set.filter_map(|(name, level)| Some(Setting { factor: (*name).into(), level: level.clone()? }))
        .collect()
}

/// Groups rows, which are in the order of points and repeats, by points.
pub fn by_point(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.point == b.point)
}
