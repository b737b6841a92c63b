//! Tests `--help` and its examples.

use std::fs;
use std::path::Path;

use crate::Scratch;

const COMMANDS: [&str; 17] = [
    "devices", "plan", "bench", "probe", "simulate", "what-if", "sweep", "predict", "verify",
    "watch", "report", "compare", "import", "serve", "registry", "submit", "demo",
];

const TWIN_COMMANDS: [&str; 3] = ["fit", "check", "predict"];

/// Returns the examples in the help of a command, split as by a shell.
fn examples(place: &Scratch, command: &str) -> Vec<Vec<String>> {
    let help = place.run(&[command, "--help"]).ok().stdout;
    let (_, examples) = help.split_once("\nExample").unwrap_or_else(|| panic!("{command}: none"));
    let lines = examples.lines().skip(1).map(str::trim).filter(|line| !line.is_empty());
    let split = |line| shlex::split(line).unwrap_or_else(|| panic!("no shell takes {line}"));
    lines.map(split).collect()
}

/// The trace of the examples.
const TRACE: &str = "hm_0.csv.gz";

const OUTPUT: [&str; 2] = ["--output", "result"];

/// Copies the trace into the folder. The file is not compressed, despite its name; flashscope
/// detects that.
fn with_a_trace(place: Scratch) -> Scratch {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces/msr.csv");
    fs::copy(sample, place.at(TRACE)).unwrap();
    place
}

/// Starts a benchmark that writes `result`, and kills it once it measures. A short benchmark may
/// end before the kill.
fn starts(place: &Scratch, arguments: &[&str], result: &str) {
    let manifest = place.at(result).join("manifest.json");
    let mut running = place.start(arguments);
    if running.reaches("a manifest", || manifest.exists()) {
        running.signal("-KILL");
    }
    let (_, stderr) = running.wait();
    assert!(manifest.exists(), "{arguments:?}: {stderr}");
}

#[test]
fn help_lists_every_command_and_gives_examples() {
    let place = Scratch::in_memory();
    let overview = place.run(&["--help"]).ok().stdout;
    for command in COMMANDS {
        assert!(overview.contains(&format!("\n  {command} ")), "{overview}");
        let examples = examples(&place, command);
        assert!(!examples.is_empty());
        for example in examples {
            assert_eq!(example[..2], ["flashscope", command]);
        }
    }
}

#[test]
fn help_of_twin_lists_its_commands_with_examples() {
    let place = Scratch::in_memory();
    assert!(place.run(&["--help"]).ok().stdout.contains("\n  twin "));
    let overview = place.run(&["twin", "--help"]).ok().stdout;
    for command in TWIN_COMMANDS {
        assert!(overview.contains(&format!("\n  {command} ")), "{overview}");
        let help = place.run(&["twin", command, "--help"]).ok().stdout;
        assert!(help.contains(&format!("\n  flashscope twin {command} ")), "{help}");
    }
}

#[test]
fn examples_of_devices_work() {
    let place = Scratch::in_memory();
    for example in examples(&place, "devices") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        assert!(!place.run(&arguments).ok().stdout.is_empty());
    }
    assert!(place.names().is_empty());
}

#[test]
fn examples_of_plan_work_and_write_only_the_plan() {
    let place = Scratch::in_memory();
    for example in examples(&place, "plan") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        if !arguments[1].starts_with("/dev/") {
            assert!(place.run(&arguments).ok().stdout.contains("In this order:"));
        }
    }
    assert!(place.names().is_empty());
}

// If this machine lacks the device of an example, the error must name the device.
#[test]
fn examples_of_bench_work() {
    let disk = Scratch::on_disk();
    for example in examples(&disk, "bench") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        let place = with_a_trace(Scratch::on_disk());
        if let Some(option) = arguments.iter().position(|word| *word == "--fio-job") {
            let jobs = "[job]\nfilename=scratch.img\nrw=randwrite\nsize=1m\n";
            fs::write(place.at(arguments[option + 1]), jobs).unwrap();
            fs::write(place.at("scratch.img"), vec![0; 1 << 20]).unwrap();
        }
        if arguments[1] == "--resume" {
            let message = place.run(&arguments).message(2, &place);
            assert!(message.contains("RESULT.flashscope is not a result"), "{message}");
        } else if arguments[1] == "--plan" {
            let drive = "file:scratch.img?size=64MiB";
            place.run(&["plan", drive, "--output", "PLAN.json"]).ok();
            starts(&place, &[&arguments[..], &OUTPUT].concat(), "result");
        } else if !arguments[1].starts_with("/dev/") {
            starts(&place, &[&arguments[..], &OUTPUT].concat(), "result");
        } else if Path::new(arguments[1]).exists() {
            println!("skipped: this machine has {}", arguments[1]);
        } else {
            let message = place.run(&arguments).message(2, &place);
            let expected = "flashscope: device `/dev/nvme1n1` does not exist: `lsblk` lists the available ones";
            assert!(message.starts_with(expected), "{message}");
        }
    }
}

#[test]
fn examples_of_report_and_demo_work() {
    let place = Scratch::in_memory();
    let results = ["demo.flashscope", "old.flashscope", "new.flashscope"];
    for result in results {
        place.bench("null:", result, &["--only", "order", "--read-only"]).ok();
    }
    let twins = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/twins");
    for end in ["toml", "twin.json"] {
        let twin = twins.join(format!("bench-v1.{end}"));
        std::fs::copy(twin, place.at(&format!("drive.{end}"))).unwrap();
    }
    for example in examples(&place, "report") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        place.run(&arguments).ok();
    }
    assert_eq!(
        place.names(),
        [
            "compared.html",
            "demo.flashscope",
            "demo.html",
            "drive.toml",
            "drive.twin.json",
            "new.flashscope",
            "old.flashscope",
            "twin.html"
        ]
    );
    for example in examples(&place, "demo") {
        let arguments = example[1..].iter().map(|argument| argument.replace("/tmp/", "own-"));
        let arguments: Vec<String> = arguments.collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        starts(&place, &arguments, "own-demo.flashscope");
    }
}

#[test]
fn examples_of_query_work() {
    let place = Scratch::in_memory();
    place.bench("null:", "demo.flashscope", &["--only", "order", "--read-only"]).ok();
    for example in examples(&place, "query") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        place.run(&arguments).ok();
    }
}

#[test]
fn examples_of_compare_work() {
    let place = Scratch::in_memory();
    for result in ["old.flashscope", "new.flashscope", "drive.flashscope"] {
        place
            .bench(
                "sim:demo",
                result,
                &["--only", "granularity", "--io-size", "4KiB", "--repeats", "2"],
            )
            .ok();
    }
    let simulate = ["--ios", "20000", "--warmup", "none"];
    let output = ["--output", "simulation.flashscope"];
    place.run(&[&["simulate"], &simulate[..], &output].concat()).ok();
    let predicted = place.run(&["predict", "--json"]).ok().stdout;
    fs::write(place.at("prediction.json"), predicted).unwrap();
    for example in examples(&place, "compare") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        assert!(!place.run(&arguments).ok().stdout.is_empty());
    }
}

#[test]
fn examples_of_import_work() {
    let place = Scratch::in_memory();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fio");
    fs::create_dir(place.at("logs")).unwrap();
    for entry in fs::read_dir(&testdata).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let copies = if name.ends_with(".log") {
            vec![name.into(), format!("logs/{name}")]
        } else {
            vec![name.into()]
        };
        copies.iter().for_each(|copy: &String| {
            fs::copy(&path, place.at(copy)).unwrap();
        });
    }
    fs::rename(place.at("four.json"), place.at("fio.json")).unwrap();
    for example in examples(&place, "import") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        assert!(place.run(&arguments).ok().stdout.contains("scratch.img"));
    }
}

// The test omits the warm-up, which is slow, from examples that have options but do not set it.
#[test]
fn examples_of_simulate_work() {
    let place = with_a_trace(Scratch::in_memory());
    for example in examples(&place, "simulate") {
        let has = |option: &str| example.iter().any(|argument| argument == option);
        let own = example.len() == 2 || has("--warmup") || has("--list");
        let short: &[&str] = if own { &[] } else { &["--warmup", "none"] };
        let words = example[1..].iter().map(String::as_str);
        let arguments: Vec<&str> = words.chain(short.iter().copied()).collect();
        assert!(!place.run(&arguments).ok().stdout.is_empty());
    }
    assert_eq!(place.names(), ["demo-sim.flashscope", "events.json", TRACE]);
}

#[test]
fn examples_of_predict_work() {
    let place = with_a_trace(Scratch::in_memory());
    let drive = "sim:flashsim-2009?flash.planes_per_die=1&flash.blocks_per_plane=600&log.blocks=30";
    let grid = ["--grid", "--grid-lengths", "1,16", "--grid-spaces", "2,10"];
    place.run(&[&["bench", drive, "--output", "RESULT.flashscope"], &grid[..]].concat()).ok();
    place.run(&["trace", "collection", TRACE, "--output", "cloud.flashscope"]).ok();
    for example in examples(&place, "predict") {
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        assert!(!place.run(&arguments).ok().stdout.is_empty());
    }
    assert_eq!(place.names(), ["RESULT.flashscope", "cloud.flashscope", TRACE]);
}

// The test adds options that shorten the simulations.
#[test]
fn examples_of_what_if_work() {
    let place = with_a_trace(Scratch::in_memory());
    for example in examples(&place, "what-if") {
        let short = ["--warmup", "none", "--repeats", "1", "--ios", "500"];
        let given = |option: &str| example.iter().any(|argument| argument == option);
        let short = short.chunks(2).filter(|option| !given(option[0])).flatten().copied();
        let arguments: Vec<&str> = example[1..].iter().map(String::as_str).chain(short).collect();
        assert!(!place.run(&arguments).ok().stdout.is_empty());
    }
    assert_eq!(place.names(), ["a.flashscope", TRACE]);
}
