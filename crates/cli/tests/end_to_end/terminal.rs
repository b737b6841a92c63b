//! Tests the command line itself: defaults, completions, manual pages, colour, notes and progress.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, Scratch};

const SIMULATE: [&str; 5] = ["simulate", "--workload", "uniform", "--ios", "1000"];

#[test]
fn completions_contain_every_command() {
    let place = Scratch::in_memory();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).ok().stdout;
        for command in ["bench", "what-if", "destroy-data-on"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
        fs::write(place.at(shell), &script).unwrap();
        if let Ok(parsed) = Command::new(shell).arg("-n").arg(place.at(shell)).status() {
            assert!(parsed.success(), "{shell} does not take its script");
        }
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let place = Scratch::in_memory();
    place.run(&["man", "pages"]).ok();
    for name in
        ["flashscope", "flashscope-bench", "flashscope-twin-fit", "flashscope-trace-convert"]
    {
        let page = fs::read_to_string(place.at("pages").join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} ")), "{name}: {page}");
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    let bench = fs::read_to_string(place.at("pages/flashscope-bench.1")).unwrap();
    assert!(bench.contains("destroy") && bench.contains("flashscope bench"), "{bench}");
}

#[test]
fn page_does_not_replace_the_target_of_a_link() {
    let place = Scratch::in_memory();
    fs::create_dir(place.at("pages")).unwrap();
    fs::write(place.at("precious"), "data").unwrap();
    std::os::unix::fs::symlink(place.at("precious"), place.at("pages/flashscope.1")).unwrap();
    place.run(&["man", "pages"]);
    assert_eq!(fs::read_to_string(place.at("precious")).unwrap(), "data");
}

#[test]
fn environment_overrides_the_configuration_file() {
    let place = Scratch::in_memory();
    fs::write(place.at("config.toml"), "[simulate]\nseed = 77\njson = true\n").unwrap();
    let seed = |variables: &[(&str, &str)], more: &[&str]| {
        let mut command = place.command(&[&SIMULATE[..], more].concat());
        command.env("FLASHSCOPE_CONFIG", place.at("config.toml"));
        let outcome = Outcome::of(command.envs(variables.iter().copied())).ok();
        let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        found["seed"].as_u64().unwrap()
    };
    assert_eq!(seed(&[], &[]), 77);
    assert_eq!(seed(&[("FLASHSCOPE_SEED", "78")], &[]), 78);
    assert_eq!(seed(&[("FLASHSCOPE_SEED", "78")], &["--seed", "79"]), 79);
}

#[test]
fn invalid_configuration_is_refused_with_its_path() {
    let place = Scratch::in_memory();
    for (text, part) in [
        ("sede = 1", "did you mean `seed`?"),
        ("destroy-data-on = \"/dev/sda\"", "with each call"),
        ("seed = ", "config.toml"),
        ("[simulate]\nseed = \"many\"", "sets defaults of options"),
    ] {
        fs::write(place.at("config.toml"), text).unwrap();
        let mut command = place.command(&SIMULATE);
        let outcome = Outcome::of(command.env("FLASHSCOPE_CONFIG", place.at("config.toml")));
        let message = outcome.message(2, &place);
        assert!(message.contains(part) && message.contains("config.toml"), "{text}: {message}");
    }
}

#[test]
fn quiet_prints_only_errors() {
    let place = Scratch::in_memory();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces/msr.csv");
    let lines = fs::read_to_string(sample).unwrap() + "this is no request\n";
    fs::write(place.at("bad.csv"), lines).unwrap();
    let stat = ["trace", "stat", "bad.csv", "--on-bad-line", "skip"];
    let noted = place.run(&stat).ok();
    assert!(noted.stderr.contains("note: 1 bad line"), "{}", noted.stderr);
    let quiet = place.run(&[&stat[..], &["--quiet"]].concat()).ok();
    assert_eq!((quiet.stderr.as_str(), quiet.stdout), ("", noted.stdout));
    assert!(place.run(&["simulate", "--workload", "nonsense", "-q"]).stderr.contains("nonsense"));
}

#[test]
fn verbose_prints_each_phase_with_its_duration() {
    let place = Scratch::in_memory();
    let message = place.run(&[&SIMULATE[..], &["--verbose"]].concat()).ok().stderr;
    let phases: Vec<&str> = message.lines().collect();
    assert!(!phases.is_empty());
    for phase in phases {
        assert!(phase.starts_with("flashscope: ") && phase.ends_with('s'), "{message}");
    }
}

#[test]
fn color_option_applies_to_errors() {
    let place = Scratch::in_memory();
    let wrong = ["simulate", "--workload", "nonsense"];
    let message = |more: &[&str]| place.run(&[&wrong[..], more].concat()).stderr;
    assert!(message(&["--color", "always"]).starts_with("\x1b[1;31mflashscope:\x1b[0m "));
    for more in [&[][..], &["--color=auto"], &["--color=never"]] {
        assert!(!message(more).contains('\x1b'), "{more:?}");
    }
    let help = |more: &str| place.run(&["bench", "--help", more]).ok().stdout;
    assert!(help("--color=always").contains('\x1b'));
    assert!(!help("--color=never").contains('\x1b'));
}

#[test]
fn sizes_times_counts_and_shares_parse_as_in_fio() {
    let place = Scratch::in_memory();
    let simulated = |drive: &str, workload: &str, ios: &str| {
        let call = ["simulate", "--drive", drive, "--workload", workload, "--ios", ios, "--json"];
        let found = place.run(&call).ok().stdout;
        let mut found: serde_json::Value = serde_json::from_str(&found).unwrap();
        for asked in ["drive", "wall_ns", "speed", "workload"] {
            found[asked].take();
        }
        found
    };
    let plain = simulated("sim:demo?over_provisioning=0.28", "uniform?size=4KiB&reads=0.3", "1000");
    assert_eq!(plain, simulated("demo?over_provisioning=28%", "uniform?size=4k&reads=30%", "1k"));
    let refused = place.run(&["simulate", "--workload", "uniform", "--duration", "1h30"]);
    assert!(refused.message(2, &place).contains("`1h30m`"), "{}", refused.stderr);
}
