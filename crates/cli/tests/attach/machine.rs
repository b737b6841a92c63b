//! Mounts, devices and processes of tests. Each is removed when it is dropped, in reverse order of
//! creation, even if the test fails.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Returns true if the test runs as root with /dev/fuse and all of `programs`.
pub(crate) fn has_fuse(programs: &[&str]) -> bool {
    let root = success(Command::new("sh").args(["-c", "test $(id -u) -eq 0"]));
    is_there(root, "root")
        && is_there(Path::new("/dev/fuse").exists(), "/dev/fuse")
        && has(programs)
}

/// Returns true if all of `programs` are installed.
pub(crate) fn has(programs: &[&str]) -> bool {
    let installed =
        |program: &str| success(Command::new("sh").args(["-c", &format!("command -v {program}")]));
    programs.iter().all(|program| is_there(installed(program), program))
}

/// Returns true if the requirements of a test are met; prints a note if not.
fn is_there(there: bool, what: &str) -> bool {
    if !there {
        println!("skipped: needs {what}");
    }
    there
}

/// Runs a program silently and returns true if it succeeds.
pub(crate) fn success(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|end| end.success())
}

/// Returns the output of a program, which must succeed.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{message}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a program, which must succeed.
#[track_caller]
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    output(Command::new(program).args(arguments))
}

/// Creates a folder that other users may enter.
pub(crate) fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o711)).unwrap();
    place
}

/// A running `flashscope attach`.
pub(crate) struct AttachedDrive {
    process: Child,
    /// The mount point, if it is mounted.
    folder: Option<PathBuf>,
    /// The address of the drive: the path of a file, or an NBD URI.
    pub place: String,
}

impl AttachedDrive {
    /// Attaches `drive` as a file below `place`, with more `options`.
    pub(crate) fn fuse(place: &Path, drive: &str, options: &[&str]) -> AttachedDrive {
        let folder = place.join("attached");
        fs::create_dir_all(&folder).unwrap();
        AttachedDrive::start(drive, "--fuse", &folder, options, Some(folder.clone()))
    }

    /// Attaches `drive` to a socket below `place`, with more `options`.
    pub(crate) fn nbd(place: &Path, drive: &str, options: &[&str]) -> AttachedDrive {
        AttachedDrive::start(drive, "--nbd", &place.join("socket"), options, None)
    }

    fn start(
        drive: &str,
        way: &str,
        at: &Path,
        options: &[&str],
        folder: Option<PathBuf>,
    ) -> AttachedDrive {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashscope"));
        command.args(["attach", drive, "--json", way]).arg(at).args(options);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        // Created before the output is checked, so that the process ends with the test.
        let mut attached = AttachedDrive { process, folder, place: String::new() };
        let status: serde_json::Value = serde_json::from_str(&line).expect("it is attached");
        attached.place = status["place"].as_str().unwrap().into();
        attached
    }

    /// Kills the process, which simulates a power cut: data in its memory is lost.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Ends the process as Ctrl-C does, and returns its exit status.
    pub(crate) fn stop(mut self) -> Option<i32> {
        run("kill", &["-INT", &self.process.id().to_string()]);
        self.process.wait().unwrap().code()
    }
}

impl Drop for AttachedDrive {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(folder) = &self.folder {
            success(Command::new("umount").arg("--lazy").arg(folder));
        }
    }
}

/// A loop device over a file.
pub(crate) struct Loop(pub String);

impl Loop {
    pub(crate) fn new(file: &str) -> Loop {
        let options = ["--find", "--show", "--direct-io=on"];
        Loop(output(Command::new("losetup").args(options).arg(file)).trim().into())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        success(Command::new("losetup").args(["--detach", &self.0]));
        // While another program has the device open, the kernel delays the detach.
        let held = Path::new("/sys/block").join(&self.0["/dev/".len()..]).join("loop");
        for _ in 0..500 {
            if !held.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// An ext4 file system of a device, mounted below a folder.
pub(crate) struct MountedFileSystem(pub PathBuf);

impl MountedFileSystem {
    pub(crate) fn new(device: &Loop, place: &Path) -> MountedFileSystem {
        let folder = place.join("mounted");
        fs::create_dir_all(&folder).unwrap();
        run("mount", &["--types", "ext4", &device.0, folder.to_str().unwrap()]);
        MountedFileSystem(folder)
    }
}

impl Drop for MountedFileSystem {
    fn drop(&mut self) {
        if !success(Command::new("umount").arg(&self.0)) {
            success(Command::new("umount").arg("--lazy").arg(&self.0));
        }
    }
}
