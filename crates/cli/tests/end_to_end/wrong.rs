//! Tests invalid requests: the exit status is 2, nothing is written, and the message states the
//! problem and the remedy.

use std::fs;

use insta::assert_snapshot;

use crate::Scratch;

/// Returns the message of the program about invalid arguments, after checking that it did nothing.
fn refused(arguments: &[&str]) -> String {
    let place = Scratch::on_disk();
    let message = place.run(arguments).message(2, &place);
    assert!(place.names().is_empty(), "{:?}", place.names());
    message
}

/// Returns the message of `flashscope bench` about a drive and a line of options.
fn bench(drive: &str, options: &str) -> String {
    refused(&[&["bench", drive][..], &options.split_whitespace().collect::<Vec<_>>()].concat())
}

#[test]
fn unknown_micro_benchmark_gets_the_nearest_and_the_list() {
    assert_snapshot!(bench("null:", "--only granulrity"), @"
    flashscope: `granulrity` is not a micro-benchmark (did you mean `granularity`?)
      choose one of: preparation, granularity, alignment, locality, partitioning, order, parallelism, mix, pause, bursts
    ");
    assert_snapshot!(bench("null:", "--only order,xyzzy"), @"
    flashscope: `xyzzy` is not a micro-benchmark
      choose one of: preparation, granularity, alignment, locality, partitioning, order, parallelism, mix, pause, bursts
    ");
}

#[test]
fn unknown_kind_of_drive_gets_the_nearest_and_the_list() {
    assert_snapshot!(bench("nul:", ""), @"
    flashscope: `nul:` is not a drive (did you mean `null:`?)
      known drives: /dev/NAME, file:PATH, sim:PROFILE, null:
    ");
    assert_snapshot!(bench("null:x", ""), @"
    flashscope: `null:x` is not a drive (did you mean `null:`?)
      known drives: /dev/NAME, file:PATH, sim:PROFILE, null:
    ");
    assert_snapshot!(bench("simm:demo", ""), @"
    flashscope: `simm:demo` is not a drive (did you mean `sim:demo`?)
      known drives: /dev/NAME, file:PATH, sim:PROFILE, null:
    ");
    assert_snapshot!(bench("demo", ""), @"
    flashscope: `demo` is not a drive (did you mean `sim:demo`?)
      known drives: /dev/NAME, file:PATH, sim:PROFILE, null:
    ");
    assert_snapshot!(bench("usb:stick", ""), @"
    flashscope: `usb:stick` is not a drive
      known drives: /dev/NAME, file:PATH, sim:PROFILE, null:
    ");
    assert_snapshot!(bench("some/scratch.img?size=1GiB", ""), @"
    flashscope: `some/scratch.img?size=1GiB` is a path, not a drive: write `file:some/scratch.img?size=1GiB`
      known drives: /dev/NAME, file:PATH, sim:PROFILE, null:
    ");
}

#[test]
fn invalid_profiles_and_fields_get_the_nearest() {
    let names: Vec<_> = flashscope_sim::setup::KINDS.iter().map(|kind| kind.name).collect();
    let unknown = bench("sim:agrawal2008", "").replace(&names.join(", "), "THESE");
    assert_snapshot!(unknown, @"flashscope: no simulated drive is called `agrawal2008` (did you mean `agrawal-2008`?); choose one of: THESE; or name a file, such as `my.toml`");
    assert_snapshot!(bench("sim:demo?over_provisionin=0.2", ""), @"flashscope: a profile has no field `over_provisionin` (did you mean `over_provisioning`?)");
    assert_snapshot!(bench("sim:demo?over_provisioning=2", ""), @"flashscope: profile field `over_provisioning` is 2: it must be above 0 and below 1");
    assert_snapshot!(bench("sim:demo?over_provisioning=lots", ""), @r#"
    flashscope: profile over_provisioning=lots: invalid type: string "lots", expected a number
      in `over_provisioning`
    "#);
    assert_snapshot!(bench("sim:demo?flash.packages=many", ""), @r#"
    flashscope: profile flash.packages=many: invalid type: string "many", expected a whole number
      in `flash.packages`
    "#);
    assert_snapshot!(bench("sim:demo?over_provisioning", ""), @"flashscope: `over_provisioning` after `?` is not of the form `field=value`; join several by `&`");
    assert_snapshot!(bench("sim:demo?ftl=page-mapp", ""), @"flashscope: profile field `ftl` is page-mapp: it must be one of: page-map, dftl, block-map, bast, fast, last, superblock, n-k (did you mean `page-map`?)");
    assert_snapshot!(bench("sim:nowhere.toml", ""), @"flashscope: cannot read the profile nowhere.toml: No such file or directory (os error 2)");
}

#[test]
fn a_file_of_another_kind_is_not_read_as_a_profile() {
    let place = Scratch::on_disk();
    fs::write(place.at("trace.csv"), "1,Read,0,4096\n").unwrap();
    for path in ["trace.csv", "./trace.csv"] {
        let message = place.run(&["predict", path]).message(2, &place);
        let expected = format!(
            "flashscope: `{path}` is not a profile (a TOML file with a name such as `my.toml`); to use a trace, type --trace \
             {path}"
        );
        assert_eq!(message, expected);
    }
    let message = place.run(&["report", "trace.csv"]).message(2, &place);
    assert_snapshot!(message, @"flashscope: trace.csv is not a twin: there is no trace.twin.json, which `flashscope twin fit` writes beside its profile; other results are folders");
}

#[test]
fn invalid_options_of_real_drives_get_the_nearest() {
    assert_snapshot!(bench("file:x.img?sise=1GiB", ""), @"flashscope: `sise` is not a drive option (did you mean `size`?); options are: size, engine, direct");
    assert_snapshot!(bench("file:x.img?size=1Gig", ""), @"flashscope: the drive option `size`: `1Gig` is not a size: write it like `4096`, `32KiB` or `1.5GiB`");
    assert_snapshot!(bench("file:x.img?size=1MiB&engine=iouring", ""), @"flashscope: the drive option `engine`: `iouring` is not an engine (did you mean `io_uring`?); engines are: io_uring, io_uring_polled, io_uring_cmd, libaio, psync");
    assert_snapshot!(bench("file:x.img?size=1MiB&direct=maybe", ""), @"flashscope: the drive option `direct`: `maybe` is neither `true` nor `false`");
    assert_snapshot!(bench("file:x.img?size=0", ""), @"flashscope: `x.img`: a `size` of 0 is not possible: choose a larger one");
}

#[test]
fn missing_drives_are_refused_with_advice() {
    assert_snapshot!(bench("file:x.img", ""), @"flashscope: file `x.img` does not exist: add `?size=1GiB` (or another size) to create it");
    assert_snapshot!(bench("file:x.img", "--read-only"), @"flashscope: file `x.img` does not exist: reading alone needs a file that was written before");
    assert_snapshot!(bench("file:no/such/x.img?size=1MiB", ""), @"flashscope: cannot create `no/such/x.img`: No such file or directory (os error 2)");
    assert_snapshot!(bench("file:/", ""), @"flashscope: `/` is a directory: name a regular file");
    assert_snapshot!(bench("file:", ""), @"flashscope: `file:` does not name a real drive: write `file:PATH`, or a device path such as `/dev/sdb`");
    assert_snapshot!(bench("/dev/nowhere", ""), @"flashscope: device `/dev/nowhere` does not exist: `lsblk` lists the available ones");
    assert_snapshot!(bench("/dev/null", ""), @"flashscope: `/dev/null` is a character device: name a block device from the list of `lsblk`");
    let message = bench("file:x.img?size=1000000TiB", "");
    assert!(message.starts_with("flashscope: `x.img` needs 1000000 TiB more on its file system"));
    assert!(message.ends_with(": choose a smaller `size` or another place"));
}

#[test]
fn unknown_options_and_commands_get_the_nearest() {
    assert_snapshot!(bench("null:", "--onyl pause"), @"
    error: unexpected argument '--onyl' found

      tip: a similar argument exists: '--only'

    Usage: flashscope bench --only <NAMES> <DRIVE>

    For more information, try '--help'.
    ");
    assert_snapshot!(refused(&["bnch"]), @"
    error: unrecognized subcommand 'bnch'

      tip: a similar subcommand exists: 'bench'

    Usage: flashscope [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(refused(&["bench"]), @"
    error: the following required arguments were not provided:
      <DRIVE>

    Usage: flashscope bench <DRIVE>

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--state raw"), @"
    error: invalid value 'raw' for '--state <STATE>'
      [possible values: random, sequential, purged, formatted, sanitized, steady, keep]

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--on-error panic"), @"
    error: invalid value 'panic' for '--on-error <WHAT>'
      [possible values: continue, stop]

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--seed -1"), @"
    error: invalid value '-1' for '--seed <SEED>': a seed is a whole number from 0 to 18446744073709551615

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--read-only --destroy-data-on x"), @"
    error: the argument '--read-only' cannot be used with '--destroy-data-on <SERIAL_OR_PATH>'

    Usage: flashscope bench --read-only <DRIVE>

    For more information, try '--help'.
    ");
}

#[test]
fn invalid_quantities_name_the_valid_range() {
    assert_snapshot!(bench("null:", "--io-count XX=1"), @"
    error: invalid value 'XX=1' for '--io-count <COUNTS>': `XX` is not a baseline pattern; choose one of: SR, RR, SW, RW

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--io-count SR=many"), @"
    error: invalid value 'SR=many' for '--io-count <COUNTS>': `many` is not a number of IOs: write it like `5120` or `90k`

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--io-count many"), @"
    error: invalid value 'many' for '--io-count <COUNTS>': write it like `1024` or `SR=1024,RW=5120`

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--io-count 18446744073709551615"), @"
    error: invalid value '18446744073709551615' for '--io-count <COUNTS>': a run has at most 1000000000000 IOs

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--preparation-io-count 0"), @"
    error: invalid value '0' for '--preparation-io-count <COUNT>': at least one IO is needed

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--io-size 4KiX"), @"
    error: invalid value '4KiX' for '--io-size <SIZE>': `4KiX` is not a size: write it like `4096`, `32KiB` or `1.5GiB`

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--io-size 0"), @"
    error: invalid value '0' for '--io-size <SIZE>': an IO has at least one logical block and at most 1 GiB

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--io-size 200TiB"), @"
    error: invalid value '200TiB' for '--io-size <SIZE>': an IO has at least one logical block and at most 1 GiB

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--run-pause 5"), @"
    error: invalid value '5' for '--run-pause <TIME>': `5` is not a time: write it like `250us`, `10s` or `1h30m`

    For more information, try '--help'.
    ");
    assert_snapshot!(bench("null:", "--burst-pause 5000000h"), @"
    error: invalid value '5000000h' for '--burst-pause <TIME>': the longest pause is a day, `24h`

    For more information, try '--help'.
    ");
}

#[test]
fn refused_request_removes_the_created_file() {
    let file = "file:x.img?size=64MiB&direct=false";
    assert_snapshot!(bench(file, "--io-size 1000"), @"flashscope: --io-size 1000 B is not a multiple of the logical block, 512 B");
    assert_snapshot!(bench(file, "--io-size 1MiB --target-size 512KiB"), @"flashscope: --io-size 1 MiB does not fit in the target space, 512 KiB");
    assert_snapshot!(bench(file, "--target-size 1GiB"), @"flashscope: --target-size 1 GiB does not fit on `file:x.img?size=64MiB&direct=false`: it has 64 MiB from --target-offset on");
    assert_snapshot!(bench(file, "--target-offset 1GiB"), @"flashscope: --target-offset 1 GiB is past the end of `file:x.img?size=64MiB&direct=false`, 64 MiB");
    assert_snapshot!(bench(file, "--target-offset 1000"), @"flashscope: --target-offset 1000 B is not a multiple of the logical block, 512 B");
    assert_snapshot!(bench(file, "--only order --io-count 0"), @"flashscope: none of the runs can run on `file:x.img?size=64MiB&direct=false`; the reason for the first run: IOCount = 0: must be more than IOIgnore, 0");
    assert_snapshot!(bench("null:", "--read-only --state random"), @"flashscope: --state writes to the drive, and --read-only forbids it");
}

#[test]
fn existing_results_are_not_overwritten() {
    let place = Scratch::on_disk();
    fs::write(place.at("r.flashscope"), "mine").unwrap();
    let bench = ["bench", "file:x.img?size=1MiB", "--output", "r.flashscope"];
    assert_snapshot!(place.run(&bench).message(2, &place), @"flashscope: r.flashscope exists already: choose another name with --output, or remove it");
    assert_snapshot!(place.run(&["demo", "--output", "r.flashscope"]).message(2, &place), @"flashscope: r.flashscope exists already: choose another name with --output, or remove it");
    // A folder that cannot be written is a failure, not a usage error, and also leaves no file.
    let bench = ["bench", "file:x.img?size=1MiB", "--output", "r.flashscope/r"];
    assert_snapshot!(place.run(&bench).message(1, &place), @"flashscope: cannot create r.flashscope: not a directory");
    assert_eq!(place.names(), ["r.flashscope"]);
    assert_eq!(fs::read(place.at("r.flashscope")).unwrap(), b"mine");
}

/// Returns the message of `flashscope report` about a result that `spoil` has changed.
fn report(status: i32, spoil: impl FnOnce(&Scratch)) -> String {
    let place = Scratch::in_memory();
    place.bench("null:", "r", &["--only", "order", "--read-only"]).ok();
    spoil(&place);
    let message = place.run(&["report", "r"]).message(status, &place);
    assert!(!place.at("r/report.html").exists());
    assert_eq!(place.run(&["report", "r", "--terminal"]).message(status, &place), message);
    message
}

/// Removes the line and column of a file from a message, because they vary.
fn reason(message: String) -> String {
    message.split(" at line ").next().unwrap().to_string()
}

/// Replaces a text in the manifest.
fn replace(place: &Scratch, old: &str, new: &str) {
    let path = place.at("r/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old));
    fs::write(path, text.replace(old, new)).unwrap();
}

#[test]
fn unreadable_results_are_refused_with_the_reason() {
    assert_snapshot!(refused(&["report"]), @"
    error: the following required arguments were not provided:
      <RESULT>...

    Usage: flashscope report <RESULT>...

    For more information, try '--help'.
    ");
    assert_snapshot!(refused(&["report", "nowhere"]), @"flashscope: nowhere is not a result: a result folder contains a manifest.json");
    assert_snapshot!(report(2, |place| fs::remove_file(place.at("r/manifest.json")).unwrap()), @"flashscope: r is not a result: a result folder contains a manifest.json");
    let cut = |place: &Scratch| fs::write(place.at("r/manifest.json"), "{\"schema_ver").unwrap();
    assert_snapshot!(report(2, cut), @"flashscope: r/manifest.json is damaged: EOF while parsing a string at line 1 column 12");
    assert_snapshot!(reason(report(2, |place| replace(place, "\"schema_version\": 6,", ""))), @"flashscope: r/manifest.json is damaged: missing field `schema_version`");
    assert_snapshot!(reason(report(2, |place| replace(place, "\"device\"", "\"drive\""))), @"flashscope: r/manifest.json is damaged: missing field `device`");
    let newer = |place: &Scratch| replace(place, "\"schema_version\": 6", "\"schema_version\": 7");
    assert_snapshot!(report(2, newer), @"flashscope: r/manifest.json has format version 7; this flashscope reads up to 6: update flashscope");
}

#[test]
fn damaged_or_missing_records_are_named() {
    const RECORDS: &str = "r/records/run-00002-000.parquet";
    assert_snapshot!(report(1, |place| fs::write(place.at(RECORDS), "nonsense").unwrap()), @"flashscope: r/records/run-00002-000.parquet is damaged: Parquet error: Invalid Parquet file. Corrupt footer");
    let cut = |place: &Scratch| {
        let content = fs::read(place.at(RECORDS)).unwrap();
        fs::write(place.at(RECORDS), &content[..content.len() / 2]).unwrap();
    };
    assert_snapshot!(report(1, cut), @"flashscope: r/records/run-00002-000.parquet is damaged: Parquet error: Invalid Parquet file. Corrupt footer");
    assert_snapshot!(report(1, |place| fs::remove_file(place.at(RECORDS)).unwrap()), @"flashscope: r/records is damaged: 0 of the 16 IOs of run 2 are there");
}

#[test]
fn invalid_attach_requests_are_refused() {
    let attach = |options: &str| {
        refused(&[&["attach"][..], &options.split_whitespace().collect::<Vec<_>>()].concat())
    };
    assert_snapshot!(attach("sim:demo --nbd s --size 100"), @"flashscope: --size 100 B must be a positive multiple of the logical block, 512 B");
    assert_snapshot!(attach("file:drive?size=1MiB --nbd s --speed 2"), @"flashscope: --speed is for simulated drives; `file:drive?size=1MiB` is a real drive");
    assert_snapshot!(attach("file:drive?size=1MiB --nbd s --store data"), @"flashscope: --store is for simulated drives; `file:drive?size=1MiB` is a real drive");
    assert_snapshot!(attach("null: --nbd s --size 0"), @"flashscope: --size 0 B must be a positive multiple of the logical block, 512 B");
    assert_snapshot!(attach("sim:demo --nbd s --queue-depth 8"), @"flashscope: --queue-depth is for real drives; set the depth of a simulated one with interface.queue_depth, as in 'sim:demo?interface.queue_depth=8'");
    assert_snapshot!(attach("null: --nbd s --fill random"), @"flashscope: --fill is for sim: drives; `null:` has no contents to fill");
    assert_snapshot!(attach("sim:demo --nvme-tcp 0.0.0.0:4420"), @"flashscope: 0.0.0.0:4420 is not a loopback address: NVMe/TCP has no passwords here (neither in-band authentication nor TLS), and everyone who can reach the port could write to the drive; listen at 127.0.0.1:4420 or [::1]:4420, and forward the port by SSH");
    assert_snapshot!(attach("sim:demo --nvme-tcp 4420"), @"flashscope: `4420` is not an address: name HOST:PORT, such as 127.0.0.1:4420");
    assert_snapshot!(attach("sim:demo --nbd s --destroy-data-on x"), @"flashscope: --destroy-data-on is for real drives; `sim:demo` is simulated");
    assert_snapshot!(attach("sim:demo --nbd s --record asked.xyz"), @"flashscope: --record: the name `asked.xyz` does not determine the format: use a name that ends in .parquet, .iolog, .fio, .csv, .mqsim, .trace, .ascii");
}

#[test]
fn existing_file_is_not_replaced_by_a_socket() {
    let place = Scratch::on_disk();
    fs::write(place.at("notes"), "precious").unwrap();
    let message = place.run(&["attach", "sim:demo", "--nbd", "notes"]).message(2, &place);
    assert_snapshot!(message, @"flashscope: notes exists and is not a socket; remove it, or name another path");
    assert_eq!(fs::read(place.at("notes")).unwrap(), b"precious");
}
