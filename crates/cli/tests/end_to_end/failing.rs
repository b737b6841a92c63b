//! Tests drives that fail during a run, and results on a full disk.

use std::fs::File;

use flashscope_block::{Bytes, Errno};
use flashscope_document::manifest::{Progress, Run, Status};
use flashscope_measure::order;

use crate::{OpenedResult, Scratch, files_of_records, succeeds};

/// The size to which a file is truncated.
const LEFT: Bytes = Bytes::mib(2);

/// Measures a file that is truncated after the first run. Runs of sequential reads, which stay
/// within the truncated file, alternate with runs of random reads, which go beyond its end.
fn measure_a_file_that_is_cut(on_error: &str) -> (Scratch, OpenedResult, String) {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let file = File::create(disk.at("drive")).unwrap();
    file.set_len(Bytes::mib(64).0).unwrap();
    let drive = format!("file:{}", disk.arg("drive"));
    let arguments = ["bench", &drive, "--read-only", "--only", "pause,bursts", "--output", "r"];
    let counts = ["--io-count", "32", "--repeats", "1", "--burst-pause", "1ms"];
    let counts = [&counts[..], &["--run-pause", "0ms"]].concat();
    let mut running = place.start(&[&arguments[..], &counts, &["--on-error", on_error]].concat());
    let folder = place.at("r");
    running.wait_until("a run", || files_of_records(&folder) >= 1);
    file.set_len(LEFT.0).unwrap();
    let (status, stderr) = running.wait();
    assert_eq!(status.code(), Some(1), "{stderr}");
    let measured = place.result("r");
    measured.assert_readable();
    (place, measured, stderr)
}

/// Asserts that a run failed at an IO beyond the end of the file.
fn assert_failed(measured: &OpenedResult, run: &Run) {
    let Progress::Failed { ios, errors, errno, error, offset_bytes } = &run.progress else {
        panic!("run {}: {:?}", run.id, run.progress);
    };
    assert_eq!((*errors, *errno), (1, Errno::ENODATA));
    assert_eq!(error, "ENODATA (unreadable or missing data)");
    assert!(*offset_bytes >= LEFT);
    let records = measured.records(run);
    let last = records.last().unwrap();
    assert_eq!((last.offset, last.result), (*offset_bytes, Err(Errno::ENODATA)));
    assert_eq!(records.len() as u64, *ios);
    assert!(records[..records.len() - 1].iter().all(|record| record.result.is_ok()));
}

fn failed(measured: &OpenedResult) -> Vec<&Run> {
    let failed = |run: &&Run| matches!(run.progress, Progress::Failed { .. });
    measured.manifest.runs().filter(failed).collect()
}

#[test]
fn failed_run_names_its_error_and_the_others_continue() {
    let (place, measured, stderr) = measure_a_file_that_is_cut("continue");
    assert_eq!(measured.manifest.status, Status::Complete);
    let failed = failed(&measured);
    assert!(failed.len() >= 7);
    let message = |run: &&Run| {
        let Progress::Failed { ios, offset_bytes, .. } = &run.progress else { return false };
        let what = "ENODATA (unreadable or missing data) at a read of 32 KiB at offset";
        stderr.contains(&format!(
            "repeat 1): {what} {}, after {} successful IOs. ",
            offset_bytes.0,
            ios - 1
        )) && stderr.contains(&format!("first run {} (", run.id))
    };
    assert!(failed.iter().any(message), "{stderr}");
    let count = format!("flashscope: IO errors ended {} runs, ", failed.len());
    assert!(stderr.starts_with(&count) && stderr.contains("dmesg"), "{stderr}");
    failed.iter().for_each(|run| assert_failed(&measured, run));
    for benchmark in ["pause", "bursts"] {
        for run in measured.experiment(benchmark, "SR") {
            assert_eq!(run.progress, Progress::Done { ios: 32 });
        }
    }
    assert!(measured.experiment("bursts", "RR").iter().all(|run| failed.contains(&run)));
    let summary = place.run(&["report", "r", "--terminal"]).ok().stdout;
    let offset = match &failed[0].progress {
        Progress::Failed { offset_bytes, .. } => offset_bytes.0,
        other => panic!("{other:?}"),
    };
    let line = format!(
        "run {} failed at offset {offset} with ENODATA (unreadable or missing data)\n",
        failed[0].id
    );
    assert!(summary.contains(&line), "{summary}");
    let listed = summary.lines().filter(|line| line.contains(" failed at offset ")).count();
    assert!(listed == failed.len().min(8), "{listed} of {}", failed.len());
    let more = format!("and {} more: ", failed.len().saturating_sub(8));
    assert_eq!(summary.contains(&more), failed.len() > 9, "{summary}");
}

#[test]
fn first_error_ends_all_runs_with_on_error_stop() {
    let (_place, measured, _) = measure_a_file_that_is_cut("stop");
    assert_eq!(measured.manifest.status, Status::Failed);
    let [failed] = failed(&measured)[..] else { panic!("not one failed") };
    assert_failed(&measured, failed);
    assert!(failed.id > 9, "a run of sequential reads failed");
    for run in measured.manifest.runs() {
        match &run.progress {
            Progress::Done { .. } => assert!(run.id < failed.id),
            Progress::Pending => assert!(run.id > failed.id),
            Progress::Skipped { .. } => assert!(run.reference.writes()),
            other => assert_eq!(other, &failed.progress),
        }
    }
}

/// A small file system in memory, which is unmounted when it is dropped.
struct Small<'a>(&'a str);

impl Small<'_> {
    fn mount(at: &str) -> Option<Small<'_>> {
        if succeeds("mount", &["-t", "tmpfs", "-o", "size=2m", "tmpfs", at]) {
            return Some(Small(at));
        }
        println!("skipped: no file system can be mounted here");
        None
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        assert!(succeeds("umount", &[self.0]) || std::thread::panicking(), "{} stays", self.0);
    }
}

#[test]
fn full_disk_keeps_the_result_so_far_and_names_the_file() {
    let place = Scratch::on_disk();
    std::fs::create_dir(place.at("small")).unwrap();
    let at = place.arg("small");
    let Some(small) = Small::mount(&at) else { return };
    // The random addresses in the records of the later runs alone exceed the free space of the file
    // system.
    let more = ["--only", "preparation", "--preparation-io-count", "800000", "--state", "keep"];
    let outcome = place.bench("null:", "small/r", &more);
    let message = outcome.message(1, &place);
    let (_, run) = message.split_once("/run-").unwrap();
    let run: String = run.chars().take(5).collect();
    assert_eq!(
        message,
        format!(
            "flashscope: the measurements are in small/r: cannot write \
             small/r/records/run-{run}-000.unfinished: No space left on device (os error 28); \
             make room, or choose another place for the output"
        )
    );
    let measured = place.result("small/r");
    assert_eq!(measured.manifest.status, Status::Failed);
    measured.assert_readable();
    let order = order(&measured.manifest.micro_benchmarks);
    let place_of = order.iter().position(|id| *id == run.parse::<u32>().unwrap());
    assert_eq!(Some(measured.done().count()), place_of);
    assert!(measured.done().count() > 0);
    let summary = place.run(&["report", "small/r", "--terminal"]).ok().stdout;
    assert!(summary.contains(", failed: "), "{summary}");

    let elsewhere = "page.html";
    let outcome = place.run(&["report", "small/r", "--output", elsewhere]).ok();
    assert_eq!(outcome.stdout, "page.html\n");
    drop(small);
}
