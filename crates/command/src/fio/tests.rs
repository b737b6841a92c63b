use flashscope_block::Nanos;
use flashscope_workload::job::JobAddresses;

use super::*;

fn parse(text: &str) -> Result<JobFile> {
    JobFile::parse(text)
}

/// Returns the jobs of the only group on a drive of 1 GiB.
fn jobs(text: &str) -> Vec<Job> {
    let runs = parse(text).unwrap().runs(Bytes::GIB, 1).unwrap();
    let [Reference::Jobs { jobs, .. }] = &runs[..] else { panic!("{} groups", runs.len()) };
    jobs.clone()
}

fn job(options: &str) -> Job {
    jobs(&format!("[a]\n{options}\n")).remove(0)
}

fn refused(options: &str) -> String {
    let parsed = parse(&format!("[a]\n{options}\n")).and_then(|file| file.runs(Bytes::GIB, 1));
    format!("{:#}", parsed.err().unwrap_or_else(|| panic!("`{options}` is accepted")))
}

#[test]
fn options_describe_a_job() {
    let mixed = job(
        "readwrite=randrw\nrwmixread=80\nbs=4k\nioengine=libaio\niodepth=16\nnumjobs=4\nsize=25%\noffset=64m\n\
         offset_increment=16m\nruntime=30\ntime_based\nramp_time=2\nstartdelay=1\nrandseed=9",
    );
    assert_eq!((mixed.reads_percent, mixed.queue_depth, mixed.processes), (80, 16, 4));
    assert_eq!((mixed.target_offset, mixed.target_size), (Bytes::mib(64), Bytes::mib(256)));
    assert_eq!((mixed.process_shift, mixed.places), (Bytes::mib(16), JobAddresses::Covering));
    assert_eq!((mixed.end, mixed.time), (None, Some(Nanos::secs(32))));
    assert_eq!((mixed.delay, mixed.seed), (Nanos::secs(1), 9));
    let plain = job("");
    assert_eq!((plain.reads_percent, plain.single_size()), (100, Some(Bytes::kib(4))));
    assert_eq!((plain.places, plain.target_size), (JobAddresses::Sequential, Bytes::GIB));
    assert_eq!(plain.end, Some(Bytes::GIB));
    let writes = job("rw=write\nsize=1m\nloops=3\nfdatasync=8\nthinktime=5ms\nthinktime_blocks=2");
    assert_eq!((writes.end, writes.flush_every), (Some(Bytes::mib(3)), Some(8)));
    assert_eq!(writes.think.map(|think| (think.pause, think.ios)), Some((Nanos::millis(5), 2)));
    assert_eq!(job("rw=randread\nnorandommap").places, JobAddresses::Independent);
    assert_eq!(
        job("rw=randread\nrandom_distribution=zipf:1.2").places,
        JobAddresses::Zipf { exponent: 1.2 }
    );
    assert_eq!(job("rw=randread\nnumber_ios=100").most_ios, Some(100));
    assert_eq!(job("rw=randread\nsize=1m\nio_size=2m").end, Some(Bytes::mib(2)));
    assert_eq!(job("rw=randtrim\nbs=4k,8k,64k").largest_io(), Bytes::kib(64));
}

#[test]
fn later_options_replace_earlier_ones() {
    assert_eq!(job("rw=randrw\nrwmixread=80\nrwmixwrite=40").reads_percent, 60);
    assert_eq!(job("rw=randrw\nrwmixwrite=40\nrwmixread=80").reads_percent, 80);
    assert_eq!(job("bs=4k\nbs=8k").single_size(), Some(Bytes::kib(8)));
    assert_eq!(job("bssplit=4k/50:8k/50\nbs=16k").single_size(), Some(Bytes::kib(16)));
    let file = "[global]\nbs=8k\nrw=randread\n[a]\nrw=read\n";
    assert_eq!(jobs(file)[0].places, JobAddresses::Sequential);
}

#[test]
fn engines_that_wait_have_one_io_in_flight() {
    let file = parse("[a]\niodepth=32\n").unwrap();
    assert_eq!(file.in_flight(), 1);
    assert!(file.notes[0].contains("`iodepth=32` of job `a` has no effect"), "{:?}", file.notes);
    assert_eq!(job("iodepth=32\nioengine=io_uring").queue_depth, 32);
}

#[test]
fn jobs_run_together_up_to_a_stonewall() {
    let text = "[a]\nrw=randread\n[b]\nrw=write\nnumjobs=2\n[c]\nstonewall\nrw=randwrite\n[d]\nwait_for_previous\n";
    let file = parse(text).unwrap();
    let runs = file.runs(Bytes::GIB, 1).unwrap();
    let names = |run: &Reference| match run {
        Reference::Jobs { jobs, .. } => jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>(),
        _ => vec![],
    };
    assert_eq!(runs.iter().map(names).collect::<Vec<_>>(), [vec!["a", "b"], vec!["c"], vec!["d"]]);
    assert_eq!((file.in_flight(), file.writer().as_deref()), (3, Some("b")));
    let seeds = |seed| match &file.runs(Bytes::GIB, seed).unwrap()[0] {
        Reference::Jobs { jobs, .. } => jobs.iter().map(|job| job.seed).collect::<Vec<_>>(),
        _ => vec![],
    };
    assert!(seeds(1)[0] != seeds(1)[1] && seeds(1) != seeds(2) && seeds(1) == seeds(1));
}

#[test]
fn the_drive_is_the_one_that_the_jobs_name() {
    let drive = |options: &str| {
        let drive = parse(&format!("[a]\n{options}\n")).unwrap().drive();
        drive.map_err(|error| error.to_string())
    };
    assert_eq!(
        drive("filename=x.img\nsize=1m\noffset=1m\ndirect=1\nioengine=libaio").unwrap(),
        "file:x.img?size=2097152&engine=libaio"
    );
    assert_eq!(
        drive("directory=/data/\nfilename=x.img\nsize=1m").unwrap(),
        "file:/data/x.img?size=1048576&engine=psync&direct=false"
    );
    assert_eq!(
        drive("filename=/dev/nvme9n1\nioengine=io_uring\nhipri\ndirect=1").unwrap(),
        "/dev/nvme9n1?engine=io_uring_polled"
    );
    assert_eq!(drive("ioengine=null\nsize=1m").unwrap(), "null:");
    assert!(drive("size=1m").unwrap_err().contains("no job has a `filename`"));
    assert!(drive("filename=absent.img").unwrap_err().contains("each job needs a `size`"));
    let two = parse("[a]\nfilename=a\nsize=1m\n[b]\nfilename=b\nsize=1m\n").unwrap();
    assert!(two.drive().unwrap_err().to_string().contains("`a` and `b` differ in `filename`"));
}

#[test]
fn options_without_effect_are_accepted_and_said() {
    let file = parse(
        "[global]\ngroup_reporting\ninvalidate=1\n[a]\nthread\nrw=read\n[b]\nlat_percentiles=1\n",
    );
    let notes = file.unwrap().notes;
    assert_eq!(notes.len(), 3);
    assert!(
        notes[0].starts_with("`group_reporting`, `lat_percentiles` have no effect"),
        "{notes:?}"
    );
    assert!(notes[1].starts_with("`thread` has no effect"), "{notes:?}");
}

#[test]
fn unknown_options_are_refused_with_section_and_line_all_at_once() {
    let text = "[global]\nbs=4k\nzonemode=zbd\n\n[a]\nrw=read\niodeph=4\n";
    let error = parse(text).err().unwrap().to_string();
    for part in [
        "line 3: [global] has the option `zonemode`, which flashscope does not support",
        "line 7: [a] has the option `iodeph`, which flashscope does not support (did you mean `iodepth`?)",
        "Options that flashscope supports: rw, rwmixread",
        "Options without effect: group_reporting",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn wrong_values_are_refused_with_their_line() {
    for (options, message) in [
        ("rw=write:8k", "line 2: `rw=write:8k`, in job `a`: it must be read, write"),
        ("bs=4q", "line 2: `bs=4q`, in job `a`: `4q` is not a size"),
        ("bs", "`bs`, in job `a`: it needs a value"),
        ("bssplit=4k/50", "add up to 50"),
        ("iodepth=0", "a whole number, at least 1"),
        ("numjobs=70000", "`numjobs=70000`, in job `a`: it must be at most 65535"),
        ("runtime=soon", "it must be a time"),
        ("time_based", "it needs a `runtime`"),
        (
            "time_based\nruntime=1\nloops=2",
            "`loops=2`, in job `a`: fio ignores it with `time_based`",
        ),
        ("direct=yes", "it must be 0 or 1"),
        ("ioengine=mmap", "it must be one of psync"),
        (
            "random_distribution=zoned:50/5:30/15",
            "it must be random, zipf:EXPONENT or pareto:SHARE",
        ),
        ("filename=a:b", "name one drive"),
        ("thinktime=5\niodepth=4\nioengine=libaio", "set `iodepth=1`"),
        ("size=1k", "an IO of 4 KiB does not fit in its `size`"),
        ("offset=2g", "begins at 2 GiB, and the drive ends at 1 GiB"),
    ] {
        let error = refused(options);
        assert!(error.contains(message), "{options}: {error}");
    }
    let ramps = parse("[a]\nramp_time=1\n[b]\n").unwrap().runs(Bytes::GIB, 1).unwrap_err();
    assert!(ramps.to_string().contains("different `ramp_time`"));
    assert!(parse("[global]\nbs=4k\n").err().unwrap().to_string().contains("it has no job"));
}
