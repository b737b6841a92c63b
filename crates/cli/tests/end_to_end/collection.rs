//! Tests `flashscope trace collection`.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::Scratch;
use crate::simulate::{assert_conforms, published};

/// Writes a trace of 3,000 requests to 40 volumes in Alibaba's format, in a folder of 6 files.
/// Volumes continue in later files.
fn files() -> Scratch {
    let place = Scratch::in_memory();
    fs::create_dir(place.at("in")).unwrap();
    for file in 0..6u64 {
        fs::write(place.at(&format!("in/{file}.csv")), lines(file * 500..file * 500 + 500))
            .unwrap();
    }
    fs::write(place.at("all.csv"), lines(0..3000)).unwrap();
    place
}

fn lines(range: std::ops::Range<u64>) -> String {
    let line = |i: u64| {
        let op = if i.is_multiple_of(4) { 'R' } else { 'W' };
        let offset = i * 0x9e37 % 1000 * 4096;
        format!("{:03},{op},{offset},{},{}\n", i * 7 % 61 % 40, 4096 << (i % 2), 1_000_000 + 50 * i)
    };
    range.map(line).collect()
}

/// Returns the statistics that must not depend on the files.
fn statistics(document: &str) -> (Value, Vec<Value>) {
    let mut document: Value = serde_json::from_str(document).unwrap();
    let mut volumes = document["volumes"].as_array().unwrap().clone();
    for volume in &mut volumes {
        volume.as_object_mut().unwrap().remove("files");
    }
    (document["total"].take(), volumes)
}

fn collect(place: &Scratch, output: &str, more: &[&str]) -> String {
    let words = ["trace", "collection", "--json", "--output", output];
    place.run(&[&words, more].concat()).ok().stdout
}

#[test]
fn text_summarises_the_collection() {
    let place = files();
    let outcome = place.run(&["trace", "collection", "in", "--output", "c.flashscope"]).ok();
    assert_eq!(outcome.stderr, "");
    let lines: Vec<_> = outcome.stdout.lines().take(4).map(str::trim_end).collect();
    assert_snapshot!(lines.join("\n"), @r"
    3,000 requests to 40 volumes in 6 files, over 150 ms

      reads         750, 2.93 MiB; sizes: p50 4 KiB, p99 4 KiB, max 4 KiB
      writes        2,250, 14.6 MiB; sizes: p50 8 KiB, p99 8 KiB, max 8 KiB
    ");
    assert!(outcome.stdout.ends_with("\nall volumes: c.flashscope/collection.json\n"));
    assert_eq!(fs::read_dir(place.at("c.flashscope")).unwrap().count(), 1);
}

#[test]
fn json_is_the_same_for_any_files_jobs_and_memory() {
    let place = files();
    let first = collect(&place, "a", &["in"]);
    let schema = published("collection");
    let document: Value = serde_json::from_str(&first).unwrap();
    assert_conforms(&document, &schema, &schema, "collection");
    assert_eq!(document["volumes"].as_array().unwrap().len(), 40);
    let names: Vec<_> =
        document["volumes"].as_array().unwrap().iter().map(|v| &v["name"]).collect();
    assert!(names.is_sorted_by_key(|name| name.as_str().unwrap()));
    assert_eq!(fs::read_to_string(place.at("a/collection.json")).unwrap(), first);
    // The same files give the same bytes.
    for (output, more) in [
        ("b", &["in", "--jobs", "1", "--memory", "1KiB"][..]),
        ("c", &["in/*.csv", "--jobs", "5"][..]),
        ("d", &["in/5.csv", "in/2.csv", "in/*.csv"][..]),
    ] {
        let names = |text: &str| text.replace(&format!("{}/", place.path().display()), "");
        assert_eq!(names(&collect(&place, output, more)), names(&first), "{output}");
    }
    // Another division gives the same statistics.
    let whole = collect(&place, "e", &["all.csv"]);
    let divided = collect(&place, "f", &["all.csv", "--part-size", "5KiB", "--jobs", "3"]);
    assert_eq!(statistics(&whole), statistics(&first));
    assert_eq!(statistics(&divided), statistics(&first));
    let sampled = collect(&place, "g", &["all.csv", "--sample-pages", "64"]);
    assert_eq!(statistics(&sampled).0["requests"], statistics(&first).0["requests"]);
    let rates = |text: &str| statistics(text).1.iter().filter(|v| v["page_rate"] != 1.0).count();
    assert_eq!((rates(&first), rates(&sampled) > 0), (0, true));
}

#[test]
fn interrupted_collection_resumes_to_the_same_bytes() {
    let place = files();
    let whole = collect(&place, "whole", &["in"]);
    let bad: PathBuf = place.at("in/3.csv");
    let good = fs::read_to_string(&bad).unwrap();
    fs::write(&bad, good.replacen(",W,", ",X,", 1)).unwrap();
    let words = ["trace", "collection", "in", "--output", "part", "--jobs", "1"];
    let failed = place.run(&words).message(2, &place);
    for text in ["in/3.csv: line 2: ", "flashscope trace collection --resume part"] {
        assert!(failed.contains(text), "{text}: {failed}");
    }
    // The finished part is not read again, although its file is now invalid. The error in the bad
    // file is corrected.
    let finished = fs::read_to_string(place.at("in/0.csv")).unwrap();
    fs::write(place.at("in/0.csv"), "x".repeat(finished.len())).unwrap();
    fs::write(&bad, &good).unwrap();
    let resumed = place.run(&["trace", "collection", "--resume", "part", "--json"]).ok();
    assert_eq!(resumed.stdout, whole);
    // A complete collection is shown again.
    assert_eq!(
        place.run(&["trace", "collection", "--resume", "part", "--json"]).ok().stdout,
        whole
    );
}

#[test]
fn changed_file_is_refused_on_resume() {
    let place = files();
    fs::write(place.at("in/9.csv"), "9,W,0,4096,1\n9,X,0,4096,1\n").unwrap();
    place.run(&["trace", "collection", "in", "--output", "part"]);
    fs::write(place.at("in/0.csv"), "0,W,0,4096,1\n").unwrap();
    let refused = place.run(&["trace", "collection", "--resume", "part"]).message(2, &place);
    assert!(refused.contains("in/0.csv has changed since"), "{refused}");
}

#[test]
fn bad_files_are_left_out_and_named() {
    let place = files();
    let whole = collect(&place, "whole", &["in"]);
    // The first requests of the bad file must not count either.
    fs::write(place.at("in/7.csv"), "000,W,0,4096,1\n000,W,0,4096,\n").unwrap();
    let words = ["trace", "collection", "in", "-o", "b", "--json", "--on-bad-file", "skip"];
    let outcome = place.run(&words).ok();
    assert_eq!(statistics(&outcome.stdout), statistics(&whole));
    assert!(outcome.stderr.contains("note: left out: in/7.csv: line 2: "), "{}", outcome.stderr);
    let words = ["trace", "collection", "in", "-o", "c", "--json", "--on-bad-line", "skip"];
    let outcome = place.run(&words).ok();
    assert_ne!(statistics(&outcome.stdout), statistics(&whole));
    assert!(outcome.stderr.contains("in/7.csv: 1 bad lines were skipped"), "{}", outcome.stderr);
}

#[test]
fn files_can_have_volumes_of_their_own() {
    let place = files();
    let separate = collect(&place, "s", &["in", "--separate-files"]);
    let volumes = statistics(&separate).1;
    assert!(volumes.len() > 100);
    assert!(volumes.iter().any(|volume| volume["name"] == "0.csv:000"));
}

#[test]
fn wrong_requests_are_refused_with_a_remedy() {
    let place = files();
    for (words, part) in [
        (&["in"][..], "--output"),
        (&["nothing*", "-o", "x"][..], "patterns such as 'traces/*.csv.zst'"),
        (&["--resume", "in"][..], "is not a collection"),
        (&["in", "-o", "x", "--format", "alibab"][..], "did you mean `alibaba`"),
        (&["in", "-o", "in"][..], "exists already"),
    ] {
        let refused = place.run(&[&["trace", "collection"], words].concat()).message(2, &place);
        assert!(refused.contains(part), "{part}: {refused}");
    }
}

/// Returns the predictions, without the name of the collection.
fn predictions(place: &Scratch, collection: &str, more: &[&str]) -> Value {
    let words = ["predict", "--drive", "demo", "--json", "--collection", collection];
    let outcome = place.run(&[&words, more].concat()).ok();
    let mut document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    document["collection"] = Value::Null;
    document
}

#[test]
fn predictions_of_volumes_do_not_depend_on_the_division() {
    let place = files();
    collect(&place, "whole", &["all.csv"]);
    collect(&place, "files", &["in"]);
    collect(&place, "parts", &["all.csv", "--part-size", "5KiB"]);
    let whole = predictions(&place, "whole", &[]);
    let schema = published("collection-prediction");
    assert_eq!(whole["summary"]["predicted"], 40);
    assert_eq!(predictions(&place, "files", &[]), whole);
    assert_eq!(predictions(&place, "parts", &[]), whole);
    // With little memory, a pass over the traces predicts only a few volumes.
    assert_eq!(predictions(&place, "files", &["--memory", "20KB"]), whole);
    let mut named = whole.clone();
    named["collection"] = "whole".into();
    assert_conforms(&named, &schema, &schema, "collection-prediction");
    // Each volume has the prediction of its own trace.
    let spec = "all.csv?volumes=007&remap=compact";
    let one = place.run(&["predict", "--drive", "demo", "--json", "--trace", spec]).ok().stdout;
    let one: Value = serde_json::from_str(&one).unwrap();
    let volumes = whole["volumes"].as_array().unwrap();
    let row = volumes.iter().find(|row| row["name"] == "007").unwrap();
    assert_eq!(row["predicted"]["write_amplification"], one["write_amplification"]);
    assert_eq!(row["predicted"]["passes"], one["passes"]);
}

#[test]
fn volumes_without_a_prediction_have_a_reason() {
    let place = files();
    fs::write(place.at("more.csv"), "700,R,0,4096,1\n").unwrap();
    collect(&place, "c", &["in", "more.csv"]);
    let row = |document: &Value, name: &str| {
        let volumes = document["volumes"].as_array().unwrap();
        let row = volumes.iter().find(|row| row["name"] == name).unwrap();
        assert!(row["predicted"].is_null(), "{row}");
        row["problem"].as_str().unwrap().to_owned()
    };
    let found = predictions(&place, "c", &[]);
    assert_eq!(row(&found, "700"), "it has no writes");
    let found = predictions(&place, "c", &["--memory", "4KB"]);
    assert!(row(&found, "007").contains("--memory 1MiB is enough"), "{found}");
    let unfinished = place.run(&["predict", "--collection", "in"]).message(2, &place);
    assert!(unfinished.contains("is not a collection"), "{unfinished}");
}
