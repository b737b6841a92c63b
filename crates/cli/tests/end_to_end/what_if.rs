//! Tests `flashscope what-if`.

use std::fs::{self, File};

use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::{Running, Scratch};

/// Options for a small drive, whose simulation takes milliseconds.
const DRIVE: [&str; 2] = [
    "--drive",
    "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=128",
];
const QUICK: [&str; 4] = ["--ios", "20000", "--warmup", "1x"];

fn run(place: &Scratch, options: &[&str]) -> crate::Outcome {
    place.run(&[&["what-if"], &DRIVE[..], &QUICK, options].concat())
}

fn json(place: &Scratch, options: &[&str]) -> Value {
    let printed = run(place, &[&["--json"], options].concat()).ok().stdout;
    serde_json::from_str(&printed).unwrap()
}

/// Returns a quantity of a variant.
fn simulated<'v>(variant: &'v Value, quantity: &str) -> &'v Value {
    let all = variant["simulated"].as_array().unwrap();
    all.iter().find(|found| found["quantity"] == quantity).unwrap()
}

#[test]
fn rows_equal_those_of_simulate_and_predict() {
    let place = Scratch::in_memory();
    let asked = ["--change", "over_provisioning=0.3", "--repeats", "1", "--seed", "5"];
    let found = json(&place, &[&asked[..], &["--output", "kept"]].concat());
    let schema = published("what-if");
    assert_conforms(&found, &schema, &schema, "what-if");
    assert_eq!(json(&place, &[&asked[..], &["--jobs", "3"]].concat()), found);
    let kept = fs::read(place.at("kept/what-if.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), found);
    // `report` reads the folder again, and prints its tables or writes its page.
    let again = place.run(&["report", "kept", "--json"]).ok().stdout;
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), found);
    let tables = place.run(&["report", "kept", "--terminal"]).ok().stdout;
    assert!(
        tables.contains("expected by models") && tables.contains("over_provisioning"),
        "{tables}"
    );
    place.run(&["report", "kept"]).ok();
    let page = fs::read_to_string(place.at("kept/report.html")).unwrap();
    assert!(page.contains(r#""what_ifs":[{"id":"kept","name":"kept","what_if":{"#));
    for variant in [&found["base"], &found["variants"][0]] {
        let drive = ["--drive", variant["drive"].as_str().unwrap(), "--seed", "5", "--json"];
        let alone = place.run(&[&["simulate"], &drive[..], &QUICK].concat()).ok().stdout;
        let alone: Value = serde_json::from_str(&alone).unwrap();
        for (quantity, path) in [
            ("latency_ns.mean", "/latency_ns/mean/value"),
            ("latency_ns.p99", "/latency_ns/p99"),
            ("ios_per_second", "/ios_per_second"),
            ("write_amplification", "/write_amplification"),
        ] {
            let value = simulated(variant, quantity)["value"]["value"].as_f64();
            assert_eq!(value, alone.pointer(path).unwrap().as_f64(), "{quantity}");
        }
        let predicted = place.run(&[&["predict"], &drive[..]].concat()).ok().stdout;
        let predicted: Value = serde_json::from_str(&predicted).unwrap();
        let expected = variant["closed_form"]["expected"].as_array().unwrap();
        let expected = expected.iter().find(|one| one["quantity"] == "write_amplification");
        assert_eq!(expected.unwrap()["value"], predicted["write_amplification"]["value"]);
    }
    let difference = &simulated(&found["variants"][0], "write_amplification")["difference"];
    assert_eq!(difference["sign"], -1, "more free space, less to move: {difference}");
}

#[test]
fn table_has_predictions_before_simulations() {
    let place = Scratch::in_memory();
    let text = run(
        &place,
        &["--change", "over_provisioning=0.3", "--name", "more space"]
            .into_iter()
            .chain(["--change", "over_provisioning=3", "--change", "workload.trims=0.2"])
            .chain(["--change", "workload=hotcold,cleaning.frontiers=hot-and-cold"])
            .collect::<Vec<_>>(),
    )
    .ok()
    .stdout;
    let (models, simulated) = text.split_once("\nsimulated ").unwrap();
    for part in [models, simulated] {
        for name in ["baseline ", "more space ", "over_provisioning=3\n", "workload.trims=0.2 "] {
            assert!(part.contains(&format!("\n{name}")), "{name:?}: {text}");
        }
    }
    assert!(models.contains("3 simulations each, seeds from 1"), "{text}");
    assert!(models.contains("not modelled: other idle time of packages"), "{text}");
    let (_, of_last) =
        models.split_once("\nworkload=hotcold, cleaning.frontiers=hot-and-cold\n").expect(&text);
    assert!(of_last.contains("no predicted change: "), "{text}");
    assert!(!of_last.contains('%'), "{text}");
    assert!(simulated.contains("impossible: profile field `over_provisioning` is 3"), "{text}");
    let (_, end) = text.split_once("\nof 4 variants: 1 impossible\n").expect(&text);
    assert!(end.contains("more space by 60 %"), "{text}");
    assert!(end.contains("lowers the mean response time by"), "{text}");
}

#[test]
fn twin_is_accepted_as_a_drive() {
    let place = Scratch::in_memory();
    let profile = "[flash]\npackages = 1\ndies_per_package = 1\nblocks_per_plane = 128\n";
    fs::write(place.at("twin.toml"), profile).unwrap();
    let asked = ["what-if", "--drive", "sim:./twin.toml", "--change", "over_provisioning=0.3"];
    let more = ["--change", "drive=sim:./twin.toml?over_provisioning=0.3", "--repeats", "1"];
    let options = [&asked[..], &more, &QUICK, &["--json"]].concat();
    let found: Value = serde_json::from_str(&place.run(&options).ok().stdout).unwrap();
    assert_eq!(found["variants"][0]["simulated"], found["variants"][1]["simulated"]);
}

#[test]
fn invalid_question_is_refused_with_the_nearest_field() {
    let place = Scratch::in_memory();
    let message = |options: &[&str]| run(&place, options).message(2, &place);
    for (options, words) in [
        (&["--change", "over_provisionin=0.1"][..], "did you mean `over_provisioning`?"),
        (&["--change", "fast"], "`fast` changes nothing: write it like"),
        (&["--change", "ftl=fast", "--name", "a", "--name", "b"], "--name is given 2 times"),
        (&["--change", "ftl=fast", "--change", "ftl=fast"], "two variants are named `ftl=fast`"),
        (&["--change", "ftl=fast", "--repeats", "0"], "--repeats"),
        (&["--change", "ftl=fast", "--workload", "unifrm"], "did you mean `uniform`?"),
        (&[], "--change"),
        (&["--change", "over_provisioning=3"], "none of the 1 variants can be simulated"),
    ] {
        let message = message(options);
        assert!(message.contains(words), "{message}");
    }
    let real = place.run(&["what-if", "--drive", "/dev/sda", "--change", "ftl=fast"]);
    assert!(real.message(2, &place).contains("is not a simulated drive"));
    assert!(place.names().is_empty());
    fs::create_dir(place.at("there")).unwrap();
    assert!(message(&["--change", "ftl=fast", "--output", "there"]).contains("exists already"));
}

#[test]
fn ctrl_c_prints_the_simulations_so_far() {
    let place = Scratch::in_memory();
    let changes = ["0.2", "0.22", "0.24", "0.26", "0.28", "0.3", "0.32", "0.34"];
    let changes: Vec<String> =
        changes.iter().map(|share| format!("--change=over_provisioning={share}")).collect();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let rest = ["--ios", "1000000", "--jobs", "1", "--repeats", "2", "--output", "kept"];
    let mut command = place.command(&[&["what-if"], &DRIVE[..], &changes, &rest].concat());
    command.stdout(File::create(place.at("printed")).unwrap());
    let mut running = Running(Some(command.stderr(std::process::Stdio::piped()).spawn().unwrap()));
    let printed = || fs::read_to_string(place.at("printed")).unwrap();
    running.wait_until("a row", || {
        let text = printed();
        text.split_once("\nsimulated ").is_some_and(|(_, rows)| rows.contains("\nbaseline "))
    });
    running.signal("-INT");
    let (status, stderr) = running.wait();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("of 8 variants were simulated before the interruption"), "{stderr}");
    assert!(printed().contains("not simulated: UNFINISHED"), "{}", printed());
    let kept: Value =
        serde_json::from_slice(&fs::read(place.at("kept/what-if.json")).unwrap()).unwrap();
    assert_eq!((&kept["status"], &kept["base"]["status"]), (&"unfinished".into(), &"done".into()));
    assert!(kept["variants"][7]["status"].is_null());
    assert!(kept["variants"][7]["closed_form"].is_object());
}
