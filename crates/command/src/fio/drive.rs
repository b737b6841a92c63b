//! The drive that jobs name.

use anyhow::{Result, anyhow, bail};

use super::job::{JobSpec, Place};

/// Returns the name of the drive that all jobs use, as a command line of flashscope gives it.
pub(super) fn name(specs: &[&JobSpec]) -> Result<String> {
    let advice = "name the drive to run on, as in `flashscope bench sim:demo --fio-job FILE`";
    let [first, others @ ..] = specs else { bail!("there is no job") };
    if let Some(other) = others.iter().find(|other| other.place != first.place) {
        bail!(
            "the jobs `{}` and `{}` differ in `filename`, `ioengine` or `direct`, and a result has one drive: {advice}",
            first.job.name,
            other.job.name
        );
    }
    if first.place.engine == "null" {
        return Ok("null:".into());
    }
    let Some(file) = &first.place.file else {
        bail!("no job has a `filename`: {advice}");
    };
    if file.starts_with("/dev/") {
        return Ok(format!("{file}?engine={}", engine(&first.place)));
    }
    let mut fields = vec![format!("engine={}", engine(&first.place))];
    if !first.place.is_direct {
        fields.push("direct=false".into());
    }
    let ends: Option<Vec<_>> = specs.iter().map(|spec| spec.absolute_end()).collect();
    match ends.and_then(|ends| ends.into_iter().max()) {
        Some(end) => fields.insert(0, format!("size={}", end.0)),
        None if std::path::Path::new(file).exists() => {}
        None => {
            return Err(anyhow!(
                "`{file}` does not exist: each job needs a `size` in bytes to create it"
            ));
        }
    }
    Ok(format!("file:{file}?{}", fields.join("&")))
}

/// Returns flashscope's engine for an engine of fio.
fn engine(place: &Place) -> &str {
    match place.engine.as_str() {
        "io_uring" if place.is_polled => "io_uring_polled",
        engine @ ("io_uring" | "io_uring_cmd" | "libaio") => engine,
        _ => "psync",
    }
}

/// Returns a note that `drive` replaces the files that the jobs name; `None` if they name no file.
pub(super) fn replaced(specs: &[&JobSpec], drive: &str) -> Option<String> {
    let mut files: Vec<String> =
        specs.iter().filter_map(|spec| Some(format!("`{}`", spec.place.file.as_ref()?))).collect();
    files.sort();
    files.dedup();
    (!files.is_empty())
        .then(|| format!("the jobs run on `{drive}` in place of {}", files.join(", ")))
}
