use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{
    AttachedDrive, Loop, MountedFileSystem, has_fuse, output, place, run, success,
};

/// Returns true if PostgreSQL and the other requirements are installed.
pub(crate) fn has_postgres() -> bool {
    let there = programs().is_some();
    if !there {
        println!("skipped: needs PostgreSQL");
    }
    there && has_fuse(&["losetup", "mkfs.ext4", "fsck.ext4", "runuser"])
}

/// Returns the program folder of the newest PostgreSQL.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let programs = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    programs.filter(|programs| programs.join("initdb").exists()).max()
}

/// A PostgreSQL server of the test, which runs as the user postgres on a socket in a folder.
pub(crate) struct Postgres {
    data: PathBuf,
    socket: PathBuf,
}

impl Postgres {
    /// Creates a new database cluster in a file system.
    pub(crate) fn make(on: &MountedFileSystem, place: &Path) -> Postgres {
        let postgres = Postgres::of(on, place);
        for folder in [&postgres.data, &postgres.socket] {
            let folder = folder.to_str().unwrap();
            run("install", &["--directory", "--owner=postgres", "--mode=700", folder]);
        }
        let data = postgres.data.to_str().unwrap();
        output(postgres.program("initdb").args(["--auth=trust", "--pgdata", data]));
        postgres
    }

    /// Returns the cluster that exists in a file system.
    pub(crate) fn of(on: &MountedFileSystem, place: &Path) -> Postgres {
        Postgres { data: on.0.join("database"), socket: place.join("socket") }
    }

    /// Starts the server with more `settings`.
    pub(crate) fn start(&self, settings: &[&str]) -> bool {
        let mut options = format!("-k {} -c listen_addresses=", self.socket.display());
        for setting in settings {
            options += &format!(" -c {setting}");
        }
        let log = self.socket.join("log");
        let mut start = self.control("start");
        success(start.args(["--wait", "--options", &options, "--log"]).arg(log))
    }

    pub(crate) fn stop(&self) {
        output(self.control("stop").args(["--wait", "--mode=fast"]));
    }

    /// Kills the server, if it still runs.
    pub(crate) fn kill(&self) {
        success(self.control("stop").args(["--wait", "--mode=immediate"]));
    }

    /// Returns the rows of the answer, one per line.
    #[track_caller]
    pub(crate) fn ask(&self, statement: &str) -> String {
        output(self.psql().args(["--command", statement]))
    }

    pub(crate) fn psql(&self) -> Command {
        let mut psql = self.client("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set=ON_ERROR_STOP=1", "postgres"]);
        psql
    }

    pub(crate) fn client(&self, program: &str) -> Command {
        let mut client = self.program(program);
        client.arg("--host").arg(&self.socket);
        client
    }

    fn control(&self, what: &str) -> Command {
        let mut control = self.program("pg_ctl");
        control.arg(what).arg("--silent").arg("--pgdata").arg(&self.data);
        control
    }

    /// Returns the command for one of the programs, as the user postgres.
    fn program(&self, name: &str) -> Command {
        let program = programs().unwrap().join(name);
        let mut command = Command::new("runuser");
        command.args(["--user", "postgres", "--"]).arg(program).current_dir("/");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn postgres_balances_survive_a_restart_and_a_remount() {
    if !has_postgres() {
        return;
    }
    let place = place();
    let attached = AttachedDrive::fuse(place.path(), "sim:demo", &["--speed", "max"]);
    let device = Loop::new(&attached.place);
    run("mkfs.ext4", &["-q", &device.0]);
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = total, \
                (SELECT sum(bbalance) FROM pgbench_branches) = total, transactions \
                FROM (SELECT sum(delta) AS total, count(*) AS transactions FROM pgbench_history) _";
    {
        let mounted = MountedFileSystem::new(&device, place.path());
        let postgres = Postgres::make(&mounted, place.path());
        assert!(postgres.start(&[]));
        output(postgres.client("pgbench").args(["--initialize", "--quiet", "postgres"]));
        let load = ["--client=4", "--transactions=250", "postgres"];
        output(postgres.client("pgbench").args(load));
        assert_eq!(postgres.ask(sums), "t|t|1000\n");
        postgres.stop();
    }
    run("fsck.ext4", &["-f", "-n", &device.0]);
    let mounted = MountedFileSystem::new(&device, place.path());
    let postgres = Postgres::of(&mounted, place.path());
    assert!(postgres.start(&[]));
    assert_eq!(postgres.ask(sums), "t|t|1000\n");
    postgres.stop();
}
