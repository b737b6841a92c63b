use flashscope_block::{Bytes, suggestion};

use super::{Ios, Kind, SEED, Target, Values, WorkloadError, field};
use crate::pattern::Reference;
use crate::uflip::{self, MicroBenchmark, Setup};

/// The runs of a micro-benchmark of uFLIP, or of one of its experiments, one after the other.
///
/// Runs that the drive has no room for are left out.
pub(super) const KIND: Kind = Kind {
    name: "uflip",
    argument: Some("MICRO-BENCHMARK or MICRO-BENCHMARK/EXPERIMENT"),
    summary: "the runs of a micro-benchmark of uFLIP, or of one of its experiments, in order",
    source: "Bouganim et al., CIDR 2009, section 3.2 and Table 1",
    leaves_out: None,
    fields: &[
        field("size", Some("32KiB"), "bytes in an IO, unless an experiment varies it (IOSize)"),
        field("offset", Some("0"), "start of the target range (TargetOffset)"),
        field(
            "length",
            None,
            "length of the target range (TargetSize) [default: to the end of the drive]",
        ),
    ],
    common: &[SEED],
    open,
};

fn open(values: &Values, target: &Target) -> Result<Ios, WorkloadError> {
    let (name, experiment) = match values.argument.split_once('/') {
        Some((name, experiment)) => (name, Some(experiment)),
        None => (values.argument, None),
    };
    let benchmark = uflip::find(name).ok_or_else(|| unknown_benchmark(name))?;
    let offset: Bytes = values.quantity("offset")?.unwrap_or_default();
    let rest = Bytes(target.capacity.0.saturating_sub(offset.0));
    let length = values.quantity("length")?.unwrap_or(rest);
    if length > rest || length.0 == 0 {
        let field = if rest.0 == 0 { "offset" } else { "length" };
        return Err(values.invalid(field, format!("the drive has only {}", target.capacity)));
    }
    let io_size: Bytes = values.quantity("size")?.unwrap_or_default();
    let block = target.logical_block;
    if io_size.0 == 0 || io_size > length || !io_size.is_multiple_of(block) {
        let rule = format!("it must be a multiple of {block}, and at most {length}");
        return Err(values.invalid("size", rule));
    }
    let paper = Setup::paper(length, target.seed);
    let setup = Setup { io_size, target_offset: offset, ..paper };
    let mut experiments = benchmark.experiments(&setup);
    if let Some(wanted) = experiment {
        let names: Vec<String> = experiments.iter().map(|e| e.name.clone()).collect();
        experiments.retain(|experiment| experiment.name == wanted);
        if experiments.is_empty() {
            return Err(unknown_experiment(benchmark, wanted, &names));
        }
    }
    let runs = experiments.into_iter().flat_map(|experiment| experiment.runs);
    runs_that_fit(runs.map(|run| run.reference), offset + length, target)
}

fn runs_that_fit(
    runs: impl Iterator<Item = Reference>,
    end: Bytes,
    target: &Target,
) -> Result<Ios, WorkloadError> {
    let mut reason = None;
    let mut fits = |run: &Reference| match run.validate(end, target.logical_block) {
        Ok(()) => true,
        Err(error) => {
            reason.get_or_insert(error);
            false
        }
    };
    let runs: Vec<_> = runs.filter(|run| fits(run)).collect();
    match reason {
        Some(reason) if runs.is_empty() => {
            Err(WorkloadError::Uflip(format!("nothing can be run on this drive: {reason}")))
        }
        _ => Ok(Ios::Runs(runs)),
    }
}

fn unknown_benchmark(name: &str) -> WorkloadError {
    let names: Vec<&str> = uflip::all().map(|benchmark| benchmark.name).collect();
    unknown("micro-benchmark", name, &names, "write it like `uflip:granularity`")
}

fn unknown_experiment(benchmark: &MicroBenchmark, name: &str, names: &[String]) -> WorkloadError {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    unknown(&format!("experiment of {}", benchmark.name), name, &names, "leave it out for all")
}

fn unknown(what: &str, name: &str, valid: &[&str], hint: &str) -> WorkloadError {
    let near = suggestion(name, valid.iter().copied());
    let list = valid.join(", ");
    WorkloadError::Uflip(format!(
        "no {what} is called `{name}`{near}; choose one of: {list}; {hint}"
    ))
}
