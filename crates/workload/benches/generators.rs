//! The cost of generating an IO.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use flashscope_block::{Bytes, Nanos};
use flashscope_workload::Stream;
use flashscope_workload::synthetic::{Ios, Target, open};

fn main() {
    divan::main();
}

const IOS: usize = 100_000;

#[divan::bench(args = [
    "uniform",
    "uniform?reads=0.3",
    "uniform?size=geometric:8KiB",
    "uniform?trims=0.2",
    "uniform?rate=1e5&arrivals=poisson",
    "sequential",
    "hotcold",
    "zipf",
    "zipf?shuffled=false",
    "zipf?exponent=1.5",
    "tpcc",
    "exchange",
    "iozone",
    "postmark",
    "postmark?trims=true",
    "btree",
    "btree?exponent=0.9&log=1GiB&commit=10",
    "lsm",
    "lsm?lookups=0.5&trims=true",
])]
fn generate(bencher: Bencher, spec: &str) {
    // With 28 GiB, the number of pages is not a power of two.
    let target =
        Target { capacity: Bytes::gib(28), logical_block: Bytes(512), filled: true, seed: 1 };
    let workload = open(spec, &target).expect("the specs above are right");
    match workload.ios {
        Ios::Endless(stream) => run(bencher, *stream),
        Ios::Application(stream) => run(bencher, *stream),
        Ios::Runs(_) | Ios::Trace(_) => {
            unreachable!("every workload of this benchmark is one endless stream")
        }
    }
}

fn run(bencher: Bencher, mut stream: impl Stream) {
    bencher.counter(ItemsCount::new(IOS)).bench_local(|| {
        for i in 0..IOS as u64 {
            black_box(stream.next(Nanos(i)));
        }
    });
}
