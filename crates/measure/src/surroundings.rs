//! Records the activity of other processes while a real drive is measured, from the kernel's
//! counters.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flashscope_block::{Bytes, Completion, Op};
use flashscope_document::environment::{Conditions, Disturbance, Environment, Queue};

/// The sector size of the counters in a drive's `stat`.
const SECTOR: u64 = 512;

/// Assumed minimum size of other processes' IOs: a page, as for IOs through the page cache. It
/// matters where the kernel's request count includes the parts into which it split our IOs.
const MIN_IO: u64 = 4096;

/// A run is flagged as disturbed if other processes did more than one IO per this many IOs of the
/// run.
const IOS_PER_OTHER: u64 = 100;

/// The share of processor time from which other processes count as a disturbance.
const PROCESSOR_SHARE: f64 = 0.25;

/// The number of ticks of all processors below which shares of them are noise.
const MIN_TICKS: u64 = 50;

/// The kernel's sources of information about the machine and the measured drive.
#[derive(Debug, Clone)]
pub struct Surroundings {
    root: PathBuf,
    disk: Option<PathBuf>,
    sensor: Option<PathBuf>,
}

/// The counters at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    drive: Option<Traffic>,
    processors: Option<Ticks>,
    temperature_celsius: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traffic {
    ios: u64,
    sectors: u64,
}

/// Processor time of all processors, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    total: u64,
    busy: u64,
    own: u64,
}

/// The IOs that a run itself submitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCount {
    /// The number of IOs.
    pub ios: u64,
    /// The bytes of the IOs that move data.
    pub bytes: Bytes,
}

impl IoCount {
    /// Counts a completed IO.
    #[inline]
    pub fn add(&mut self, completion: &Completion) {
        self.ios += 1;
        if completion.io.op != Op::Flush {
            self.bytes += completion.io.len;
        }
    }
}

impl Surroundings {
    /// Describes the drive whose sysfs directory is `disk` and whose temperature is in the file
    /// `sensor`; `/proc` and `/sys` are below `root`.
    pub fn at(root: &Path, disk: Option<PathBuf>, sensor: Option<PathBuf>) -> Surroundings {
        Surroundings { root: root.into(), disk, sensor }
    }

    fn text(&self, path: &str) -> Option<String> {
        text(&self.root.join(path))
    }

    /// Returns the current settings of the machine.
    pub fn environment(&self) -> Environment {
        let cpus = "sys/devices/system/cpu";
        let (name, exit_us) = self.deepest_idle_state().unzip();
        Environment {
            governors: self.governors(),
            idle_driver: self.text(&format!("{cpus}/cpuidle/current_driver")),
            deepest_idle_state: name,
            deepest_idle_state_exit_us: exit_us.flatten(),
            numa_nodes: self.text("sys/devices/system/node/online").and_then(|list| count(&list)),
            load_average: self.load_average(),
            queue: self.disk.as_deref().map(queue),
        }
    }

    fn governors(&self) -> Vec<String> {
        let cpus = fs::read_dir(self.root.join("sys/devices/system/cpu"));
        let governor = |cpu: fs::DirEntry| text(&cpu.path().join("cpufreq/scaling_governor"));
        let cpus = cpus.into_iter().flatten().flatten();
        let mut governors: Vec<String> = cpus.filter_map(governor).collect();
        governors.sort();
        governors.dedup();
        governors
    }

    /// Returns the name of the deepest idle state and its exit latency in µs. States are numbered
    /// from the lightest on.
    fn deepest_idle_state(&self) -> Option<(String, Option<u64>)> {
        let states = self.root.join("sys/devices/system/cpu/cpu0/cpuidle");
        let state = |n: u32| Some(states.join(format!("state{n}"))).filter(|path| path.exists());
        let enabled = |path: &PathBuf| text(&path.join("disable")).is_none_or(|text| text == "0");
        let deepest = (0..).map_while(state).filter(enabled).last()?;
        Some((text(&deepest.join("name"))?, number(&deepest.join("latency"))))
    }

    fn load_average(&self) -> Option<f64> {
        self.text("proc/loadavg")?.split(' ').next()?.parse().ok()
    }

    /// Returns the current counters.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            drive: self.disk.as_ref().and_then(|disk| traffic(&text(&disk.join("stat"))?)),
            processors: self.ticks(),
            temperature_celsius: self.temperature(),
        }
    }

    fn temperature(&self) -> Option<f64> {
        number::<f64>(self.sensor.as_ref()?).map(|millis| millis / 1000.0)
    }

    fn ticks(&self) -> Option<Ticks> {
        let stat = self.text("proc/stat")?;
        let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        // The fields are user, nice, system, idle, iowait, irq, softirq and steal; guests are part
        // of user.
        let ticks: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
        let total: u64 = ticks.iter().sum();
        let idle: u64 = ticks.get(3..5)?.iter().sum();
        // The program's name, in parentheses, may hold any character; the third field follows it.
        let own = self.text("proc/self/stat")?;
        let own = own.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
        let own = own.map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
        Some(Ticks { total, busy: total - idle, own })
    }

    /// Returns the conditions of a run that submitted `own`, from the counters before the preceding
    /// pause, at its start, and at its end.
    pub fn conditions(&self, snapshots: [&Snapshot; 3], own: IoCount) -> Conditions {
        let [pause, start, end] = snapshots;
        let others = others(start, end, own);
        let share = processor_share(start, end);
        let mut disturbed_by = Vec::new();
        if others.is_some_and(|others| others.ios.saturating_mul(IOS_PER_OTHER) > own.ios) {
            disturbed_by.push(Disturbance::Ios);
        }
        if share.is_some_and(|share| share >= PROCESSOR_SHARE) {
            disturbed_by.push(Disturbance::Processors);
        }
        Conditions {
            load_average: self.load_average(),
            others_ios_before: others_in(pause, start),
            others_ios: others.map(|others| others.ios),
            others_bytes: others.map(|others| others.bytes),
            others_processor_share: share,
            temperature_celsius_before: start.temperature_celsius,
            temperature_celsius_after: end.temperature_celsius,
            repeated_as_disturbed_by: vec![],
            disturbed_by,
        }
    }
}

fn others_in(pause: &Snapshot, start: &Snapshot) -> Option<u64> {
    others(pause, start, IoCount::default()).map(|others| others.ios)
}

/// Returns the IOs on the drive that are not among `own`.
fn others(from: &Snapshot, to: &Snapshot, own: IoCount) -> Option<IoCount> {
    let (from, to) = (from.drive?, to.drive?);
    let moved = to.sectors.saturating_sub(from.sectors).saturating_mul(SECTOR);
    let bytes = Bytes(moved.saturating_sub(own.bytes.0));
    let requests = to.ios.saturating_sub(from.ios).saturating_sub(own.ios);
    Some(IoCount { ios: requests.min(bytes.0.div_ceil(MIN_IO)), bytes })
}

fn processor_share(from: &Snapshot, to: &Snapshot) -> Option<f64> {
    let (from, to) = (from.processors?, to.processors?);
    let total = to.total.saturating_sub(from.total);
    let busy = to.busy.saturating_sub(from.busy);
    let others = busy.saturating_sub(to.own.saturating_sub(from.own));
    // Ticks are far below 2⁵³.
    #[allow(clippy::cast_precision_loss)]
    let share = others as f64 / total as f64;
    (total >= MIN_TICKS).then_some(share)
}

/// Reads the counters of a drive (`Documentation/block/stat.rst`): for each of reads, writes and
/// discards, the IOs, the merged IOs, the sectors, and the time.
fn traffic(stat: &str) -> Option<Traffic> {
    let fields: Vec<u64> = stat.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let kinds = [fields.get(0..3), fields.get(4..7), fields.get(11..14)];
    let kinds = kinds.into_iter().flatten();
    let sum = kinds.fold(Traffic { ios: 0, sectors: 0 }, |sum, kind| Traffic {
        ios: sum.ios + kind[0] + kind[1],
        sectors: sum.sectors + kind[2],
    });
    (fields.len() >= 11).then_some(sum)
}

fn queue(disk: &Path) -> Queue {
    let queue = disk.join("queue");
    let kib = |name| number(&queue.join(name)).map(Bytes::kib);
    Queue {
        drive: disk.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        scheduler: text(&queue.join("scheduler")).map(|text| {
            let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            bracketed.map_or(text.as_str(), |(chosen, _)| chosen).to_owned()
        }),
        requests: number(&queue.join("nr_requests")),
        max_request_bytes: kib("max_sectors_kb"),
        read_ahead_bytes: kib("read_ahead_kb"),
        write_cache: text(&queue.join("write_cache")),
        no_merges: number(&queue.join("nomerges")),
        write_throttle_us: number(&queue.join("wbt_lat_usec")),
    }
}

fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// Returns the number of entries in a kernel list, for example 5 for `0-3,6`.
fn count(list: &str) -> Option<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with the disk sda and these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Surroundings) {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), files);
        let disk = root.path().join("sys/block/sda");
        let sensor = disk.join("temperature");
        let surroundings = Surroundings::at(root.path(), Some(disk), Some(sensor));
        (root, surroundings)
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    // C6 is disabled, so C1 is the deepest idle state.
    #[test]
    fn settings_name_the_deepest_enabled_idle_state() {
        let cpu = "sys/devices/system/cpu";
        let state = |n, what| format!("{cpu}/cpu0/cpuidle/state{n}/{what}");
        let mut files = vec![
            (format!("{cpu}/cpu0/cpufreq/scaling_governor"), "performance"),
            (format!("{cpu}/cpu1/cpufreq/scaling_governor"), "powersave"),
            (format!("{cpu}/cpu2/cpufreq/scaling_governor"), "performance"),
            (format!("{cpu}/cpuidle/current_driver"), "intel_idle"),
            ("sys/devices/system/node/online".into(), "0-1,3"),
            ("proc/loadavg".into(), "1.25 0.50 0.10 1/100 42"),
            ("sys/block/sda/queue/scheduler".into(), "none [bfq]"),
            ("sys/block/sda/queue/nr_requests".into(), "64"),
            ("sys/block/sda/queue/max_sectors_kb".into(), "1280"),
            ("sys/block/sda/queue/nomerges".into(), "2"),
        ];
        for (n, name, disabled) in [(0, "POLL", "0"), (1, "C1", "0"), (2, "C6", "1")] {
            files.push((state(n, "name"), name));
            files.push((state(n, "disable"), disabled));
            files.push((state(n, "latency"), "2"));
        }
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let (_root, surroundings) = machine(&files);
        let text = |text: &str| Some(text.to_owned());
        let expected = Environment {
            governors: vec!["performance".into(), "powersave".into()],
            idle_driver: text("intel_idle"),
            deepest_idle_state: text("C1"),
            deepest_idle_state_exit_us: Some(2),
            numa_nodes: Some(3),
            load_average: Some(1.25),
            queue: Some(Queue {
                drive: "sda".into(),
                scheduler: text("bfq"),
                requests: Some(64),
                max_request_bytes: Some(Bytes::kib(1280)),
                no_merges: Some(2),
                ..Queue::default()
            }),
        };
        assert_eq!(surroundings.environment(), expected);
    }

    #[test]
    fn a_machine_without_counters_flags_nothing() {
        let root = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::at(root.path(), None, None);
        assert_eq!(surroundings.environment(), Environment::default());
        let snapshot = surroundings.snapshot();
        let own = IoCount { ios: 10, bytes: Bytes(40_960) };
        let conditions = surroundings.conditions([&snapshot; 3], own);
        assert_eq!(conditions, Conditions::default());
    }

    /// Returns the conditions of a run of 1000 IOs of 4 KiB. During the run the drive counts `ios`
    /// and `sectors`, and the processors are busy for `busy` of 400 ticks, 60 of them for the run.
    fn run(ios: u64, sectors: u64, busy: u64) -> Conditions {
        let stat = |ios, sectors| format!("{ios} 0 {sectors} 0 5 1 8 0 0 0 0 0 0 0 0");
        let cpu = |busy: u64, idle: u64| format!("cpu  {busy} 0 0 {idle} 0 0 0 0 9 9");
        let own = |ticks: u64| format!("1 (a b) c) R 1 1 1 0 -1 4 0 0 0 0 {ticks} 20 0 0");
        let files = |ios, sectors, busy, idle, ticks, temperature: &str| {
            let names = ["sys/block/sda/stat", "proc/stat", "proc/self/stat"];
            let texts = [stat(ios, sectors), cpu(busy, idle), own(ticks)];
            let mut files: Vec<_> = names.into_iter().zip(texts).collect();
            files.push(("sys/block/sda/temperature", temperature.into()));
            files
        };
        let (root, surroundings) = machine(&[]);
        let at = |files: Vec<(&str, String)>| {
            let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
            write(root.path(), &files);
            surroundings.snapshot()
        };
        let pause = at(files(100, 800, 1000, 5000, 0, "30000"));
        let start = at(files(103, 824, 1000, 5000, 0, "31000"));
        let end = at(files(103 + ios, 824 + sectors, 1000 + busy, 5400 - busy, 60, "45500"));
        let own = IoCount { ios: 1000, bytes: Bytes::kib(4000) };
        surroundings.conditions([&pause, &start, &end], own)
    }

    #[test]
    fn an_undisturbed_run_is_not_flagged() {
        let conditions = run(1000, 8000, 90);
        assert_eq!(conditions.disturbed_by, []);
        assert_eq!((conditions.others_ios, conditions.others_bytes), (Some(0), Some(Bytes(0))));
        assert_eq!(conditions.others_ios_before, Some(3));
        assert_eq!(conditions.temperature_celsius_before, Some(31.0));
        assert_eq!(conditions.temperature_celsius_after, Some(45.5));
        assert_eq!(conditions.others_processor_share, Some(0.075));
    }

    #[test]
    fn more_than_one_percent_of_foreign_ios_flags_a_run() {
        assert_eq!(run(1010, 8080, 60).disturbed_by, []);
        assert_eq!(run(1011, 8088, 60).disturbed_by, [Disturbance::Ios]);
        assert_eq!(run(1011, 8088, 60).others_ios, Some(11));
    }

    #[test]
    fn ios_that_the_kernel_split_are_not_foreign() {
        assert_eq!(run(2000, 8000, 60).others_ios, Some(0));
        assert_eq!(run(2001, 8008, 60).others_ios, Some(1));
    }

    #[test]
    fn a_quarter_of_processor_time_elsewhere_flags_a_run() {
        assert_eq!(run(1000, 8000, 159).disturbed_by, []);
        assert_eq!(run(1000, 8000, 160).disturbed_by, [Disturbance::Processors]);
    }

    #[test]
    fn kernel_lists_are_counted() {
        assert_eq!(["0", "0-3", "0-1,3"].map(count), [Some(1), Some(4), Some(3)]);
        assert_eq!(["", "x", "3-1"].map(count), [None; 3]);
    }
}
