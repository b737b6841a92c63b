//! Every field of every workload has an effect.

use flashscope_block::Bytes;

use super::{LARGE, TARGET, ios, ios_on, small_kinds};
use crate::Field;
use crate::synthetic::{KINDS, Target, open};

// Every field changes the IOs, in every workload that is defined by distributions.
#[test]
fn every_field_matters() {
    for kind in small_kinds() {
        let with = |field: &str| {
            let spec =
                format!("{}?reads=0.5&size=uniform:8KiB..64KiB&rate=1000&{field}", kind.name);
            let workload = open(&spec, &TARGET).unwrap_or_else(|error| panic!("{spec}: {error}"));
            (workload.queue_depth, ios(&spec, 200))
        };
        let plain = with("");
        for field in kind.all_fields() {
            let value = match field.name {
                "size" => "12KiB",
                "alignment" => "8KiB",
                "op" | "trims" => continue, // not together with the others: see below
                "reads" => "0.1",
                "offset" => "64KiB",
                "length" => "128KiB",
                "data" => "zeros",
                "rate" => "500",
                "arrivals" => "poisson",
                "queue_depth" => "3",
                "seed" => "5",
                "hot_space" => "0.5",
                "hot_writes" => "0.1",
                "streams" => "true",
                "exponent" => "1.5",
                "shuffled" => "false",
                other => panic!("say what to try for {other}"),
            };
            let changed = with(&format!("{}={value}", field.name));
            assert_ne!(changed, plain, "{} of {}", field.name, kind.name);
        }
        for field in ["op=read", "trims=0.1", "trims=0.1&size=geometric:16KiB"] {
            assert_ne!(ios(&format!("{}?{field}", kind.name), 50), ios(kind.name, 50), "{field}");
        }
    }
}

// Every field of every application, and of tpcc, changes the IOs.
#[test]
fn every_field_of_an_application_matters() {
    let shared = "offset=64KiB rate=500 arrivals=poisson queue_depth=3 seed=5";
    for (name, base, own) in [
        (
            "tpcc",
            "",
            "length=80MiB warehouses=1 size=16KiB reads=0.1 alignment=16KiB op=read trims=0.1 data=zeros",
        ),
        (
            "iozone",
            "direct=true&record=8KiB",
            "file=128KiB length=1MiB record=16KiB request=4KiB direct=false",
        ),
        (
            "postmark",
            "",
            "length=80MiB files=7 smallest=8000 largest=5000 reads=false trims=true request=4KiB",
        ),
        (
            "btree",
            "log=1MiB",
            "length=80MiB page=16KiB fanout=50 cache=0.2 lookups=0.9 inserts=1 exponent=0.9 log=64KiB commit=7",
        ),
        (
            "lsm",
            "lookups=0.1",
            "length=80MiB memtable=8MiB table=1MiB ratio=4 lookups=0 lookup=8KiB log=false trims=true \
             hints=rocksdb request=128KiB",
        ),
        (
            "kv-cache",
            "",
            "length=80MiB block=1MiB prompt=3 answer=5 resumed=0.2 trims=true request=128KiB",
        ),
        (
            "vector-index",
            "",
            "length=80MiB node=8KiB steps=3 width=2 cached=0.5 inserts=0.3 links=5 request=2KiB",
        ),
        (
            "checkpoint",
            "state=2MiB",
            "length=80MiB state=1MiB writers=3 keep=4 samples=2 sample=64KiB restarts=0.5 trims=true request=128KiB",
        ),
        (
            "log-structured",
            "segment=256KiB&lookups=0.1",
            "length=80MiB segment=1MiB spacing=512KiB record=8KiB live=0.5 batch=16KiB lookups=0.5 hot=0.5 updates=0.9 trims=false \
             request=32KiB",
        ),
        (
            "object-cache",
            "region=256KiB&small=0.1&length=20MiB",
            "length=80MiB bucket=8KiB region=512KiB small_space=0.3 small=0.5 object=64KiB lookups=0.2 trims=true \
             streams=true request=128KiB",
        ),
    ] {
        // The drive has room for a second warehouse.
        let target = Target { capacity: Bytes::mib(150), ..LARGE };
        let with = |field: &str| {
            let spec = format!("{name}?{base}&rate=1000&{field}");
            let workload = open(&spec, &target).unwrap_or_else(|error| panic!("{spec}: {error}"));
            (workload.queue_depth, ios_on(&target, &spec, 20_000))
        };
        let plain = with("");
        let fields: Vec<&str> = own.split_whitespace().chain(shared.split_whitespace()).collect();
        for field in &fields {
            assert_ne!(with(field), plain, "{field} of {name}");
        }
        let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
        let tried = |field: &Field| fields.iter().any(|f| f.split('=').next() == Some(field.name));
        assert!(kind.all_fields().all(tried), "a field of {name} is not tried");
    }
}
