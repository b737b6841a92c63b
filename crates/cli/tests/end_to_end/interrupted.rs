//! Tests benchmarks that are interrupted or killed.

use flashscope_document::manifest::{Progress, Status};

use crate::{OpenedResult, Running, Scratch, files_of_records};

/// Starts a benchmark whose pauses take minutes in total, on a file of `disk`.
fn start(disk: &Scratch, place: &Scratch) -> Running {
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    let count = ["--io-count", "256", "--run-pause", "0ms"];
    let mut running = place.start(
        &[&["bench", &drive, "--only", "pause", "--output", "r.flashscope"], &count[..]].concat(),
    );
    let folder = place.at("r.flashscope");
    running.wait_until("two runs", || files_of_records(&folder) >= 2);
    running
}

/// Asserts that finished runs are kept, and that the plan is incomplete.
fn assert_cut(measured: &OpenedResult) {
    assert!(measured.done().count() >= 1);
    for run in measured.done() {
        assert_eq!(measured.records(run).len(), 256);
    }
    let pending = measured.manifest.runs().filter(|run| run.progress == Progress::Pending);
    assert!(pending.count() > 10);
}

#[test]
fn ctrl_c_keeps_finished_runs_with_status_130() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let running = start(&disk, &place);
    running.signal("-INT");
    let (status, stderr) = running.wait();
    assert_eq!(status.code(), Some(130));
    insta::assert_snapshot!(stderr.trim(), @r"
    stopping: results so far are kept; Ctrl-C again ends at once
    flashscope: interrupted: finished runs are kept; continue with `flashscope bench --resume r.flashscope`
    ");
    let measured = place.result("r.flashscope");
    assert_eq!(measured.manifest.status, Status::Interrupted);
    assert!(measured.manifest.finished.is_some());
    measured.assert_readable();
    assert_cut(&measured);
    let with_ios = measured.manifest.runs().filter(|run| run.progress.ios() > 0).count();
    assert_eq!(measured.json("facts.json")["runs"].as_array().unwrap().len(), with_ios);

    let summary = place.run(&["report", "r.flashscope", "--terminal"]).ok().stdout;
    assert!(summary.contains(", interrupted: "), "{summary}");
    place.run(&["report", "r.flashscope"]).ok();
    assert!(place.at("r.flashscope/report.html").exists());
}

#[test]
fn ctrl_c_ends_the_fill_and_a_long_pause() {
    let place = Scratch::in_memory();
    let state = ["bench", "sim:agrawal-2008", "--output", "state"];
    let mut running = place.start(&state);
    let manifest = place.at("state/manifest.json");
    running.wait_until("a manifest", || manifest.exists());
    running.signal("-INT");
    assert_eq!(running.wait().0.code(), Some(130));
    let measured = place.result("state");
    assert_eq!(measured.manifest.status, Status::Interrupted);
    assert_eq!(measured.done().count(), 0);
    place.run(&["report", "state", "--terminal"]).ok();

    // The runs of SR end before their first pause.
    let counts = ["--io-count", "SR=10,RR=16", "--run-pause", "0ms", "--read-only"];
    let pause = ["bench", "null:", "--output", "pause", "--only", "bursts", "--burst-pause", "24h"];
    let mut running = place.start(&[&pause[..], &counts].concat());
    let folder = place.at("pause");
    running.wait_until("runs without a pause", || files_of_records(&folder) == 7);
    running.signal("-TERM");
    assert_eq!(running.wait().0.code(), Some(130));
    let measured = place.result("pause");
    assert_eq!(measured.manifest.status, Status::Interrupted);
    assert_eq!(measured.done().count(), 7);
    measured.assert_readable();
}

#[test]
fn killed_benchmark_keeps_finished_runs() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let running = start(&disk, &place);
    running.signal("-KILL");
    assert_eq!(running.wait().0.code(), None);
    let measured = place.result("r.flashscope");
    assert_eq!(measured.manifest.status, Status::Running);
    assert_eq!(measured.manifest.finished, None);
    assert_cut(&measured);
    let summary = place.run(&["report", "r.flashscope", "--terminal"]).ok().stdout;
    assert!(summary.contains(", cut off: "), "{summary}");
    assert!(summary.contains("not finished"), "{summary}");
}
