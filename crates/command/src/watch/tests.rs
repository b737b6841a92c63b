use std::cell::{Cell, RefCell};
use std::rc::Rc;

use flashscope_document::environment::Health;
use flashscope_document::watch::DriveWatch;

use super::*;

/// Returns a reading of the attached drive `name`.
fn reading(name: &str, health: bool) -> SourceReading {
    let mut smart = [0; 512];
    (smart[3], smart[5]) = (100, 5);
    let drive = WatchedDrive {
        name: name.into(),
        source: WatchSource::Attached,
        model: None,
        serial: None,
    };
    let health = Health::decode(&smart, None).filter(|_| health);
    let health = health.map(|health| (health, None)).ok_or_else(|| anyhow!("no health"));
    SourceReading { drive, at: None, health }
}

/// The attached drives of a test: the name of each drive, with true if it reports health; `None` if
/// the list fails.
type DriveTable = Rc<RefCell<Option<Vec<(&'static str, bool)>>>>;

fn watch(source: Source, drives: &[(&'static str, bool)]) -> (Watch, DriveTable) {
    let attached: DriveTable = Rc::new(RefCell::new(Some(drives.to_vec())));
    let list = Rc::clone(&attached);
    let read = move || {
        let list = list.borrow();
        let list = list.as_ref().ok_or_else(|| anyhow!("no list"))?;
        Ok(list.iter().map(|&(name, health)| reading(name, health)).collect())
    };
    (Watch::new(vec![source], Box::new(read)), attached)
}

fn errors(watch: &Watch) -> Vec<(String, Option<String>)> {
    let pair = |drive: DriveWatch| (drive.drive.name, drive.error);
    watch.report().drives.into_iter().map(pair).collect()
}

#[test]
fn a_failure_of_the_list_leaves_the_drives_in_the_report() {
    let (mut watch, attached) = watch(Source::Attached { is_named: false }, &[("a", true)]);
    watch.read();
    assert!(outcome(&watch.state()).is_ok());
    *attached.borrow_mut() = None;
    watch.read();
    assert_eq!(errors(&watch), [("a".into(), Some("no list".into()))]);
    assert_eq!(watch.state().failures.attached.as_deref(), Some("no list"));
    assert!(outcome(&watch.state()).is_err());
    *attached.borrow_mut() = Some(vec![("a", true)]);
    watch.read();
    assert!(outcome(&watch.state()).is_ok());
}

#[test]
fn a_full_disk_is_a_failure_of_the_folder_until_a_reading_is_kept() {
    let (mut watch, _) = watch(Source::Attached { is_named: false }, &[("a", true), ("b", true)]);
    let (is_full, kept) = (Rc::new(Cell::new(true)), Rc::new(Cell::new(0)));
    let (full, count) = (Rc::clone(&is_full), Rc::clone(&kept));
    watch.keeper = Some(Box::new(move |_| {
        if full.get() {
            return Err(Error::NoWatch("full".into()));
        }
        count.set(count.get() + 1);
        Ok(())
    }));
    watch.read();
    let state = watch.state();
    assert!(state.has_folder && state.failures.folder.is_some());
    assert_eq!(errors(&watch), [("a".into(), None), ("b".into(), None)], "the drives are read");
    is_full.set(false);
    // Without its history, the next reading counts as new, although it may have the same time.
    watch.histories.values_mut().for_each(|history| *history = History::default());
    watch.read();
    assert_eq!((watch.state().failures, kept.get()), (WatchFailures::default(), 2));
}

#[test]
fn an_attached_drive_is_forgotten_an_hour_after_its_end() {
    let (mut watch, attached) = watch(Source::Attached { is_named: false }, &[("a", true)]);
    watch.read_at(1000);
    *attached.borrow_mut() = Some(Vec::new());
    watch.read_at(2000);
    watch.read_at(5599);
    assert_eq!(errors(&watch), [("a".into(), Some("it is no longer attached".into()))]);
    watch.read_at(5600);
    assert!(errors(&watch).is_empty() && watch.histories.is_empty());
}

#[test]
fn attached_drives_without_health_are_watched_only_if_they_are_named() {
    let drives = [("real", false), ("simulated", true)];
    let names = |is_named| {
        let (mut watch, _) = watch(Source::Attached { is_named }, &drives);
        watch.read();
        errors(&watch).into_iter().map(|(name, _)| name).collect::<Vec<String>>()
    };
    assert_eq!(names(false), ["simulated"]);
    assert_eq!(names(true), ["real", "simulated"]);
}
