//! Chooses the load for a workload, with defaults for everything that the request does not set.

use flashscope_block::Nanos;
use flashscope_measure::{Length, Load, MAX_IOS, WarmUp};
use flashscope_trace::Survey;
use flashscope_workload::pattern::Reference;
use flashscope_workload::state::InitialContents;
use flashscope_workload::synthetic::{Ios, Workload};

use super::{Error, Work};

/// The number of IOs of an endless workload to measure, unless the request sets the number.
pub(crate) const DEFAULT_IOS: u64 = 1_000_000;

/// Returns the load for a drive that accepts `device_depth` IOs at once.
pub(crate) fn load(
    work: &Work,
    fill: InitialContents,
    workload: &Workload,
    survey: Option<&Survey>,
    device_depth: u32,
) -> Result<Load, Error> {
    let endless = matches!(workload.ios, Ios::Endless(_) | Ios::Application(_));
    let default_warm_up = if endless { WarmUp::Steady } else { WarmUp::None };
    let warm_up = match (work.warm_up.unwrap_or(default_warm_up), survey) {
        (WarmUp::Steady, Some(survey)) => WarmUp::Passes { ios: survey.ios },
        (other, _) => other,
    };
    Ok(Load {
        fill,
        warm_up,
        queue_depth: queue_depth(work, workload, device_depth)?,
        length: length(work, endless, survey)?,
        open_loop: workload.open_loop,
        seed: workload.seed,
    })
}

fn queue_depth(work: &Work, workload: &Workload, device_depth: u32) -> Result<u32, Error> {
    if work.queue_depth == Some(0) {
        return Err(Error::NoDepth);
    }
    let requested = workload.queue_depth.or(work.queue_depth);
    let queue_depth = requested.unwrap_or(if workload.open_loop { device_depth } else { 1 });
    if matches!(workload.ios, Ios::Runs(_)) && work.queue_depth.is_some_and(|depth| depth != 1) {
        return Err(Error::OneEach);
    }
    let streams = match &workload.ios {
        Ios::Endless(_) | Ios::Application(_) | Ios::Trace(_) => 1,
        Ios::Runs(runs) => runs.iter().map(Reference::streams_count).max().unwrap_or(1).into(),
    };
    let in_flight = queue_depth.saturating_mul(streams);
    match in_flight > device_depth {
        true => Err(Error::TooDeep { requested: in_flight, accepted: device_depth }),
        false => Ok(queue_depth),
    }
}

pub(crate) fn length(work: &Work, endless: bool, survey: Option<&Survey>) -> Result<Length, Error> {
    match (work.ios, work.duration, survey) {
        (Some(_), Some(_), _) => Err(Error::TwoLengths),
        (Some(ios @ 1..=MAX_IOS), ..) => Ok(Length::Ios(ios)),
        (Some(_), ..) => Err(Error::NoLength { option: "--ios" }),
        (None, Some(Nanos(0)), _) => Err(Error::NoLength { option: "--duration" }),
        (None, Some(time), _) => Ok(Length::Time(time)),
        (None, None, Some(survey)) => Ok(Length::Ios(survey.ios)),
        (None, None, None) if endless => Ok(Length::Ios(DEFAULT_IOS)),
        (None, None, None) => Ok(Length::Whole),
    }
}
