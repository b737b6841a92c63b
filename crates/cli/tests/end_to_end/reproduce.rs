//! Tests `flashscope reproduce`.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::{Running, Scratch};

/// Table 3 with too few writes for cleaning, so that rows with cleaning differ from the paper.
const FEW: [&str; 4] = ["reproduce", "agrawal-table3", "--set", "writes=80000"];

#[test]
fn list_has_every_item_with_its_source() {
    let listed = Scratch::in_memory().run(&["reproduce"]).ok().stdout;
    assert!(
        listed.contains("agrawal-table3       as printed     Agrawal et al., Table 3: SSD"),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), flashscope_papers::ITEMS.len());
}

#[test]
fn published_and_reproduced_values_are_compared() {
    let place = Scratch::in_memory();
    let outcome = place.run(&FEW);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let shown: String = outcome.stdout.lines().take(8).map(|line| format!("{line}\n")).collect();
    assert_snapshot!(shown, @r"
    Agrawal et al., Table 3: SSD performance under micro-benchmarks (agrawal-table3)
      drive = agrawal-2008
      writes = 80000

                                                     published  reproduced     error  tolerance
      sequential read (us)                                 130       130.6   +0.46 %        1 %  as printed
      sequential read (1/s)                              61255       61256   +0.00 %        1 %  as printed
      sequential read, derived (us)                      130.6       130.6   +0.00 %      0.1 %  as printed
    ");
    assert!(
        outcome.stdout.contains("not reproduced: 12 of 18 claims as printed, 6 not reproduced\n"),
        "{}",
        outcome.stdout
    );
    let outcome = place.run(&[&FEW[..], &["--json"]].concat());
    let value: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("reproduction");
    assert_conforms(&value, &schema, &schema, "reproduction");
    assert_eq!(value["items"][0]["inputs"][1]["value"], "80000");
    assert_eq!(
        value["items"][0]["command"],
        "flashscope reproduce agrawal-table3 --set writes=80000"
    );
    assert_eq!(value["state"], "not-reproduced");
}

#[test]
fn unknown_items_and_inputs_are_refused() {
    let refused = |arguments: &[&str]| {
        let place = Scratch::in_memory();
        place.run(&[&["reproduce"], arguments].concat()).message(2, &place)
    };
    assert_snapshot!(refused(&["agrawal-table33"]), @"flashscope: `agrawal-table33` is not an item (did you mean `agrawal-table3`?); `flashscope reproduce` lists them all");
    assert_snapshot!(refused(&["agrawal-table3", "--set", "drives=demo"]), @"flashscope: this item has no input `drives`; its inputs are: drive, writes");
    assert_snapshot!(refused(&["agrawal-table3", "--set", "writes=many"]), @"flashscope: input `writes`: invalid digit found in string");
    assert_snapshot!(refused(&["agrawal-table3", "--set", "drive=demo"]), @"flashscope: input `drive`: its capacity is below 3.35 GiB");
}

/// Returns the document in the page of the papers.
fn held(place: &Scratch, page: &str) -> Value {
    let page = fs::read_to_string(place.at(page)).unwrap();
    let begin = "<script id=\"report\" type=\"application/json\">";
    let inserted = page.split(begin).nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(inserted).unwrap()
}

#[test]
fn page_has_the_content_of_the_json() {
    let place = Scratch::in_memory();
    let command = ["reproduce", "boboila-figure1", "boboila-equations"];
    let outcome = place.run(&[&command[..], &["--output", "page.html"]].concat()).ok();
    assert!(outcome.stdout.ends_with("page.html\n"), "{}", outcome.stdout);
    let printed = place.run(&[&command[..], &["--json", "--output", "new/folder"]].concat()).ok();
    let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(held(&place, "page.html"), printed);
    assert_eq!(held(&place, "new/folder/papers.html"), printed);
    assert_eq!(printed["items"].as_array().unwrap().len(), 2);
    let errata = printed["errata"].as_array().unwrap();
    assert!(!errata.is_empty() && errata.iter().all(|erratum| erratum["paper"] == "boboila"));
    place.run(&command).ok();
    assert_eq!(place.names(), ["new", "page.html"]);
    let nowhere = place.run(&["reproduce", "all", "--output", "no/such.html"]);
    assert_snapshot!(nowhere.message(1, &place), @"flashscope: cannot write no/such.html: its folder does not exist");
}

#[test]
fn all_prints_a_line_for_each_item_and_ctrl_c_keeps_them() {
    let place = Scratch::in_memory();
    let lines = place.at("lines");
    let mut command = place.command(&["reproduce", "all"]);
    let file = fs::File::create(&lines).unwrap();
    let child = command.stdout(file).stderr(Stdio::piped()).spawn();
    let mut running = Running(Some(child.unwrap()));
    let done = || fs::read_to_string(&lines).unwrap().lines().count();
    running.wait_until("two lines", || done() >= 2);
    running.signal("-INT");
    let (status, message) = running.wait();
    assert_eq!(status.code(), Some(130), "{message}");
    assert!(message.ends_with("flashscope: interrupted\n"), "{message}");
    let text = fs::read_to_string(&lines).unwrap();
    let (item, line) = (flashscope_papers::ITEMS[0], text.lines().next().unwrap());
    let (state, what) = line.split_once(" s ").unwrap();
    let seconds = state.strip_prefix(&format!("{:<20} {:<14}", item.id, item.expected));
    let seconds = seconds.and_then(|seconds| seconds.trim().parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds < 60.0), "{line}");
    assert_eq!(what.trim_start(), format!("{}, {}: {}", item.paper, item.place, item.title));
    let book = held(&place, "papers.html");
    let count = |part: &str| book[part].as_array().unwrap().len();
    assert!(text.contains(&format!("; {} not run\n", count("missing"))), "{text}");
    assert!(text.contains(" claims: ") && text.ends_with("\npapers.html\n"), "{text}");
    assert_eq!(count("items") + count("missing"), flashscope_papers::ITEMS.len());
    assert!(count("items") >= 2 && count("missing") >= 1, "{text}");
    assert!(count("errata") > 10);
}
