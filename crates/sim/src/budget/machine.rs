//! Determines how much memory this process may use.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flashscope_block::Bytes;

/// Returns the memory of this machine, or the limit of this process's Linux control group if that
/// is less. Returns `None` if the system does not report it.
pub(crate) fn memory_of_machine() -> Option<Bytes> {
    static MEMORY: OnceLock<Option<Bytes>> = OnceLock::new();
    *MEMORY.get_or_init(|| memory_below(Path::new("/")))
}

/// Does the same as [`memory_of_machine`] for a system whose files are below `root`.
fn memory_below(root: &Path) -> Option<Bytes> {
    let all = memory_in_all(&fs::read_to_string(root.join("proc/meminfo")).ok()?)?;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limit_files(root, line));
    let limits = limits.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    Some(Bytes(limits.fold(all, u64::min)))
}

/// Returns `MemTotal` of `/proc/meminfo` in bytes.
fn memory_in_all(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the files with the limits of the groups that a line of `/proc/self/cgroup` names: the
/// group itself and its ancestors. Covers control groups of version 2, and the memory controller of
/// version 1.
fn limit_files(root: &Path, line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        list if list.split(',').any(|one| one == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let group = Path::new(path.trim_start_matches('/'));
    group.ancestors().map(|group| root.join(mount).join(group).join(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the files of a test system, removed when dropped.
    struct System(PathBuf);

    impl System {
        fn new(name: &str, files: &[(&str, &str)]) -> System {
            let root = std::env::temp_dir().join(format!("budget-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
                fs::write(path, text).expect("a file");
            }
            System(root)
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemFree: 1 kB\nMemTotal:       8388608 kB\n");

    #[test]
    fn the_least_limit_of_the_ancestor_groups_applies() {
        let free = System::new("free", &[MEMINFO, ("proc/self/cgroup", "0::/a/b\n")]);
        assert_eq!(memory_below(&free.0), Some(Bytes::gib(8)));
        let inner = ("sys/fs/cgroup/a/b/memory.max", "max\n");
        let outer = ("sys/fs/cgroup/a/memory.max", "2147483648\n");
        let two = System::new("two", &[MEMINFO, ("proc/self/cgroup", "0::/a/b\n"), inner, outer]);
        assert_eq!(memory_below(&two.0), Some(Bytes::gib(2)));
        let one = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu:/x\n4:blkio,memory:/c\n"),
            ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1073741824\n"),
        ];
        assert_eq!(memory_below(&System::new("one", &one).0), Some(Bytes::gib(1)));
        // A limit above the memory of the machine changes nothing.
        let unlimited = ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
        let most = System::new("most", &[one[0], one[1], unlimited]);
        assert_eq!(memory_below(&most.0), Some(Bytes::gib(8)));
    }

    #[test]
    fn memory_is_unknown_without_these_files() {
        assert_eq!(memory_below(Path::new("/nowhere")), None);
    }
}
