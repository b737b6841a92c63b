//! Files created by the program itself.

use std::time::Duration;

use flashscope_drive::guard::remove_scratch;
use rustix::fs::getxattr;

use super::*;

/// Creates a file as a drive and closes it again. Returns `None` if the file system does not store
/// the mark.
fn create(place: &TempDir, scratch: bool) -> Option<(PathBuf, OpenOptions)> {
    let path = place.path().join("created");
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
    println!("skipped: no extended attributes here");
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
fn a_created_file_needs_no_confirmation_until_another_changes_it() {
    let place = place();
    let Some((path, options)) = create(&place, false) else { return };
    for _ in 0..3 {
        let mut device = opened(&options);
        contract::check(&mut device, true);
    }
    // Moves the modification time by much more than the resolution of the file system's clock.
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"mine", 4096).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written + Duration::from_secs(1)).unwrap();
    assert_unconfirmed(&options);
    // A confirmed write does not mark the file as created by this program.
    drop(opened(&OpenOptions { size: options.size, ..writing_file(&path) }));
    assert_unconfirmed(&options);
}

#[test]
fn a_copy_of_a_created_file_needs_a_confirmation() {
    let place = place();
    let Some((path, options)) = create(&place, true) else { return };
    let copy = place.path().join("copy");
    assert!(run("cp", &["--archive", path.to_str().unwrap(), copy.to_str().unwrap()]));
    assert_unconfirmed(&OpenOptions { location: Location::File(copy.clone()), ..options });
    assert!(!remove_scratch(&copy).unwrap());
    assert!(copy.exists());
}

#[test]
fn a_created_file_with_data_is_refused() {
    let place = place();
    let Some((path, options)) = create(&place, false) else { return };
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    assert!(run("mkswap", &[path.to_str().unwrap()]));
    // Restores the modification time, as if nobody had changed the file.
    File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    let refused = refusal(&options);
    assert!(matches!(refused, Refusal::Signature { .. }), "{refused}");
}

#[test]
fn only_scratch_files_are_removed() {
    let place = place();
    let Some((path, options)) = create(&place, true) else { return };
    let link = place.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(!remove_scratch(&link).unwrap(), "a link was removed");
    assert!(remove_scratch(&path).unwrap() && !path.exists());
    assert!(!remove_scratch(&path).unwrap(), "a missing file was removed");

    // A kept file and a file of another program are not removed.
    drop(opened(&OpenOptions { scratch: false, ..options.clone() }));
    drop(opened(&options));
    assert!(!remove_scratch(&path).unwrap() && path.exists());
    let foreign = place.path().join("foreign");
    fs::write(&foreign, vec![0; 1 << 20]).unwrap();
    assert!(!remove_scratch(&foreign).unwrap() && foreign.exists());
}
