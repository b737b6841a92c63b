//! Interruptions of collections.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use flashscope_command::trace::collection::{CollectionArgs, PreparedCollection};
use flashscope_command::{Failure, Progress, Step};
use flashscope_document::collection::Collection;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: CollectionArgs,
}

/// A user who presses Ctrl-C at the first progress of a phase.
struct Interruption<'a> {
    phase: &'static str,
    stop: &'a AtomicBool,
}

impl Progress for Interruption<'_> {
    fn show(&mut self, step: &Step<'_>) {
        let is_now = step.phase == self.phase && step.done > 0;
        self.stop.fetch_or(is_now, Ordering::Relaxed);
    }
    fn note(&mut self, _: &str) {}
}

/// Reads a collection, interrupted in `phase`.
fn read(words: &[&str], phase: &'static str) -> Result<Collection, Failure> {
    let args = Line::parse_from([&["collection", "--jobs", "2"], words].concat()).args;
    let stop = AtomicBool::new(false);
    let mut sink = Interruption { phase, stop: &stop };
    let prepared = PreparedCollection::new(&args, (&stop, &mut sink))?;
    Ok(prepared.read(&args, (&stop, &mut sink))?.collection)
}

fn traces(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for file in 0..200u64 {
        let line = |i: u64| format!("{},W,{},4096,{}\n", i % 5, i * 7 % 90 * 4096, file * 1000 + i);
        fs::write(folder.join(format!("{file:03}.csv")), (0..60).map(line).collect::<String>())
            .unwrap();
    }
}

#[test]
fn collection_interrupted_in_any_phase_resumes_to_the_same_result() {
    let place = tempfile::tempdir().unwrap();
    traces(&place.path().join("in"));
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (input, whole, part) = (at("in"), at("whole"), at("part"));
    let expected = read(&[&input, "--output", &whole], "none").ok().unwrap();
    // An interruption during planning leaves no folder.
    let first = read(&[&input, "--output", &part], "planning: files");
    assert!(matches!(first, Err(Failure::Interrupted(_))));
    assert!(!Path::new(&part).exists());
    let mut interrupted = 0;
    // More than 128 parts merge in two rounds.
    let phases = ["reading", "merging: groups of parts", "merging: volumes", "none"];
    let mut result = Err(Failure::Interrupted(anyhow::anyhow!("not begun")));
    for (nth, phase) in phases.into_iter().enumerate() {
        let begin = [input.as_str(), "--output", part.as_str()];
        let words = if nth == 0 { &begin[..] } else { &["--resume", part.as_str()][..] };
        result = read(words, phase);
        if let Err(failure) = &result {
            let message = failure.message();
            assert!(message.contains("flashscope trace collection --resume"), "{message}");
            interrupted += 1;
        }
    }
    assert!(interrupted >= 2, "{interrupted}");
    assert_eq!(result.ok().unwrap(), expected);
}
