//! `flashscope twin`: from results to a profile, and back.

use std::fs;

use crate::Scratch;

/// Uniform writes on a drive with 1200 MiB of flash, in the closed form of FIFO garbage collection
/// (write amplification:
/// 1.2550 at alpha = flash / data = 2, 1.7158 at 1.5, 2.3642 at 1.3).
const SWEEP: &str = "fill,write_amplification,mb_per_s\n\
    600MiB,1.2550,144.6\n800MiB,1.7158,96.5\n923MiB,2.3639,65.7\n";

#[test]
fn fill_sweep_becomes_a_profile() {
    let place = Scratch::in_memory();
    let at = |name: &str| place.path().join(name);
    fs::write(at("sweep.csv"), SWEEP).unwrap();
    let fitted = place.run(&["twin", "fit", "sweep.csv", "-o", "drive.toml"]).ok().stdout;
    assert!(fitted.contains("flash for data") && fitted.contains("fits worse"), "{fitted}");
    assert!(fitted.contains("measure next") && fitted.contains("sim:./drive.toml"), "{fitted}");
    let profile = fs::read_to_string(at("drive.toml")).unwrap();
    assert!(
        profile.contains("over_provisioning = ") && profile.contains("% interval"),
        "{profile}"
    );
    let twin: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(at("drive.twin.json")).unwrap()).unwrap();
    assert_eq!(twin["fill"]["levels"].as_array().unwrap().len(), 3);

    let checked = place.run(&["twin", "check", "drive.toml", "sweep.csv", "--json"]).ok().stdout;
    let checked: serde_json::Value = serde_json::from_str(&checked).unwrap();
    for level in checked["levels"].as_array().unwrap() {
        assert!(level["write_amplification_error"].as_f64().unwrap().abs() < 0.01, "{level}");
    }
    let work = ["--workload", "uniform?size=4KiB", "--ios", "20000", "--warmup", "none"];
    let command = ["twin", "predict", "drive.toml", "--draws", "3", "--output", "p.flashscope"];
    let predicted = place.run(&[&command[..], &work[..]].concat()).ok().stdout;
    assert!(
        predicted.contains("99th percentile") && predicted.contains("from 3 alternative drives"),
        "{predicted}"
    );
    // `report` prints the texts of `twin predict` and `twin fit` again.
    assert_eq!(place.run(&["report", "p.flashscope", "--terminal"]).ok().stdout, predicted);
    let again = place.run(&["report", "drive.toml", "--terminal"]).ok().stdout;
    assert!(fitted.starts_with(&again), "{again}");
    place.run(&["report", "drive.twin.json", "p.flashscope"]).ok();
    let page = fs::read_to_string(at("report.html")).unwrap();
    assert!(page.contains(r#""twins":[{"id":"drive","name":"drive","twin":{"#));
    assert!(page.contains(r#""predictions":[{"id":"p","name":"p","prediction":{"#));
    place.run(&["report", "drive.toml", "--json"]).ok();
    let alone = place.run(&["report", "sweep.csv", "--terminal"]);
    assert!(alone.message(2, &place).contains("is not a twin"));
    let taken = place.run(&[&command[..], &work[..]].concat());
    assert!(taken.message(2, &place).contains("p.flashscope"));
    let twice = place.run(&["twin", "fit", "sweep.csv", "-o", "drive.toml"]);
    assert!(twice.message(2, &place).contains("drive.toml exists already"));
}

#[test]
fn twin_of_a_result_behaves_like_the_drive() {
    let place = Scratch::in_memory();
    let drive = "sim:agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1&flash.packages=2\
                 &persistence.map=pages&flash.blocks_per_plane=64&flash.pages_per_block=32\
                 &cleaning.free_threshold=0.04&flash.page_read=70us";
    let bench = ["bench", drive, "--only", "granularity", "--output", "one.flashscope"];
    place.run(&[&bench[..], &crate::QUICK[..]].concat()).ok();
    let fit = ["twin", "fit", "one.flashscope", "--json", "-o"];
    let one = place.run(&[&fit[..], &["a.toml", "--jobs", "1"]].concat()).ok().stdout;
    let two = place.run(&[&fit[..], &["b.toml", "--jobs", "2"]].concat()).ok().stdout;
    assert_eq!(one, two);
    let checked = place.run(&["twin", "check", "a.toml", "one.flashscope"]).ok().stdout;
    assert!(
        checked.contains("granularity RW IOSize") && checked.contains("median error"),
        "{checked}"
    );
}

#[test]
fn invalid_sources_are_refused() {
    let place = Scratch::in_memory();
    fs::write(place.path().join("sweep.csv"), "fill,wa\n1GiB,2\n").unwrap();
    let message = place.run(&["twin", "fit", "sweep.csv"]).message(2, &place);
    assert!(message.contains("line 1: the columns are `fill`, `wa`"), "{message}");
    let message = place.run(&["twin", "fit", "sweep.csv", "-o", "drive"]).message(2, &place);
    assert!(message.contains("must end in .toml"), "{message}");
    let message = place.run(&["twin", "check", "none.toml", "sweep.csv"]).message(2, &place);
    assert!(message.contains("none.twin.json"), "{message}");
}

/// Returns a fill sweep of a drive of `gib` GiB, filled up to nine tenths.
fn fill_levels(gib: f64, with_amplification: bool) -> String {
    let levels = [(0.3, 1.02), (0.5, 1.2), (0.6, 1.45), (0.7, 1.9), (0.8, 2.7), (0.9, 4.9)];
    let line = |(share, amplification): (f64, f64)| {
        let (fill, rate) = ((gib * share * f64::from(1 << 30)).round(), 400.0 / amplification);
        let measured = if with_amplification { amplification.to_string() } else { String::new() };
        format!("{fill},{measured},{rate:.1}\n")
    };
    "fill,write_amplification,mb_per_s\n".to_owned() + &levels.map(line).concat()
}

#[test]
fn twins_of_fill_sweeps_of_any_capacity_can_be_simulated() {
    let place = Scratch::in_memory();
    for (name, gib, scale) in [("small", 0.5, 1.0), ("middle", 24.0, 21.6), ("large", 960.0, 864.0)]
    {
        let (table, profile) = (format!("{name}.csv"), format!("{name}.toml"));
        fs::write(place.at(&table), fill_levels(gib, true)).unwrap();
        let shown = place.run(&["twin", "fit", &table, "-o", &profile]).ok().stdout;
        let within = |drive: &str| place.run(&["plan", drive, "--memory", "256MiB"]);
        let whole = within(&format!("sim:{profile}"));
        match name {
            // The memory check runs only for valid drives. Its error therefore shows that the twin
            // is valid.
            "large" => assert!(whole.message(2, &place).contains("GiB of memory")),
            _ => _ = whole.ok(),
        }
        let scaled = shown.split_once("scaled down ").and_then(|(_, rest)| rest.split('\'').nth(1));
        assert_eq!(scaled.is_some(), scale > 1.0, "{shown}");
        scaled.into_iter().for_each(|drive| _ = within(drive).ok());

        let command = ["twin", "predict", &profile, "--ios", "200000", "--draws", "0"];
        let command = [&command[..], &["--memory", "256MiB"]].concat();
        let said = place.run(&command).ok().stdout;
        assert_eq!(said.contains("scaled down"), scale > 1.0, "{said}");
        let json = place.run(&[&command[..], &["--json"]].concat()).ok().stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!((json["scale"].as_f64().unwrap() / scale - 1.0).abs() < 0.01, "{json}");
        for (value, measured) in [
            (&json["write_amplification"]["value"], 4.9),
            (&json["bytes_per_second"]["value"], 400e6 / 4.9),
        ] {
            let off = value.as_f64().unwrap() / measured - 1.0;
            assert!(off.abs() < 0.05, "{name} {measured}: {off}");
        }
    }
}

#[test]
fn throughput_alone_does_not_identify_write_amplification() {
    let place = Scratch::in_memory();
    for (name, with_amplification) in [("both", true), ("alone", false)] {
        let (table, profile) = (format!("{name}.csv"), format!("{name}.toml"));
        fs::write(place.at(&table), fill_levels(1.0, with_amplification)).unwrap();
        let shown = place.run(&["twin", "fit", &table, "-o", &profile]).ok().stdout;
        let text = fs::read_to_string(place.at(&profile)).unwrap();
        assert_eq!(shown.contains("not identified by throughput alone"), !with_amplification);
        assert_eq!(shown.contains("written besides data"), with_amplification, "{shown}");
        assert_eq!(text.contains("does not identify"), !with_amplification, "{text}");

        let command = ["twin", "predict", &profile, "--ios", "50000", "--draws", "2"];
        let said = place.run(&command).ok().stdout;
        assert_eq!(said.contains("endurance are not identified"), !with_amplification, "{said}");
        let json = place.run(&[&command[..], &["--json"]].concat()).ok().stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["is_amplification_identified"], with_amplification);
        let end = |name: &str| json["write_amplification"][name].as_f64().unwrap();
        // The range without measured write amplification is far wider than the interval with it.
        // Both contain the measured value.
        assert!(end("low") <= 4.95 && 4.85 <= end("high"), "{json}");
        assert_eq!(end("high") > 2.0 * end("low"), !with_amplification, "{json}");
    }
}

#[test]
fn predictions_run_at_the_depth_of_the_sweep_and_reach_its_throughput() {
    let place = Scratch::in_memory();
    let levels = fill_levels(1.0, true);
    let with_depth: String = levels.lines().map(|line| format!("{line},8\n")).collect();
    let with_depth = with_depth.replacen("mb_per_s,8", "mb_per_s,queue_depth", 1);
    fs::write(place.at("levels.csv"), levels).unwrap();
    fs::write(place.at("with_depth.csv"), with_depth).unwrap();
    // The measured throughput at the fullest level, in bytes per second.
    let measured = 400e6 / 4.9;
    for (table, fit, predict, depth, from) in [
        ("levels", &[][..], &[][..], 32, "assumption"),
        ("levels", &["--queue-depth", "1"], &[], 1, "measurement"),
        ("with_depth", &[], &[], 8, "measurement"),
        ("with_depth", &[], &["--queue-depth", "4"], 4, "request"),
        ("with_depth", &[], &["--workload", "uniform?queue_depth=2"], 2, "workload"),
    ] {
        let (csv, profile) = (format!("{table}.csv"), format!("{table}-{depth}.toml"));
        place.run(&[&["twin", "fit", &csv, "-o", &profile], fit].concat()).ok();
        let command = ["twin", "predict", &profile, "--ios", "100000", "--draws", "0", "--json"];
        let json = place.run(&[&command[..], predict].concat()).ok().stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&json["queue_depth"], &json["queue_depth_from"]),
            (&depth.into(), &from.into())
        );
        let rate = json["bytes_per_second"]["value"].as_f64().unwrap() / measured;
        assert!((0.95..1.05).contains(&rate), "{table} {depth}: {rate}");
    }
}

#[test]
fn intervals_widen_with_the_distance_from_the_measured_range() {
    let place = Scratch::in_memory();
    fs::write(place.at("levels.csv"), fill_levels(0.5, true)).unwrap();
    place.run(&["twin", "fit", "levels.csv", "-o", "drive.toml", "--queue-depth", "8"]).ok();
    let command = ["twin", "predict", "drive.toml", "--ios", "20000", "--draws", "2"];
    let predicted = |more: &[&str]| -> serde_json::Value {
        let json = place.run(&[&command[..], more, &["--json"]].concat()).ok().stdout;
        serde_json::from_str(&json).unwrap()
    };
    let width = |json: &serde_json::Value, name: &str| {
        json[name]["high"].as_f64().unwrap() / json[name]["low"].as_f64().unwrap()
    };
    let inside = predicted(&[]);
    assert_eq!(inside["extrapolated"], serde_json::json!([]));
    let mut last = width(&inside, "bytes_per_second");
    for (depth, steps) in [("4", 1.0), ("32", 2.0)] {
        let outside = predicted(&["--queue-depth", depth]);
        let one = &outside["extrapolated"][0];
        assert_eq!((&one["quantity"], &one["steps"]), (&"queue-depth".into(), &steps.into()));
        let now = width(&outside, "bytes_per_second");
        assert!(now > 1.2 * last, "{depth}: {now} after {last}");
        let (counts, before) =
            (width(&outside, "write_amplification"), width(&inside, "write_amplification"));
        assert!((counts / before - 1.0).abs() < 0.02, "{counts} {before}");
        last = now;
    }
    let fuller = predicted(&["--filled", "474MiB"]);
    let one = &fuller["extrapolated"][0];
    assert_eq!((&one["quantity"], one["steps"].as_f64() > Some(0.1)), (&"fill".into(), true));
    assert!(one["widened"].as_f64() > Some(1.02), "{one}");
    let inside = predicted(&["--filled", "300MiB"]);
    assert_eq!(inside["extrapolated"], serde_json::json!([]));
    let said = place.run(&[&command[..], &["--queue-depth", "4"]].concat()).ok().stdout;
    assert!(said.contains("extrapolated: IOs in flight 4, which is 1.0 halvings"), "{said}");
    let message = place.run(&[&command[..], &["--filled", "2GiB"]].concat()).message(2, &place);
    assert!(message.contains("leave no spare flash"), "{message}");
}

#[test]
fn number_of_draws_follows_from_the_precision_of_the_ends() {
    let place = Scratch::in_memory();
    fs::write(place.at("levels.csv"), fill_levels(0.25, true)).unwrap();
    place.run(&["twin", "fit", "levels.csv", "-o", "drive.toml"]).ok();
    let command = ["twin", "predict", "drive.toml", "--ios", "5000", "--warmup", "1x", "--json"];
    let predicted = |more: &[&str]| place.run(&[&command[..], more].concat()).ok().stdout;
    let parsed = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
    let chosen = predicted(&["--jobs", "2"]);
    assert_eq!(chosen, predicted(&["--jobs", "1"]));
    let chosen = parsed(&chosen);
    let (draws, error) = (chosen["draws"].as_u64().unwrap(), chosen["end_error"].as_f64());
    // The command adds draws until the error is small enough, or until the 200 draws of the twin
    // are
    // exhausted.
    assert!(draws >= 20 && draws % 10 == 0 && (error <= Some(0.1) || draws == 200), "{chosen}");
    let few = parsed(&predicted(&["--draws", "5"]));
    assert_eq!(few["draws"], 5);
    assert!(few["end_error"].as_f64() > error, "{few}");
    assert_eq!(parsed(&predicted(&["--draws", "0"]))["end_error"], serde_json::Value::Null);
}
