//! `flashscope demo` and `flashscope report`.

use std::fs;

use serde_json::Value;

use crate::Scratch;

const REPORT: &str = "<script id=\"report\" type=\"application/json\">";

/// The report that a page holds, as a browser finds it: up to the first end of the element.
fn report_in(page: &str) -> Value {
    let (_, rest) = page.split_once(REPORT).expect("no report in the page");
    let (json, _) = rest.split_once("</script").expect("the element does not end");
    serde_json::from_str(json).unwrap()
}

/// Whether the page names something that a browser would fetch.
fn loads_something(page: &str) -> Option<&str> {
    let (head, rest) = page.split_once(REPORT).unwrap();
    let (_, tail) = rest.split_once("</script").unwrap();
    let ways = ["src=\"", "src='", "href=\"http", "href='http", "url(http", "url(//", "@import"];
    let calls = ["fetch(\"http", "fetch('http", "import(\"http", "import('http", "WebSocket("];
    let found = |way: &&&str| head.contains(**way) || tail.contains(**way);
    ways.iter().chain(&calls).find(found).copied()
}

// Does the demo write a result with its page and print where, and the next demo another?
#[test]
fn demo() {
    let place = Scratch::in_memory();
    let outcome = place.run(&["demo"]).ok();
    assert!(
        outcome
            .stdout
            .ends_with("\nresult: demo.flashscope\nreport: demo.flashscope/report.html\n")
    );
    let page = fs::read_to_string(place.at("demo.flashscope/report.html")).unwrap();
    assert_eq!(loads_something(&page), None);
    let measured = place.result("demo.flashscope");
    measured.assert_readable();
    let report = report_in(&page);
    assert_eq!(report["manifest"], measured.json("manifest.json"));
    assert_eq!(report["facts"], measured.json("facts.json"));
    let runs = measured.done().count();
    assert!(runs > 250);
    // The page has them compressed.
    assert!(report["outlines"].as_str().unwrap().starts_with("H4sI"));

    let printed = place.run(&["report", "demo.flashscope", "--json"]).ok().stdout;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["manifest"], report["manifest"]);
    assert_eq!(printed["facts"], report["facts"]);
    assert_eq!(printed["outlines"].as_array().unwrap().len(), runs);

    let second = place.run(&["demo"]).ok();
    assert!(second.stdout.ends_with("report: demo-2.flashscope/report.html\n"));
    assert_eq!(place.names(), ["demo-2.flashscope", "demo.flashscope"]);
    assert_eq!(second.stdout.lines().next(), outcome.stdout.lines().next());
}

/// A result `r` of a few runs.
fn few_runs() -> Scratch {
    let place = Scratch::in_memory();
    place.bench("sim:demo", "r", &["--only", "order", "--target-size", "16MiB"]).ok();
    place
}

// Is each form of the report written where it should be, and nothing else?
#[test]
fn forms() {
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

// Can no name in a result end the element that holds the report, and is it shown as it is?
#[test]
fn hostile_names() {
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
    assert_eq!(report_in(&page)["device"], Value::Null);
    assert_eq!(report_in(&page)["manifest"]["device"]["name"], name);
}

// Is a reader that has enough, such as `head`, no error?
#[test]
fn a_reader_that_has_enough() {
    let place = few_runs();
    let running = place.start(&["report", "r", "--json"]);
    let (status, stderr) = running.wait_without_reading();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}
