//! Texts from users: quantities, names of drives and workloads, TOML, tables.

use flashscope_attach::{Speed, nbd};
use flashscope_block::{Bytes, Nanos, ParseUnitError};
use flashscope_command::names;
use flashscope_drive::{EngineKind, OpenOptions};
use flashscope_fit::read_levels;
use flashscope_measure::WarmUp;
use flashscope_sim::budget::Budget;
use flashscope_sim::setup;
use flashscope_simulate::sweep::Space;
use flashscope_simulate::what_if::{Question, VariantRequest, changes};
use flashscope_simulate::{SimulationRequest, Work};
use flashscope_trace::{Source, Spec};
use flashscope_workload::Stream;
use flashscope_workload::synthetic::{self, Ios, Target};

use crate::edit::changed;
use crate::repository;

/// A parser, with valid samples.
struct Grammar {
    read: fn(&str),
    samples: &'static [&'static str],
}

const GRAMMARS: &[Grammar] = &[
    Grammar {
        read: quantity,
        samples: &["4KiB", "1.5GiB", "0", "10ms", "2h", "17us", "18446744073709551615"],
    },
    Grammar {
        read: name,
        samples: &[
            "2%",
            "p99.9",
            "mean",
            "SR=1024,RW=5120",
            "24h",
            "10x",
            "granularity",
            "io_uring",
            "0.5",
            "steady",
        ],
    },
    Grammar {
        read: address,
        samples: &[
            "0.0.0.0:10809",
            "[::1]:1",
            "unix:/tmp/a",
            "real",
            "2.5x",
            "/dev/ng0n1?engine=psync",
            "file:a?size=1GiB&direct=false",
        ],
    },
    Grammar {
        read: expression,
        samples: &[
            "latency > 10ms and op = write",
            "not (offset % 4 KiB != 0 or errno = 5)",
            "micro_benchmark = locality and experiment = \"SR/RW\"",
            "10 us < latency and late < latency and position < 1_000",
        ],
    },
    Grammar {
        read: drive,
        samples: &[
            "demo?over_provisioning=0.28&flash.packages=4",
            "demo?ftl=fast&log.blocks=4&seed=7",
            "demo?gang.packages=4&raid.drives=2",
        ],
    },
    Grammar { read: toml, samples: &[] },
    Grammar { read: space, samples: &[] },
    Grammar {
        read: change,
        samples: &[
            "over_provisioning=0.3,size=4KiB:0.5+32KiB:0.5",
            "ftl=last, log.blocks = 8",
            "seed=3",
        ],
    },
    Grammar {
        read: workload,
        samples: &[
            "uniform?size=4KiB:0.5+32KiB:0.5&reads=0.3&trims=0.1",
            "zipf?theta=0.9&length=1MiB&offset=64KiB",
            "hotcold?hot_space=0.1&hot_writes=0.9&queue_depth=8&rate=1000",
            "sequential?size=128KiB&seed=3",
            "uflip:granularity",
            "postmark",
            "btree?log=1MiB",
        ],
    },
    Grammar {
        read: trace_fields,
        samples: &[
            "format=msr\nvolumes=0\n",
            "ops=read\nfrom=1s\nuntil=2s",
            "sample=0.5\nseed=3",
            "remap=fold\nspeed=2",
            "on_bad_line=skip\nsector=512",
        ],
    },
    Grammar {
        read: |text| drop(read_levels(text)),
        samples: &["fill,write_amplification,mb_per_s\n1GiB,1.0,500\n2GiB,1.5,400\n512MiB,,300\n"],
    },
];

/// Runs the parser that the first byte selects.
pub fn run(input: &[u8]) {
    let Some((which, text)) = input.split_first() else { return };
    if let Ok(text) = std::str::from_utf8(text) {
        (GRAMMARS[usize::from(*which) % GRAMMARS.len()].read)(text);
    }
}

pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let which = random.usize(..GRAMMARS.len());
    let mut samples: Vec<Vec<u8>> =
        GRAMMARS[which].samples.iter().map(|text| text.as_bytes().to_vec()).collect();
    if samples.is_empty() {
        samples = crate::samples("profiles");
        samples.extend(crate::samples("docs/examples"));
    }
    let mut bytes = vec![u8::try_from(which).expect("a few grammars")];
    bytes.extend(changed(&samples, random));
    bytes
}

/// Checks that a displayed quantity parses to the same value, up to rounding.
fn quantity(text: &str) {
    if let Ok(bytes) = text.parse::<Bytes>() {
        near(bytes.0, || bytes.to_string().parse::<Bytes>().map(|bytes| bytes.0));
    }
    if let Ok(time) = text.parse::<Nanos>() {
        near(time.0, || time.to_string().parse::<Nanos>().map(|time| time.0));
    }
}

/// Compares two values. The largest values are exempt, because rounding can exceed the range.
fn near(value: u64, again: impl Fn() -> Result<u64, ParseUnitError>) {
    if value < u64::MAX / 2 {
        let again = again().expect("a displayed quantity can be parsed");
        assert!(again.abs_diff(value) <= value / 100, "{value} is displayed as {again}");
    }
}

/// Checks that an expression prints to a text that parses to the same expression, and that an error
/// has its position in the text.
fn expression(text: &str) {
    match flashscope_query::parse(text) {
        Ok(expression) => {
            let printed = expression.to_string();
            let length = printed.chars().count();
            if length <= flashscope_query::MAX_CHARACTERS {
                assert_eq!(flashscope_query::parse(&printed), Ok(expression), "{printed}");
            }
        }
        Err(error) => assert!(error.place.end <= text.chars().count(), "{error}"),
    }
}

fn name(text: &str) {
    let _ = (names::io_size(text), names::page(text), names::free_space(text), names::seed(text));
    let _ = (names::pause(text), names::duration(text), names::test(text), names::statistic(text));
    let _ =
        (names::io_count(text), names::io_ignore(text), names::micro_benchmarks(&[text.into()]));
    let _ = (text.parse::<WarmUp>(), text.parse::<EngineKind>());
    if let Ok(share) = names::share(text) {
        assert!(share > 0.0 && share < 1.0, "{share}");
    }
}

fn address(text: &str) {
    let _ = (text.parse::<Speed>(), OpenOptions::parse(text));
    if let Ok(address) = text.parse::<nbd::Address>() {
        let _ = format!("{address:?}");
    }
}

/// Parses a spec of a built-in profile; profiles in files are exempt.
fn drive(text: &str) {
    if text.split('?').next().is_some_and(|name| setup::KINDS.iter().any(|kind| kind.name == name))
        && let Ok(profile) = setup::parse(text)
    {
        let _ = profile.layout();
    }
}

fn toml(text: &str) {
    if let Ok(profile) = setup::from_toml(text) {
        let _ = profile.layout();
    }
}

fn space(text: &str) {
    let Ok(space) = Space::parse(text) else { return };
    for trial in space.trials() {
        assert_eq!(trial.levels.len(), space.names().len(), "{trial:?}");
    }
}

fn change(text: &str) {
    let base = SimulationRequest { drive: "sim:demo".into(), work: Work::default() };
    if let Ok(changes) = changes(text) {
        let _ = Question::new(
            base,
            vec![VariantRequest { name: None, changes }],
            1,
            &Budget::default(),
        );
    }
}

/// Checks that the first IOs of a workload lie on the drive.
fn workload(text: &str) {
    // Traces need files.
    if text.starts_with("trace") {
        return;
    }
    let (capacity, logical_block) = (Bytes::mib(8), Bytes(512));
    let target = Target { capacity, logical_block, filled: true, seed: 1 };
    let Ok(workload) = synthetic::open(text, &target) else { return };
    let mut stream: Box<dyn Stream> = match workload.ios {
        Ios::Endless(stream) => stream,
        Ios::Application(stream) => stream,
        Ios::Runs(_) | Ios::Trace(_) => return,
    };
    let mut now = Nanos(0);
    for _ in 0..50 {
        let Some(io) = stream.next(now) else { break };
        let whole = |bytes: Bytes| bytes.is_multiple_of(logical_block);
        assert!(whole(io.offset) && whole(io.len), "{io:?}");
        assert!(io.offset.0.checked_add(io.len.0).is_some_and(|end| end <= capacity.0), "{io:?}");
        now = io.at.max(now);
    }
}

/// Parses trace fields, one `name=value` per line, and reads a sample trace with them.
fn trace_fields(text: &str) {
    let mut spec = Spec::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        // `repeat` needs a trace in a file.
        if name == "repeat" || spec.set(name, value).is_err() {
            return;
        }
    }
    let sample = std::fs::read(repository("testdata/traces/msr.csv")).expect("the sample is there");
    let Ok(source) = Source::of("a trace", std::io::Cursor::new(sample), None) else { return };
    let Ok(trace) = spec.open_sources(vec![source]) else { return };
    crate::exhaust::exhaust(Box::new(trace));
}
