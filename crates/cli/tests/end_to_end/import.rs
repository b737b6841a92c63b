//! Tests `flashscope import`.

use std::path::Path;

use crate::Scratch;

/// A small drive, whose simulation takes milliseconds.
const DRIVE: &str = "demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=128";

#[test]
fn an_imported_result_shows_compares_and_fits_a_twin() {
    let place = Scratch::in_memory();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fio/four.json");
    let sample = sample.to_str().unwrap();
    let text = place.run(&["import", sample, "--output", "fio.flashscope"]).ok().stdout;
    assert!(text.contains("scratch.img") && text.contains("psync, libaio of fio-3.33"), "{text}");
    place.run(&["report", "fio.flashscope", "--output", "fio.html"]).ok();
    assert!(
        place.run(&["report", "fio.flashscope", "--terminal"]).ok().stdout.contains("randwrite")
    );
    let simulate = ["--ios", "5000", "--warmup", "1x", "--output", "sim.flashscope"];
    place.run(&[&["simulate", "--drive", DRIVE], &simulate[..]].concat()).ok();
    let compared = place.run(&["compare", "fio.flashscope", "sim.flashscope"]).ok().stdout;
    // A job ran once, so there is a ratio and no verdict.
    assert!(compared.contains("a single run of a pattern does not show"), "{compared}");
    assert!(compared.contains("random writes of 4 KiB") && compared.contains('×'), "{compared}");
    let sizes = Path::new(sample).with_file_name("sizes.json");
    place.run(&["import", sizes.to_str().unwrap(), "--output", "sizes.flashscope"]).ok();
    let fitted =
        place.run(&["twin", "fit", "sizes.flashscope", "--output", "twin.toml"]).ok().stdout;
    assert!(fitted.contains("over 16 runs"), "{fitted}");
    let again = place.run(&["import", sample, "--output", "fio.flashscope"]);
    assert_eq!(again.status, 2, "{}", again.stderr);
}
