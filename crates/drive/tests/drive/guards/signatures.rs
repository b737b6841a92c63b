//! Drives and files with a signature stay unchanged, and the advice in the refusal works.

use flashscope_block::{Io, Nanos, Op};

use super::images::{EXAMPLES, Example, SIZE};
use super::*;

/// Creates a file with the signature of an example.
fn image(example: &Example) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(SIZE).unwrap();
    for (at, bytes) in example.bytes {
        let at = SIZE.checked_add_signed(*at).filter(|_| *at < 0).unwrap_or(at.unsigned_abs());
        file.as_file().write_all_at(bytes, at).unwrap();
    }
    file
}

fn opens(options: &OpenOptions) -> Result<(), OpenError> {
    open(options).map(drop)
}

// The owner confirmed the path. The refusal of shared storage has no advice to erase it.
#[test]
fn images_with_a_known_signature_are_refused() {
    let mut overwritten = Vec::new();
    for example in EXAMPLES {
        let file = image(example);
        match opens(&writing_file(file.path())) {
            Ok(()) => overwritten.push((example.name, example.blkid)),
            Err(OpenError::Refused(Refusal::Signature { .. })) if !example.shared => {}
            Err(OpenError::Refused(refused @ Refusal::SharedStorage { .. })) if example.shared => {
                let message = refused.to_string();
                assert!(message.contains("another host may be using it"), "{message}");
                assert!(!message.contains("wipefs") && !message.contains("dd if="), "{message}");
            }
            Err(error) => panic!("{}: {error}", example.name),
        }
    }
    assert!(overwritten.is_empty(), "{} of {}: {overwritten:?}", overwritten.len(), EXAMPLES.len());
}

/// Returns the commands in a message, between backticks.
pub(super) fn commands(message: &str) -> Vec<&str> {
    let (_, advice) = message.split_once("if its data may be destroyed, ").expect(message);
    advice.split('`').skip(1).step_by(2).collect()
}

// The image is free after at most two steps: `wipefs` may leave signatures that only our table
// knows.
#[test]
fn the_advice_in_a_refusal_works() {
    if !run("wipefs", &["--version"]) {
        return println!("skipped: wipefs is not installed");
    }
    for example in EXAMPLES.iter().filter(|example| !example.shared) {
        let file = image(example);
        let mut steps = 0;
        while let Err(error) = opens(&writing_file(file.path())) {
            let OpenError::Refused(refused @ Refusal::Signature { .. }) = error else {
                panic!("{}: {error}", example.name)
            };
            steps += 1;
            assert!(steps <= 2, "{}: {refused}", example.name);
            for command in commands(&refused.to_string()) {
                assert!(run("sh", &["-c", command]), "{}: {command}", example.name);
            }
        }
        assert!(steps > 0, "{}", example.name);
    }
}

// If data that flashscope wrote matched a signature, flashscope would refuse to measure the file
// again.
#[test]
fn data_of_this_program_never_matches_a_signature() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(Bytes::mib(4).0).unwrap();
    let len = Bytes::kib(256);
    for round in 0..60 {
        let data = [Data::Random, Data::HalfZeros, Data::Random, Data::Zeros][round % 4];
        let mut device = opened(&writing_file(file.path()));
        for offset in (0..16).map(|piece| Bytes(piece * len.0)) {
            let at = device.now();
            device.submit(&Io { op: Op::Write, stream: 0, offset, len, data, at });
            device.complete(Nanos::MAX).unwrap().result.unwrap();
        }
    }
    let held = fs::read(file.path()).unwrap();
    assert!(held.iter().all(|byte| *byte == 0), "the last round writes zeros");
}
