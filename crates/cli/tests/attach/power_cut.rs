use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use crate::machine::{AttachedDrive, Loop, MountedFileSystem, has, output, place, run, success};
use crate::postgres::{Postgres, has_postgres};

/// A drive whose write buffer loses its data in a power cut.
const DRIVE: &str = "sim:demo?cache.kind=lru";

/// The number of acknowledged transactions after which the power is cut.
const TRANSACTIONS: usize = 400;

const CLIENTS: u32 = 4;

/// The transactions of a database before and after a power cut of its drive.
struct Cut {
    /// The acknowledged transactions in order, [`TRANSACTIONS`] of them before the cut.
    acknowledged: Vec<u32>,
    /// The rows that survived; `None` if the file system or the database is damaged.
    found: Option<BTreeSet<u32>>,
}

impl Cut {
    /// Lets clients insert rows into a table until the power is cut, with more `settings` of the
    /// database.
    fn new(place: &Path, settings: &[&str]) -> Cut {
        let store = place.join("store");
        let options = ["--speed", "max", "--store", store.to_str().unwrap()];
        let acknowledged = {
            let mut attached = AttachedDrive::fuse(place, DRIVE, &options);
            let device = Loop::new(&attached.place);
            run("mkfs.ext4", &["-q", &device.0]);
            let mounted = MountedFileSystem::new(&device, place);
            let postgres = Postgres::make(&mounted, place);
            assert!(postgres.start(&[]));
            postgres.ask("CREATE TABLE noted (number int PRIMARY KEY, filler text)");
            postgres.stop();
            run("sync", &["--file-system", mounted.0.to_str().unwrap()]);
            assert!(postgres.start(settings));
            insert(&postgres, place, || attached.kill())
        };
        let attached = AttachedDrive::fuse(place, DRIVE, &options);
        let device = Loop::new(&attached.place);
        Cut { acknowledged, found: stored_rows(&device, place) }
    }

    /// Returns how many of `acknowledged` are lost; `None` if the rows are unknown.
    fn lost(&self, acknowledged: &[u32]) -> Option<usize> {
        let gone = |found: &BTreeSet<u32>| {
            acknowledged.iter().filter(|number| !found.contains(number)).count()
        };
        let lost = self.found.as_ref().map(gone);
        println!("of {} transactions acknowledged, lost: {lost:?}", acknowledged.len());
        lost
    }
}

/// Inserts rows by several clients, and calls `cut` while they run. Returns the acknowledged rows,
/// including rows that were acknowledged after the cut.
fn insert(postgres: &Postgres, place: &Path, cut: impl FnOnce()) -> Vec<u32> {
    let (sender, receiver) = channel();
    for client in 0..CLIENTS {
        let script = place.join(format!("{client}.sql"));
        fs::write(&script, statements(client)).unwrap();
        let mut psql = postgres.psql();
        psql.stdin(fs::File::open(&script).unwrap()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut psql = psql.spawn().unwrap();
        let sender = sender.clone();
        thread::spawn(move || {
            let acknowledged = BufReader::new(psql.stdout.take().unwrap()).lines();
            for number in acknowledged.map_while(Result::ok) {
                let _ = sender.send(number.parse().unwrap());
            }
            let _ = psql.wait();
        });
    }
    drop(sender);
    let mut acknowledged: Vec<u32> = receiver.iter().take(TRANSACTIONS).collect();
    assert_eq!(acknowledged.len(), TRANSACTIONS, "the clients ended early");
    cut();
    postgres.kill();
    acknowledged.extend(receiver);
    acknowledged
}

/// Returns a script of transactions of one row each, which prints the number of each acknowledged
/// row.
fn statements(client: u32) -> String {
    let insert = |number: u32| {
        format!(
            "INSERT INTO noted VALUES ({number}, repeat(md5('{number}'), 60));\n\\echo {number}\n"
        )
    };
    (0..100_000).map(|at| insert(at * CLIENTS + client)).collect()
}

/// Returns the rows after the journal is replayed and the database has recovered.
fn stored_rows(device: &Loop, place: &Path) -> Option<BTreeSet<u32>> {
    // Mounting replays the journal, as a restart of the system does.
    fs::create_dir_all(place.join("mounted")).unwrap();
    let at = place.join("mounted");
    if !success(Command::new("mount").args(["--types", "ext4", &device.0]).arg(&at)) {
        return None;
    }
    drop(MountedFileSystem(at));
    if !success(Command::new("fsck.ext4").args(["-f", "-n", &device.0])) {
        return None;
    }
    let mounted = MountedFileSystem::new(device, place);
    let postgres = Postgres::of(&mounted, place);
    // The killed server has left its lock file.
    let _ = fs::remove_file(mounted.0.join("database/postmaster.pid"));
    if !postgres.start(&[]) {
        return None;
    }
    let rows = output(postgres.psql().args(["--command", "SELECT number FROM noted"]));
    Some(rows.lines().map(|number| number.parse().unwrap()).collect())
}

#[test]
fn committed_transactions_survive_a_power_cut() {
    if !has_postgres() {
        return;
    }
    let place = place();
    let cut = Cut::new(place.path(), &[]);
    assert_eq!(cut.lost(&cut.acknowledged), Some(0));
}

// Shows that the test of the database with flushes can fail.
#[test]
fn database_without_flushes_loses_transactions_in_a_power_cut() {
    if !has_postgres() {
        return;
    }
    let place = place();
    let cut = Cut::new(place.path(), &["fsync=off"]);
    assert_ne!(cut.lost(&cut.acknowledged[..TRANSACTIONS]), Some(0));
}

/// Lets fio write 8 MiB of `pattern` at `offset`; with `--verify_only` as `more`, fio only reads
/// and checks it.
fn patterned(attached: &AttachedDrive, place: &Path, [offset, pattern, more]: [&str; 3]) -> bool {
    let mut fio = Command::new("fio");
    // fio writes its state to the current folder.
    fio.current_dir(place);
    fio.args(["--name=x", "--ioengine=nbd", "--rw=write", "--bs=64k", "--size=8m", more]);
    fio.arg(format!("--uri={}", attached.place)).arg(format!("--offset={offset}"));
    fio.args(["--verify=pattern", &format!("--verify_pattern={pattern}")]);
    success(&mut fio)
}

#[test]
fn only_flushed_data_survives_a_power_cut_over_nbd() {
    if !has(&["fio"]) {
        return;
    }
    let place = place();
    let store = place.path().join("store");
    let options = ["--speed", "max", "--store", store.to_str().unwrap()];
    let mut attached = AttachedDrive::nbd(place.path(), DRIVE, &options);
    assert!(patterned(&attached, place.path(), ["0", "0x11", "--end_fsync=1"]));
    assert!(patterned(&attached, place.path(), ["8m", "0x22", "--end_fsync=0"]));
    attached.kill();
    let attached = AttachedDrive::nbd(place.path(), DRIVE, &options);
    assert!(patterned(&attached, place.path(), ["0", "0x11", "--verify_only"]));
    assert!(!patterned(&attached, place.path(), ["8m", "0x22", "--verify_only"]));
}
