//! `flashscope reproduce`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::Scratch;
use crate::simulate::{assert_conforms, published};

/// Table 3 with fewer writes than it takes to be cleaned for: of no row with cleaning the printed figures.
const FEW: [&str; 4] = ["reproduce", "agrawal-table3", "--set", "writes=80000"];

// Is every item listed, with where it is from?
#[test]
fn lists() {
    let listed = Scratch::in_memory().run(&["reproduce"]).ok().stdout;
    assert!(
        listed.contains("agrawal-table3       pass       Agrawal et al., Table 3: SSD"),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), flashscope_papers::ITEMS.len());
}

// Is what is printed shown beside what is found, and is status 1 where that is not the same?
#[test]
fn shows_what_is_found() {
    let place = Scratch::in_memory();
    let outcome = place.run(&FEW);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let shown: String = outcome.stdout.lines().take(8).map(|line| format!("{line}\n")).collect();
    assert_snapshot!(shown, @r"
    Agrawal et al., Table 3: SSD performance under micro-benchmarks (agrawal-table3)
      drive = agrawal-2008
      writes = 80000

                                                    printed      found       off tolerance
      sequential read (us)                              130      130.6   +0.46 %       1 %  pass
      sequential read (1/s)                           61255      61256   +0.00 %       1 %  pass
      sequential read, derived (us)                   130.6      130.6   +0.00 %     0.1 %  pass
    ");
    assert!(outcome.stdout.contains("FAIL: 12 of 18 as printed"), "{}", outcome.stdout);
    let outcome = place.run(&[&FEW[..], &["--json"]].concat());
    let value: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("reproduction");
    assert_conforms(&value, &schema, &schema, "reproduction");
    assert_eq!(value["items"][0]["inputs"]["writes"], "80000");
    assert_eq!(value["state"], "fail");
}

// Is what cannot be run refused, with what there is?
#[test]
fn refuses() {
    let refused = |arguments: &[&str]| {
        let place = Scratch::in_memory();
        place.run(&[&["reproduce"], arguments].concat()).says(2, &place)
    };
    assert_snapshot!(refused(&["agrawal-table33"]), @"flashscope: `agrawal-table33` is no item, did you mean `agrawal-table3`?; `flashscope reproduce` lists them all");
    assert_snapshot!(refused(&["agrawal-table3", "--set", "drives=demo"]), @"flashscope: there is no input `drives` of this item; there are: drive, writes");
    assert_snapshot!(refused(&["agrawal-table3", "--set", "writes=many"]), @"flashscope: input `writes`: invalid digit found in string");
    assert_snapshot!(refused(&["agrawal-table3", "--set", "drive=demo"]), @"flashscope: input `drive`: it holds less than 3.35 GiB");
}
