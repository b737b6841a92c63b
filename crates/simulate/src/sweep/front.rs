//! Finds the Pareto front.

use flashscope_document::sweep::{FrontPoint, Goal, MeasuredPoint, Objective, settings};
use heuropt::prelude::{Candidate, Evaluation, Objective as Ranked, ObjectiveSpace, ParetoArchive};

/// Converts objectives for the optimizer.
pub(super) fn ranked(objectives: &[Objective]) -> ObjectiveSpace {
    let ranked = objectives.iter().map(|objective| match objective.goal {
        Goal::Minimize => Ranked::minimize(&objective.field),
        Goal::Maximize => Ranked::maximize(&objective.field),
    });
    ObjectiveSpace::new(ranked.collect())
}

/// Returns the points of the front, in the order of points.
pub(super) fn front(
    objectives: &[Objective],
    measured: &[MeasuredPoint<'_>],
    names: &[&str],
) -> Vec<FrontPoint> {
    let mut archive = ParetoArchive::new(ranked(objectives));
    for (index, point) in measured.iter().enumerate() {
        if let Some(means) = point.means() {
            archive.insert(Candidate::new(index, Evaluation::new(means)));
        }
    }
    // The archive holds only one of several points with equal objectives, so points are matched by
    // value.
    let members: Vec<&Vec<f64>> =
        archive.members().iter().map(|member| &member.evaluation.objectives).collect();
    let point = |measured: &MeasuredPoint<'_>| {
        let values = measured.estimates()?;
        let means: Vec<f64> = values.iter().map(|estimate| estimate.value).collect();
        members.contains(&&means).then(|| FrontPoint {
            point: measured.point,
            settings: settings(measured.levels, names),
            values,
        })
    };
    measured.iter().filter_map(point).collect()
}
