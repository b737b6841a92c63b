//! Draws conclusions from rows.

use flashscope_document::sweep::{
    Counts, MeasuredPoint, Row, RowStatus, SWEEP_VERSION, SkippedPoint, Sweep, SweepStatus,
    by_point, settings,
};

use super::effects::{effects, interactions};
use super::front::front;
use super::regressed::{Conclusions, regressed};
use super::{Sampling, Space};

/// Builds the document of a sweep, complete or not, from rows in the order of points and repeats.
#[must_use]
pub fn finish(space: &Space, rows: &[Row], status: SweepStatus) -> Sweep {
    let names = space.names();
    let count = |status| rows.iter().filter(|row| row.status == status).count() as u64;
    let requested = space.simulations();
    let points = match space.sampling {
        Sampling::Search => by_point(rows).count() as u64,
        _ => requested / u64::from(space.repeats),
    };
    let objectives = &space.objectives;
    let measured: Vec<MeasuredPoint<'_>> =
        by_point(rows).map(|rows| MeasuredPoint::of(rows, objectives, space.repeats)).collect();
    let skipped = by_point(rows).filter_map(|rows| {
        let row = rows.iter().find(|row| row.status != RowStatus::Done)?;
        Some(SkippedPoint {
            point: row.point,
            settings: settings(&row.levels, &names),
            status: row.status,
            reason: row.reason.clone().unwrap_or_default(),
        })
    });
    let Conclusions { effects, interactions, regressions } = match space.sampling {
        Sampling::Full => Conclusions {
            effects: effects(space, &measured),
            interactions: interactions(space, &measured),
            regressions: Vec::new(),
        },
        _ => regressed(space, &measured),
    };
    Sweep {
        schema_version: SWEEP_VERSION,
        status,
        conclusions: Vec::new(),
        space: space.text.clone(),
        factors: names.iter().map(|name| (*name).into()).collect(),
        objectives: objectives.clone(),
        repeats: space.repeats,
        counts: Counts {
            points,
            requested,
            done: count(RowStatus::Done),
            impossible: count(RowStatus::Impossible),
            failed: count(RowStatus::Failed),
        },
        skipped: skipped.collect(),
        front: front(objectives, &measured, &names),
        effects,
        interactions,
        regressions,
    }
}
