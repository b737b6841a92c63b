//! Files that the program made itself.

use std::time::Duration;

use flashscope_drive::guard::remove_scratch;
use rustix::fs::getxattr;

use super::*;

/// A file that was made as a drive, and closed again. `None` where the file system keeps no mark.
fn made(place: &TempDir, scratch: bool) -> Option<(PathBuf, OpenOptions)> {
    let path = place.path().join("made");
    let options = OpenOptions {
        access: Access::Write { confirmation: None },
        size: Some(Bytes::MIB),
        scratch,
        ..OpenOptions::new(Location::File(path.clone()))
    };
    opened(&options);
    if getxattr(&path, "user.flashscope.drive", &mut [0; 128][..]).is_ok() {
        return Some((path, options));
    }
    println!("passed by: files bear no extended attributes here");
    None
}

fn place() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn assert_unconfirmed(options: &OpenOptions) {
    let refused = refusal(options);
    assert!(matches!(refused, Refusal::Unconfirmed { .. }), "{refused}");
}

#[test]
fn a_file_that_was_made_here_needs_no_confirmation_until_another_changes_it() {
    let place = place();
    let Some((path, options)) = made(&place, false) else { return };
    for _ in 0..3 {
        let mut device = opened(&options);
        contract::check(&mut device, true);
    }
    // Much later than a tick of the clock of a file system.
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"mine", 4096).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written + Duration::from_secs(1)).unwrap();
    assert_unconfirmed(&options);
    // Once confirmed, it is its owner's still.
    drop(opened(&OpenOptions { size: options.size, ..writing_file(&path) }));
    assert_unconfirmed(&options);
}

#[test]
fn a_copy_of_a_file_that_was_made_here_has_to_be_confirmed() {
    let place = place();
    let Some((path, options)) = made(&place, true) else { return };
    let copy = place.path().join("copy");
    assert!(run("cp", &["--archive", path.to_str().unwrap(), copy.to_str().unwrap()]));
    assert_unconfirmed(&OpenOptions { location: Location::File(copy.clone()), ..options });
    assert!(!remove_scratch(&copy).unwrap());
    assert!(copy.exists());
}

#[test]
fn a_file_that_was_made_here_and_bears_data_is_refused() {
    let place = place();
    let Some((path, options)) = made(&place, false) else { return };
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    assert!(run("mkswap", &[path.to_str().unwrap()]));
    // As if nobody had changed it.
    File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    let refused = refusal(&options);
    assert!(matches!(refused, Refusal::Signature { .. }), "{refused}");
}

#[test]
fn only_a_file_that_was_made_for_one_use_is_removed() {
    let place = place();
    let Some((path, options)) = made(&place, true) else { return };
    let link = place.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(!remove_scratch(&link).unwrap(), "a link was removed");
    assert!(remove_scratch(&path).unwrap() && !path.exists());
    assert!(!remove_scratch(&path).unwrap(), "there is nothing any more");

    // Once kept, it stays; and so does a file of somebody's.
    drop(opened(&OpenOptions { scratch: false, ..options.clone() }));
    drop(opened(&options));
    assert!(!remove_scratch(&path).unwrap() && path.exists());
    let foreign = place.path().join("foreign");
    fs::write(&foreign, vec![0; 1 << 20]).unwrap();
    assert!(!remove_scratch(&foreign).unwrap() && foreign.exists());
}
