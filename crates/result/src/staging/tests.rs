use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_appears_when_it_is_published() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("above/it/r.flashscope");
    let mut staged = StagingFolder::create(&path, Some("records")).unwrap();
    assert!(!path.exists() && staged.path().join("records").is_dir());
    let [unfinished] = &names(path.parent().unwrap())[..] else { panic!("one folder") };
    assert!(is_unfinished(unfinished.as_ref()), "{unfinished}");
    staged.publish().unwrap();
    assert_eq!(staged.path(), path);
    assert_eq!(names(path.parent().unwrap()), ["r.flashscope"]);
    assert_eq!(names(&path), ["records"]);
}

#[test]
fn a_folder_that_is_not_published_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let staged = StagingFolder::create(&place.path().join("r"), None).unwrap();
    fs::write(staged.path().join("half"), "of it").unwrap();
    drop(staged);
    assert!(names(place.path()).is_empty());
}

#[test]
fn existing_files_are_never_replaced() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("file"), "precious").unwrap();
    std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
    for name in ["folder", "file", "link"] {
        let refused = StagingFolder::create(&at(name), None);
        assert!(matches!(refused, Err(Error::Exists(_))), "{name}: {refused:?}");
    }
    assert_eq!(names(place.path()), ["file", "folder", "link"]);
}

#[test]
fn a_name_that_was_taken_meanwhile_keeps_both() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("r-2.flashscope")).unwrap();
    let makers: [fn(&Path); 3] = [
        |path| fs::create_dir(path).unwrap(),
        |path| fs::write(path, "precious").unwrap(),
        |path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
    ];
    for (number, make) in (3..).zip(makers) {
        let mut staged = StagingFolder::create(&at("r.flashscope"), None).unwrap();
        fs::write(staged.path().join("hours"), "of work").unwrap();
        make(&at("r.flashscope"));
        let before = at("r.flashscope").symlink_metadata().unwrap().ino();
        let error = staged.publish_anyway().unwrap_err();
        let beside = at(&format!("r-{number}.flashscope"));
        assert!(error.to_string().contains(beside.to_str().unwrap()), "{error}");
        drop(staged);
        assert_eq!(fs::read(beside.join("hours")).unwrap(), b"of work");
        assert_eq!(at("r.flashscope").symlink_metadata().unwrap().ino(), before);
        let _ = fs::remove_file(at("r.flashscope"));
        let _ = fs::remove_dir(at("r.flashscope"));
    }
}

#[test]
fn a_folder_without_work_goes_when_its_name_was_taken() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("r");
    let mut staged = StagingFolder::create(&path, Some("records")).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(staged.publish(), Err(Error::Exists(_))));
    drop(staged);
    assert_eq!((names(place.path()), names(&path)), (vec!["r".into()], vec![]));
}

#[test]
fn leftovers_of_killed_processes_are_removed() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for left in [".r.flashscope-unfinished-1-0", ".other.flashscope.flashscope-unfinished-77-12"] {
        fs::create_dir_all(at(left).join("records")).unwrap();
        fs::write(at(left).join("records/run-00001-000.unfinished"), "half").unwrap();
    }
    // Each of these belongs to another program or user.
    let others = [
        ".r.flashscope-unfinished-",
        ".r.flashscope-unfinished-1",
        ".r.flashscope-unfinished-x-0",
        "r.flashscope-unfinished-1-0",
        ".hidden",
    ];
    others.iter().for_each(|name| fs::create_dir(at(name)).unwrap());
    fs::write(at(".file.flashscope-unfinished-1-0"), "no folder").unwrap();
    std::os::unix::fs::symlink(".hidden", at(".link.flashscope-unfinished-1-0")).unwrap();
    let mut kept = names(place.path());
    kept.retain(|name| {
        !name.ends_with("ed-1-0") || name.starts_with(".file") || !name.starts_with('.')
    });
    kept.retain(|name| !name.starts_with(".other"));
    kept.push(".link.flashscope-unfinished-1-0".into());
    kept.sort();
    drop(StagingFolder::create(&at("r"), None).unwrap());
    assert_eq!(names(place.path()), kept);
}

#[test]
fn the_folders_of_running_processes_stay() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let staged = StagingFolder::create(&at("r"), None).unwrap();
    let again = StagingFolder::create(&at("r"), None);
    assert!(matches!(again, Err(Error::Busy(_))), "{again:?}");
    drop(StagingFolder::create(&at("r2"), None).unwrap());
    assert!(staged.path().is_dir());
}

#[test]
fn names_of_any_length_and_bytes_are_published() {
    let place = tempfile::tempdir().unwrap();
    let longest = "é".repeat(122) + ".flashscope";
    assert_eq!(longest.len(), 255);
    for name in [longest.as_bytes(), b"\xFFr", b"a b\nc", b"..."] {
        let path = place.path().join(OsStr::from_bytes(name));
        let mut staged = StagingFolder::create(&path, Some("records")).unwrap();
        assert!(is_unfinished(staged.path().file_name().unwrap()), "{:?}", staged.path());
        staged.publish().unwrap();
        assert!(path.join("records").is_dir());
    }
    let none = StagingFolder::create(&place.path().join("new/.."), None);
    assert!(none.is_err() && !place.path().join("new").exists());
}
