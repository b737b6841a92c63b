//! Tests the calls in the README and in the documentation, with the files that ship. The guide has
//! its own test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Scratch;

/// Commands that run until they are stopped, take minutes, or need a result of the reader. They
/// have their own tests.
const APART: [&str; 8] =
    ["attach", "compare", "registry", "reproduce", "serve", "submit", "twin", "watch"];

/// Options that need a cluster or the result of a grid. They have their own tests.
const ELSEWHERE: [&str; 2] = ["ray", "--grid"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every call, split as by a shell, with its page.
fn calls() -> Vec<(PathBuf, Vec<String>)> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut pages: Vec<PathBuf> = pages.chain([root().join("README.md")]).collect();
    pages.sort();
    let in_page = |page: PathBuf| {
        let text = fs::read_to_string(&page).unwrap();
        let call = |line: &str| {
            let words = shlex::split(line.strip_prefix("    ")?)?;
            (words.first()? == "flashscope").then_some(words)
        };
        text.lines().filter_map(call).map(|call| (page.clone(), call)).collect::<Vec<_>>()
    };
    pages.into_iter().flat_map(in_page).collect()
}

/// Creates a folder with the files of a clone, and with the results that `words` name, which
/// earlier calls would have left.
fn place(words: &[&str]) -> Scratch {
    let place = Scratch::on_disk();
    symlink(root().join("docs").canonicalize().unwrap(), place.at("docs")).unwrap();
    let shipped = root().join("testdata/results");
    let results = [("RESULT.flashscope", "v1"), ("agrawal-table6.flashscope", "swept")];
    for (name, from) in results.into_iter().filter(|(name, _)| words.contains(name)) {
        let from = shipped.join(format!("{from}.flashscope"));
        let copied = Command::new("cp").arg("-r").arg(from).arg(place.at(name)).status().unwrap();
        assert!(copied.success());
    }
    for profile in
        ["my-drive.toml", "twin.toml", "drive.toml"].iter().filter(|_| words[0] != "probe")
    {
        fs::copy(root().join("profiles/demo.toml"), place.at(profile)).unwrap();
    }
    place
}

/// The milliseconds after which a call has parsed its options and opened its files. The tests of
/// each command check its results.
const LOOKS: u32 = 1000;

/// Runs a call, and interrupts it after [`LOOKS`] milliseconds. Returns true if the call succeeded
/// without the interruption.
fn ends(place: &Scratch, words: &[&str]) -> bool {
    let mut running = place.start(words);
    let mut looks = 0;
    let works = running.reaches("end", || {
        looks += 1;
        looks > LOOKS
    });
    if works {
        running.signal("-INT");
    }
    let (status, stderr) = running.wait();
    assert!(works || status.success(), "{words:?}: {stderr}");
    !works
}

#[test]
fn every_call_in_the_documentation_does_something_with_the_files_that_ship() {
    let (mut ended, mut worked, mut refused) = (0, 0, 0);
    for (page, call) in calls() {
        let words: Vec<&str> = call[1..].iter().map(String::as_str).collect();
        if APART.contains(&words[0]) || words.iter().any(|word| ELSEWHERE.contains(word)) {
            continue;
        }
        println!("{}: {words:?}", page.display());
        let place = place(&words);
        let device = words.iter().find_map(|word| word.starts_with("/dev/").then_some(*word));
        if words.starts_with(&["bench", "--plan"]) {
            place.run(&["plan", "null:", "--only", "order", "-o", "PLAN.json"]).ok();
        }
        if words.starts_with(&["predict", "--collection"])
            || words.starts_with(&["trace", "collection", "--resume"])
        {
            place
                .run(&["trace", "collection", "docs/examples/web.csv.gz", "-o", "web.flashscope"])
                .ok();
        }
        match device.map(|device| device.split('?').next().unwrap_or(device)) {
            Some(device) if Path::new(device).exists() => println!("skipped: the device exists"),
            Some(_) => {
                let message = place.run(&words).message(2, &place);
                assert!(message.contains("does not exist"), "{words:?}: {message}");
                refused += 1;
            }
            None if ends(&place, &words) => ended += 1,
            None => worked += 1,
        }
    }
    println!("{ended} ended, {worked} worked until they were stopped, {refused} had no device");
    assert!(ended + worked > 30 && refused > 10);
}
