//! From rows to what follows from them.

use flashscope_result::sweep::{
    Counts, Level, Objective, Row, RowStatus, SWEEP_VERSION, Setting, Skipped, Sweep, SweepStatus,
};
use flashscope_stats::{Estimate, mean_of_repeats};

use super::effects::{effects, interactions};
use super::front::front;
use super::{Sampling, Space};

/// What was measured at a point.
pub struct Measured<'a> {
    pub point: u32,
    pub levels: &'a [Option<Level>],
    /// Of each objective the value in each repeat; `None` where one has none.
    pub values: Vec<Option<Vec<f64>>>,
}

impl Measured<'_> {
    /// The mean of each objective, if all have values.
    pub fn means(&self) -> Option<Vec<f64>> {
        Some(self.estimates()?.into_iter().map(|estimate| estimate.value).collect())
    }

    /// Each objective with its interval over the repeats, if all have values.
    pub fn estimates(&self) -> Option<Vec<Estimate>> {
        self.values.iter().map(|values| mean_of_repeats(values.as_ref()?)).collect()
    }

    /// Where it is in the space.
    pub fn settings(&self, names: &[&str]) -> Vec<Setting> {
        settings(self.levels, names)
    }
}

fn settings(levels: &[Option<Level>], names: &[&str]) -> Vec<Setting> {
    let set = names.iter().zip(levels);
    set.filter_map(|(name, level)| Some(Setting { factor: (*name).into(), level: level.clone()? }))
        .collect()
}

/// Groups rows, which are in the order of points and repeats, by points.
fn by_point(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.point == b.point)
}

/// What was measured at the point of these rows: nothing where a repeat is missing or has failed.
pub fn measured<'a>(rows: &'a [Row], objectives: &[Objective], repeats: u32) -> Measured<'a> {
    let done = rows.iter().filter(|row| row.status == RowStatus::Done);
    let whole = done.count() == repeats as usize;
    let values = |objective: &Objective| {
        let numbers = rows.iter().map(|row| row.numbers.get(&objective.field).copied());
        whole.then(|| numbers.collect()).flatten()
    };
    let values = objectives.iter().map(values).collect();
    Measured { point: rows[0].point, levels: &rows[0].levels, values }
}

/// What follows from rows, which are in the order of points and repeats, of a sweep that is at its end
/// or not.
#[must_use]
pub fn finish(space: &Space, rows: &[Row], status: SweepStatus) -> Sweep {
    let names = space.names();
    let count = |status| rows.iter().filter(|row| row.status == status).count() as u64;
    let (asked, points) = match space.sampling {
        Sampling::Search => {
            (u64::from(space.samples) * u64::from(space.repeats), by_point(rows).count() as u64)
        }
        _ => {
            let asked = space.trials().len() as u64;
            (asked, asked / u64::from(space.repeats))
        }
    };
    let objectives = &space.objectives;
    let measured: Vec<Measured<'_>> =
        by_point(rows).map(|rows| measured(rows, objectives, space.repeats)).collect();
    let skipped = by_point(rows).filter_map(|rows| {
        let row = rows.iter().find(|row| row.status != RowStatus::Done)?;
        Some(Skipped {
            point: row.point,
            settings: settings(&row.levels, &names),
            status: row.status,
            reason: row.reason.clone().unwrap_or_default(),
        })
    });
    Sweep {
        schema_version: SWEEP_VERSION,
        status,
        space: space.text.clone(),
        factors: names.iter().map(|name| (*name).into()).collect(),
        objectives: objectives.clone(),
        repeats: space.repeats,
        counts: Counts {
            points,
            asked,
            done: count(RowStatus::Done),
            impossible: count(RowStatus::Impossible),
            failed: count(RowStatus::Failed),
        },
        skipped: skipped.collect(),
        front: front(objectives, &measured, &names),
        effects: effects(space, &measured),
        interactions: interactions(space, &measured),
    }
}
