//! Uses of a device or file that this process cannot detect by name: in other mount namespaces, or
//! under deleted names.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use super::*;

/// A process that has run a command in a new mount namespace, and waits until this value is
/// dropped.
struct Namespace(Child);

impl Namespace {
    fn new(command: &str, arguments: &[&str]) -> Option<Namespace> {
        let script = format!("{command} && echo ready && exec cat");
        let child = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script, "sh"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut()?.by_ref()).read_line(&mut line).ok()?;
        let namespace = Namespace(child);
        if line == "ready\n" {
            return Some(namespace);
        }
        println!("skipped: no mount namespace can be created here, or nothing mounted in it");
        None
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let ended = self.0.wait();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

// A partition is mounted only in another mount namespace, as in a container. The partition and its
// disk are refused until that namespace is gone.
#[test]
fn mounts_in_another_namespace_are_detected() {
    let Some((device, partition)) = partitioned() else { return };
    let at = device.mount_point();
    let mount = "mount \"$1\" \"$2\"";
    let mounted = Namespace::new(mount, &[&partition, at.to_str().unwrap()]);
    let Some(mounted) = mounted else { return };
    // Erases the signature, which leaves the use as the only reason for a refusal. The file system
    // stays mounted, because the kernel has it in memory.
    assert!(run("wipefs", &["--all", "--force", device.path()]));
    let refused = refusal(&writing(&device.device));
    assert!(matches!(refused, Refusal::Busy { .. } | Refusal::Mounted { .. }), "{refused}");
    let refused = open(&writing(Path::new(&partition))).err();
    assert!(matches!(refused, Some(OpenError::Refused(_))), "{refused:?}");
    drop(mounted);
    // The partition still exists, and the whole device is free.
    opened(&writing(&device.device));
}

// The backing file was renamed, or its name was deleted.
#[test]
fn backing_files_are_recognized_without_their_name() {
    let Some(device) = Loop::new() else { return };
    let kept = device.directory.path().join("kept");
    fs::hard_link(&device.image, &kept).unwrap();
    fs::rename(&device.image, device.directory.path().join("renamed")).unwrap();
    let refused = refusal(&writing_file(&kept));
    assert!(matches!(refused, Refusal::LoopBacking { .. }), "{refused}");
    fs::remove_file(device.directory.path().join("renamed")).unwrap();
    let refused = refusal(&writing_file(&kept));
    assert!(matches!(refused, Refusal::LoopBacking { .. }), "{refused}");
}

// The other loop device is mounted here, mounted in another mount namespace, or not mounted. The
// only loop device over a file is free.
#[test]
fn a_second_loop_device_over_a_file_is_refused() {
    let Some(device) = Loop::new() else { return };
    let Some(over) = device.over(&device.image) else { return };
    let second = Path::new(&over.0);
    let refused = refusal(&writing(second)).to_string();
    assert!(
        refused.contains(&format!("loop device {} exposes its content; `losetup", device.path())),
        "{refused}"
    );
    assert!(run("mkfs.ext4", &["-q", device.path()]));
    let at = device.mount_point();
    if let Some(_mounted) = MountGuard::new(device.path(), at.clone()) {
        let refused = refusal(&writing(second)).to_string();
        assert!(
            refused.contains(&format!("{} exposes its content, mounted at `", device.path())),
            "{refused}"
        );
    }
    let arguments = [device.path(), at.to_str().unwrap()];
    if let Some(_mounted) = Namespace::new("mount \"$1\" \"$2\"", &arguments) {
        let refused = refusal(&writing(second));
        assert!(matches!(refused, Refusal::LoopBacking { .. }), "{refused}");
    }
    device.blank();
    drop(over);
    opened(&writing(&device.device));
}

// A partition of the disk is mounted.
#[test]
fn a_loop_device_over_a_used_disk_is_refused() {
    let Some((device, partition)) = partitioned() else { return };
    let Some(_mounted) = MountGuard::new(&partition, device.mount_point()) else { return };
    let Some(upper) = device.over(&device.device) else { return };
    let refused = refusal(&writing(Path::new(&upper.0)));
    let message = refused.to_string();
    assert!(matches!(refused, Refusal::Mounted { .. }), "{message}");
    assert!(message.contains(&format!("{partition} is mounted")), "{message}");
}

// The loop device was set up in another mount namespace, under a path that leads to another file
// here.
#[test]
fn loop_devices_of_another_namespace_are_detected() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [image, cover] = ["image", "cover"].map(|name| directory.path().join(name));
    fs::create_dir(&cover).unwrap();
    File::create(&image).unwrap().set_len(Bytes::mib(64).0).unwrap();
    fs::write(cover.join("image"), "another file").unwrap();
    let attached = Namespace::new(
        "mount --bind \"$1\" \"$2\" && losetup --find --show \"$2/image\" >\"$2/device\"",
        &[directory.path().to_str().unwrap(), cover.to_str().unwrap()],
    );
    let Some(attached) = attached else { return };
    let device = fs::read_to_string(directory.path().join("device")).unwrap();
    let refused = open(&writing_file(&image)).err();
    assert!(detach(device.trim()));
    drop(attached);
    assert!(
        matches!(refused, Some(OpenError::Refused(Refusal::LoopBacking { .. }))),
        "{refused:?}"
    );
    opened(&writing_file(&image));
}
