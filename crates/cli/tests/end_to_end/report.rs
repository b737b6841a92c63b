//! Tests `flashscope demo` and `flashscope report`.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::Scratch;

const REPORT: &str = "<script id=\"report\" type=\"application/json\">";

/// Returns the report in a page, as a browser parses it: up to the first end tag of the element.
fn report_in(page: &str) -> Value {
    let (_, rest) = page.split_once(REPORT).expect("no report in the page");
    let (json, _) = rest.split_once("</script").expect("the element does not end");
    serde_json::from_str(json).unwrap()
}

/// Returns the decompressed data of a page.
fn inflated(packed: &Value) -> Value {
    let gzip = BASE64_STANDARD.decode(packed.as_str().unwrap()).unwrap();
    serde_json::from_reader(GzDecoder::new(&gzip[..])).unwrap()
}

/// Returns a notation in the page by which a browser would fetch something; `None` if there is
/// none.
fn loads_something(page: &str) -> Option<&str> {
    let (head, rest) = page.split_once(REPORT).unwrap();
    let (_, tail) = rest.split_once("</script").unwrap();
    let ways = ["src=\"", "src='", "href=\"http", "href='http", "url(http", "url(//", "@import"];
    let calls = ["fetch(\"http", "fetch('http", "import(\"http", "import('http", "WebSocket("];
    let found = |way: &&&str| head.contains(**way) || tail.contains(**way);
    ways.iter().chain(&calls).find(found).copied()
}

#[test]
fn demo_writes_a_result_with_its_page() {
    let place = Scratch::in_memory();
    fs::create_dir(place.at("demo.flashscope")).unwrap();
    let outcome = place.run(&["demo"]).ok();
    assert!(
        outcome
            .stdout
            .ends_with("\nresult: demo-2.flashscope\nreport: demo-2.flashscope/report.html\n")
    );
    let page = fs::read_to_string(place.at("demo-2.flashscope/report.html")).unwrap();
    assert_eq!(loads_something(&page), None);
    let measured = place.result("demo-2.flashscope");
    measured.assert_readable();
    assert!(page.len() < 15 << 20, "{} bytes", page.len());
    let report = report_in(&page);
    assert_eq!((&report["simulations"], &report["comparisons"]), (&json!([]), &json!([])));
    let report = &report["measurements"][0];
    assert_eq!((&report["id"], &report["name"]), (&json!("demo-2"), &json!("demo-2")));
    assert_eq!(report["manifest"], measured.json("manifest.json"));
    assert_eq!(report["facts"], measured.json("facts.json"));
    let runs = measured.done().count();
    assert!(runs > 250);
    // The compressed views contain a histogram of each run, and every IO of each experiment.
    for views in ["/outlines", "/colours", "/run_views/histogram", "/ios"] {
        let packed = report.pointer(views).unwrap().as_str().unwrap();
        assert!(packed.starts_with("H4sI"), "{views}");
    }
    let graded = |verdict: &&Value| verdict["interest"] != "not_performed";
    assert_eq!(report["facts"]["grid"].as_array().unwrap().iter().filter(graded).count(), 34);
    let judged = |hint: &Value| hint["judgement"] != "not_measured";
    assert!(report["facts"]["hints"].as_array().unwrap().iter().all(judged));
    assert!(outcome.stdout.contains("\nDesign hints of uFLIP for this drive\n"));

    let printed = place.run(&["report", "demo-2.flashscope", "--json"]).ok().stdout;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["manifest"], report["manifest"]);
    assert_eq!(printed["facts"], report["facts"]);
    assert_eq!(printed["outlines"].as_array().unwrap().len(), runs);
}

/// Creates a result `r` of a few runs.
fn few_runs() -> Scratch {
    let place = Scratch::in_memory();
    place.bench("sim:demo", "r", &["--only", "order", "--target-size", "16MiB"]).ok();
    place
}

#[test]
fn each_form_of_the_report_is_written_to_its_place() {
    let place = few_runs();
    let terminal = place.run(&["report", "r", "--terminal"]).ok().stdout;
    assert!(terminal.starts_with("sim:demo: "), "{terminal}");
    assert!(terminal.contains(", complete: ") && terminal.contains("\nOrder, Incr -1 … 256\n"));
    assert!(!place.at("r/report.html").exists());

    let printed = place.run(&["report", "r", "--output", "page.html"]).ok().stdout;
    assert_eq!(printed, "page.html\n");
    assert!(!place.at("r/report.html").exists());
    let printed = place.run(&["report", "r"]).ok().stdout;
    assert_eq!(printed, "r/report.html\n");
    let [page, inside] = ["page.html", "r/report.html"].map(|name| fs::read(place.at(name)));
    assert!(page.unwrap() == inside.unwrap());
}

#[test]
fn names_cannot_end_the_script_element() {
    let place = few_runs();
    let name = "</script><script>alert(1)</script><!--<script>";
    let manifest = place.at("r/manifest.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    value["device"]["name"] = name.into();
    value["device"]["model"] = name.into();
    fs::write(&manifest, value.to_string()).unwrap();
    place.run(&["report", "r"]).ok();
    let page = fs::read_to_string(place.at("r/report.html")).unwrap();
    assert!(!page.contains("<script>alert"));
    assert_eq!(report_in(&page)["measurements"][0]["manifest"]["device"]["name"], name);
}

#[test]
fn page_of_several_results_compares_them() {
    let place = few_runs();
    fs::create_dir(place.at("other")).unwrap();
    place.bench("sim:demo", "other/r", &["--only", "order", "--target-size", "16MiB"]).ok();
    let mark = json!({"micro_benchmark": "order", "experiment": "SW", "interesting": false});
    fs::write(place.at("r/marks.json"), json!({"experiments": [mark]}).to_string()).unwrap();
    let simulated = place.run(&["simulate", "--ios", "1000", "--warmup", "none", "--json"]).ok();
    fs::create_dir(place.at("s.flashscope")).unwrap();
    fs::write(place.at("s.flashscope/simulation.json"), simulated.stdout).unwrap();

    let printed = place.run(&["report", "r", "other/r", "s.flashscope"]).ok().stdout;
    assert_eq!(printed, "report.html\n");
    let report = report_in(&fs::read_to_string(place.at("report.html")).unwrap());
    let ids: Vec<_> =
        report["measurements"].as_array().unwrap().iter().map(|shown| &shown["id"]).collect();
    assert_eq!(ids, [&json!("r"), &json!("r-2")]);
    assert_eq!(report["measurements"][0]["marks"]["experiments"][0]["experiment"], "SW");
    assert_eq!(report["measurements"][1]["marks"]["experiments"], json!([]));
    assert_eq!(report["simulations"][0]["id"], "s");
    assert!(report["simulations"][0]["simulation"].is_object());
    // All numbers of the two results are equal, because their options are the same and their time
    // is virtual.
    let comparisons = report["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 2, "one comparison for each measurement as the baseline");
    for compared in comparisons.iter().map(inflated) {
        let experiments = compared["experiments"].as_array().unwrap();
        let ratios = experiments.iter().flat_map(|e| e["values"].as_array().unwrap());
        let ratios: Vec<_> = ratios.map(|value| &value["results"][1]["ratio"]["value"]).collect();
        assert!(ratios.len() >= 20 && ratios.iter().all(|ratio| **ratio == json!(1.0)));
    }

    let lines = place.run(&["report", "r", "s.flashscope", "--json"]).ok().stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() == 2 && lines[0]["facts"].is_object());
    let refused = place.run(&["report", "s.flashscope", "--terminal"]);
    assert!(refused.message(2, &place).starts_with("flashscope: s is a simulation"));
}

#[test]
fn closed_pipe_is_no_error() {
    let place = few_runs();
    let running = place.start(&["report", "r", "--json"]);
    let (status, stderr) = running.wait_without_reading();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}
