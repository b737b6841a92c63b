//! fio's job files, and the notation that they share with fio's output.

mod drive;
mod file;
mod job;
pub(crate) mod notation;
mod options;
mod sizes;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flashscope_block::{Bytes, DeviceInfo, DeviceKind};
use flashscope_document::manifest::State;
use flashscope_workload::job::Job;
use flashscope_workload::pattern::Reference;
use flashscope_workload::seed_for;

use crate::Progress;
use job::JobSpec;
pub use options::{HARMLESS, Harmless, JobOption, SUPPORTED, help};

/// A job file, before its drive is known.
pub(crate) struct JobFile {
    /// The jobs that run at the same time, group by group.
    groups: Vec<Vec<JobSpec>>,
    /// Notes about options of the file that have no effect.
    notes: Vec<String>,
}

impl JobFile {
    /// Reads the job file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or has an option or a value that flashscope does not support.
    pub(crate) fn read(path: &Path) -> Result<JobFile> {
        let place = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {place}"))?;
        JobFile::parse(&text).with_context(|| format!("{place}, as a job file of fio"))
    }

    fn parse(text: &str) -> Result<JobFile> {
        let sections = file::sections(text)?;
        if sections.is_empty() {
            bail!("it has no job: a job begins with its name in brackets, such as [randread]");
        }
        options::check_known(&sections)?;
        let mut groups: Vec<Vec<JobSpec>> = Vec::new();
        for section in &sections {
            let spec = JobSpec::read(section)?;
            match groups.last_mut() {
                Some(group) if !spec.starts_group => group.push(spec),
                _ => groups.push(vec![spec]),
            }
        }
        let mut notes = options::notes(&sections);
        notes.extend(groups.iter().flatten().flat_map(|spec| spec.notes.clone()));
        Ok(JobFile { groups, notes })
    }

    fn specs(&self) -> impl Iterator<Item = &JobSpec> {
        self.groups.iter().flatten()
    }

    /// Returns the first job that changes the content of the drive.
    pub(crate) fn writer(&self) -> Option<String> {
        let mut writers = self.specs().filter(|spec| spec.job.writes());
        writers.next().map(|spec| spec.job.name.clone())
    }

    /// Returns the maximum number of IOs in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        let of_group = |group: &Vec<JobSpec>| {
            group.iter().map(|spec| spec.job.in_flight()).fold(0, u32::saturating_add)
        };
        self.groups.iter().map(of_group).max().unwrap_or(1)
    }

    /// Returns the size of the largest IO.
    pub(crate) fn largest_io(&self) -> Bytes {
        self.specs().map(|spec| spec.job.largest_io()).max().unwrap_or_default()
    }

    /// Returns the drive that the jobs name, in the notation of flashscope.
    ///
    /// # Errors
    /// If the jobs name no drive, or several drives.
    pub(crate) fn drive(&self) -> Result<String> {
        drive::name(&self.specs().collect::<Vec<_>>())
    }

    /// Adds notes about the options without effect, the files that the drive `info` replaces, and
    /// reads of an empty drive.
    pub(crate) fn tell(&self, info: &DeviceInfo, state: State, sink: &mut dyn Progress) {
        self.notes.iter().for_each(|note| sink.note(note));
        if self.drive().ok().as_ref() != Some(&info.name) {
            let specs: Vec<_> = self.specs().collect();
            drive::replaced(&specs, &info.name).iter().for_each(|note| sink.note(note));
        }
        let first = self.groups.first().into_iter().flatten();
        let reads_first = first.clone().any(|spec| spec.job.reads_percent > 0);
        if info.kind == DeviceKind::Sim && state == State::Keep && reads_first {
            sink.note(
                "the first jobs read a simulated drive that is empty: choose --state sequential to write it first, as \
                 fio does with its files",
            );
        }
    }

    /// Returns a run for each group, on a drive of `capacity` bytes. `seed` is for jobs without
    /// `randseed`.
    ///
    /// # Errors
    /// If a size or an offset is impossible on the drive.
    pub(crate) fn runs(&self, capacity: Bytes, seed: u64) -> Result<Vec<Reference>> {
        let mut number = 0;
        let mut resolve = |spec: &JobSpec| -> Result<Job> {
            number += 1;
            let job = spec.resolve(capacity)?;
            let seed = spec.seed.unwrap_or_else(|| seed_for(seed, number));
            Ok(Job { seed, ..job })
        };
        let of_group = |group: &Vec<JobSpec>| -> Result<Reference> {
            let jobs = group.iter().map(&mut resolve).collect::<Result<Vec<Job>>>()?;
            let ramp = group[0].ramp;
            if let Some(other) = group.iter().find(|spec| spec.ramp != ramp) {
                bail!(
                    "the jobs `{}` and `{}` run at the same time with different `ramp_time`: give them the same",
                    group[0].job.name,
                    other.job.name
                );
            }
            Ok(Reference::Jobs { jobs, io_ignore: 0, ramp })
        };
        self.groups.iter().map(of_group).collect()
    }
}

#[cfg(test)]
mod against_fio;
#[cfg(test)]
mod tests;
