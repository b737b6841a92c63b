//! Tests `flashscope plan`, and `flashscope bench` with a saved plan or a budget.

use std::fs;

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_document::manifest::{Progress, Run, runs_of};
use flashscope_document::plan::Plan;
use flashscope_measure::order;
use flashscope_workload::pattern::{Pattern, Reference};
use insta::assert_snapshot;
use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::{QUICK, Scratch};

fn planned(place: &Scratch, arguments: &[&str]) -> Plan {
    let outcome = place.run(&[&["plan"][..], arguments, &["--json"]].concat()).ok();
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("plan");
    assert_conforms(&printed, &schema, &schema, "plan");
    serde_json::from_value(printed).unwrap()
}

/// Returns the patterns of a reference, each at the start of the drive.
fn unplaced(reference: &Reference) -> Vec<Pattern> {
    let at_start = |pattern: &Pattern| Pattern { target_offset: Bytes(0), ..*pattern };
    reference.patterns().into_iter().map(at_start).collect()
}

#[test]
fn saved_plan_runs_as_planned() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    let choice = ["--only", "order,granularity", "--repeats", "2"];
    let arguments = [&["plan", &drive, "--output", "plan.json"][..], &choice, &QUICK[2..]].concat();
    let text = place.run(&arguments).ok().stdout;
    assert!(
        text.ends_with("plan: plan.json\nrun it: flashscope bench --plan plan.json\n"),
        "{text}"
    );
    assert!(!disk.at("drive").exists());
    let plan: Plan = serde_json::from_slice(&fs::read(place.at("plan.json")).unwrap()).unwrap();

    place.run(&["bench", "--plan", "plan.json", "--output", "r"]).ok();
    let measured = place.result("r");
    let manifest = &measured.manifest;
    assert_eq!((&manifest.options, &manifest.device), (&plan.options, &plan.device));
    assert_eq!(order(&manifest.micro_benchmarks), order(&plan.micro_benchmarks));
    let disturbed = |run: &&Run| {
        run.conditions.as_ref().is_some_and(|c| !c.repeated_as_disturbed_by.is_empty())
    };
    assert!(plan.estimate.states > 1 && manifest.runs().any(|run| run.reset));
    let ios: u64 = manifest.runs().map(|run| run.progress.ios()).sum();
    assert_eq!((plan.estimate.max.ios, plan.estimate.min.ios), (ios, ios));
    let written = |run: &Run| match run.reference.writes() {
        true => run.progress.ios() * run.reference.largest_io().0,
        false => 0,
    };
    // A run that another program disturbed ran twice. Its first attempt changed the drive, so that
    // the second
    // attempt and later runs are placed elsewhere, or the state is enforced again.
    let twice: u64 = manifest.runs().filter(disturbed).map(written).sum();
    let expected = plan.estimate.expected.bytes_written.0 + twice;
    let is_moved = manifest.runs().any(|run| disturbed(&run));
    for (planned, run) in runs_of(&plan.micro_benchmarks).zip(manifest.runs()) {
        assert_eq!(unplaced(&planned.reference), unplaced(&run.reference));
        let placed = (&planned.reference, planned.reset) == (&run.reference, run.reset);
        assert!(placed || is_moved, "run {}", run.id);
    }
    let spent = manifest.spent.bytes.0;
    assert!(if is_moved { spent >= expected } else { spent == expected }, "{spent} {expected}");
}

#[test]
fn planning_only_reads_the_drive() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let content: Vec<u8> = (0..4 << 20).map(|i: u32| i.to_le_bytes()[1]).collect();
    fs::write(disk.at("drive"), &content).unwrap();
    let drive = format!("file:{}", disk.arg("drive"));
    let plan = planned(&place, &[&drive, "--endurance", "1GiB"]);
    assert!(fs::read(disk.at("drive")).unwrap() == content);
    let costs = plan.estimate.costs;
    assert!(costs.read.measured && !costs.random_write.measured);
    assert!(costs.random_write.of(Bytes::kib(4)) > costs.read.of(Bytes::kib(4)));
    let share = plan.estimate.endurance_share.unwrap();
    #[allow(clippy::cast_precision_loss)]
    let expected = plan.estimate.expected.bytes_written.0 as f64 / Bytes::GIB.0 as f64;
    assert!((share - expected).abs() < 1e-9);
    assert!(place.names().is_empty());
}

#[test]
fn like_takes_costs_from_an_earlier_result() {
    let place = Scratch::in_memory();
    place.bench("sim:demo", "r", &["--only", "granularity", "--io-count", "64"]).ok();
    let facts = place.result("r").json("facts.json");
    let plan = planned(&place, &["sim:demo", "--like", "r"]);
    let random = place.result("r").experiment("granularity", "RW").last().unwrap().clone();
    let facts = facts["runs"].as_array().unwrap().iter().find(|run| run["run"] == random.id);
    let mean = facts.unwrap()["latency_ns"]["mean"]["value"].as_f64().unwrap();
    let cost = plan.estimate.costs.random_write.of(random.reference.largest_io());
    assert!((cost / mean - 1.0).abs() < 1e-6, "{cost} for {mean}");
}

#[test]
fn budget_leaves_out_experiments_and_is_kept() {
    let place = Scratch::in_memory();
    let all = planned(&place, &["sim:demo"]);
    assert!(all.left_out.is_empty());
    let runs = |plan: &Plan| runs_of(&plan.micro_benchmarks).count();
    let mut before = runs(&all);
    for share in [2, 6, 20] {
        let time = Nanos(all.estimate.expected.time_ns.0 / share);
        let time_text = format!("{}ms", time.0 / 1_000_000);
        let plan = planned(&place, &["sim:demo", "--budget-time", &time_text]);
        assert!(plan.estimate.expected.time_ns <= time && runs(&plan) < before);
        assert!(!plan.left_out.is_empty());
        before = runs(&plan);
    }
    let bytes = ["bench", "sim:demo", "--output", "r", "--budget-bytes", "12GiB"];
    let outcome = place.run(&bytes).ok();
    assert!(outcome.stderr.contains("note: left out to keep within the budget: "));
    let measured = place.result("r");
    assert!(measured.manifest.spent.bytes <= Bytes(Bytes::gib(12).0 + Bytes::mib(1).0));
    let skipped = measured.manifest.runs().filter(|run| {
        matches!(&run.progress, Progress::Skipped { reason } if reason.contains("of the budget"))
    });
    assert!(skipped.count() < measured.manifest.runs().count() / 2);
}

#[test]
fn impossible_budget_is_refused_before_any_write() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=64MiB", disk.arg("drive"));
    let arguments = ["bench", &drive, "--output", "r", "--budget-bytes", "16MiB"];
    let message = place.run(&arguments).message(2, &place);
    let (reason, advice) = message.split_once("; ").unwrap();
    assert!(
        reason.starts_with("flashscope: the budget cannot be met: the smallest useful plan takes ")
    );
    assert!(reason.ends_with(" of it to bring the drive into its state"), "{reason}");
    assert_snapshot!(advice, @"allow more, use less of the drive with --target-size, or leave its state with --state keep");
    assert!(!disk.at("drive").exists() && place.names().is_empty());
}

#[test]
fn plan_for_another_drive_or_version_is_refused() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    place.run(&[&["plan", &drive, "--output", "p"][..], &QUICK[2..]].concat()).ok();
    let text = fs::read_to_string(place.at("p")).unwrap();
    let message = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        fs::write(place.at("q"), text.replacen(old, new, 1)).unwrap();
        let message = place.run(&["bench", "--plan", "q", "--output", "r"]).message(2, &place);
        assert!(!disk.at("drive").exists() && !place.at("r").exists());
        message.replace(disk.path().to_str().unwrap(), "DISK")
    };
    let capacity = format!("\"capacity_bytes\": {}", 16 << 20);
    assert_snapshot!(message(&capacity, "\"capacity_bytes\": 8388608"), @"flashscope: `file:DISK/drive?size=16MiB` is not the drive that was planned for: its capacity was 8 MiB and is 16 MiB");
    let version = message("\"version\": \"", "\"version\": \"9");
    assert!(version.starts_with("flashscope: the plan was made by flashscope 9"), "{version}");
    assert!(version.ends_with("run `flashscope plan` again"), "{version}");
    let newer = message("\"schema_version\": 2", "\"schema_version\": 3");
    assert_snapshot!(newer, @"flashscope: q has format version 3; this flashscope reads up to 2: run `flashscope plan` again");
    fs::write(place.at("q"), "{}").unwrap();
    let none = place.run(&["bench", "--plan", "q"]).message(2, &place);
    assert!(none.starts_with("flashscope: q is not a plan saved by `flashscope plan`"), "{none}");
    let both = place.run(&["bench", "null:", "--plan", "p"]).message(2, &place);
    assert!(both.contains("cannot be used with"), "{both}");
    let again = place.run(&["plan", "null:", "--output", "p"]).message(2, &place);
    assert_snapshot!(again, @"flashscope: p exists already: choose another name");
}

#[test]
fn read_only_plan_contains_no_writes() {
    let plan = planned(&Scratch::in_memory(), &["sim:demo", "--read-only"]);
    assert_eq!((plan.estimate.states, plan.estimate.max.bytes_written), (0, Bytes(0)));
    let pending = runs_of(&plan.micro_benchmarks).filter(|run| run.progress == Progress::Pending);
    let mut ops = pending.flat_map(|run| run.reference.patterns()).map(|pattern| pattern.op);
    assert!(ops.all(|op| op == Op::Read));
}
