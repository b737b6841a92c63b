//! What it costs to generate an IO.

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
])]
fn generate(bencher: Bencher, spec: &str) {
    // 28 GiB, so that the pages are no power of two.
    let target =
        Target { capacity: Bytes::gib(28), logical_block: Bytes(512), filled: true, seed: 1 };
    let workload = open(spec, &target).expect("the specs above are right");
    let Ios::Endless(mut stream) = workload.ios else { unreachable!("none of them ends") };
    bencher.counter(ItemsCount::new(IOS)).bench_local(|| {
        for i in 0..IOS as u64 {
            black_box(stream.next(Nanos(i)));
        }
    });
}
