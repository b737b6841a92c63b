use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::Request;
use flashscope_trace::writer::{Output, WRITERS, for_file};
use proptest::prelude::*;

use super::{Folder, text, write_at};

fn any_request() -> impl Strategy<Value = Request> {
    let latency = prop::option::of(0..=u64::MAX);
    (any::<u64>(), latency, any::<u64>(), 1u64.., 0u32..3, 0u8..4).prop_map(
        |(at, latency, offset, len, volume, op)| {
            let op = Op::from_code(op).unwrap();
            let offset = offset.min(u64::MAX - len);
            let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset, len) };
            Request {
                at: Nanos(at),
                latency: latency.map(Nanos),
                offset: Bytes(offset),
                len: Bytes(len),
                volume,
                op,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // Parquet keeps every bit of every request.
    #[test]
    fn parquet_keeps_everything(requests in prop::collection::vec(any_request(), 1..5000)) {
        let folder = Folder::new();
        let volumes = ["hm_0", "a name, with “everything”", ""];
        folder.write("t.parquet", &volumes, &requests);
        let mut trace = folder.open(&["t.parquet"], &[]).unwrap();
        prop_assert!(super::all(&mut trace).unwrap() == requests);
        use flashscope_trace::Reader;
        prop_assert_eq!(trace.volumes().names().collect::<Vec<_>>(), volumes);
    }
}

// A trace of several row groups is read completely and in order.
#[test]
fn parquet_of_many_row_groups() {
    let requests: Vec<Request> = (0..300_000).map(|i| write_at(i * 7, i % 1000 * 4096)).collect();
    let folder = Folder::new();
    folder.write("t.parquet", &["v"], &requests);
    assert!(folder.read(&["t.parquet"], &[]) == requests);
}

/// Returns requests of each operation, with times that every format stores exactly. The last
/// request does not consist of whole sectors.
fn story() -> Vec<Request> {
    let request = |i: u64, op, offset, len| Request {
        at: Nanos(1_000_000_000 + i * 1_500_000),
        latency: Some(Nanos(i * 100_000)),
        offset: Bytes(offset),
        len: Bytes(len),
        volume: u32::try_from(i % 2).unwrap(),
        op,
    };
    vec![
        request(0, Op::Write, 0, 4096),
        request(1, Op::Read, 1 << 40, 512),
        request(2, Op::Trim, 1 << 20, 1 << 20),
        request(3, Op::Flush, 0, 0),
        request(4, Op::Read, 1000, 100),
    ]
}

// The lines match the formats of other tools, and information loss is counted.
#[test]
fn lines_match_other_tools() {
    let folder = Folder::new();
    let volumes = ["sd a", "hm_1"];
    let lost = folder.write("t.iolog", &volumes, &story());
    assert_eq!((lost.requests, lost.widened, lost.latencies), (0, 0, 5));
    insta::assert_snapshot!(text(&folder.at("t.iolog")), @r"
    fio version 3 iolog
    0 /sd_a add
    0 /sd_a open
    0 /hm_1 add
    0 /hm_1 open
    0 /sd_a write 0 4096
    1500 /hm_1 read 1099511627776 512
    3000 /sd_a trim 1048576 1048576
    4500 /hm_1 sync 0 0
    6000 /sd_a read 1000 100
    ");
    let lost = folder.write("t.csv", &volumes, &story());
    assert_eq!((lost.requests, lost.widened, lost.latencies), (2, 0, 0));
    insta::assert_snapshot!(text(&folder.at("t.csv")), @r"
    116444736010000000,sd_a,0,Write,0,4096,0
    116444736010015000,hm,1,Read,1099511627776,512,1000
    116444736010060000,sd_a,0,Read,1000,100,4000
    ");
    let lost = folder.write("t.mqsim", &volumes, &story());
    assert_eq!((lost.requests, lost.widened, lost.latencies), (2, 1, 3));
    insta::assert_snapshot!(text(&folder.at("t.mqsim")), @r"
    0 0 0 8 0
    1500000 1 2147483648 1 1
    6000000 0 1 2 1
    ");
}

// Every format with a reader and a writer survives a round trip, also compressed.
#[test]
fn written_traces_survive_a_round_trip() {
    let folder = Folder::new();
    let writes: Vec<Request> = story().into_iter().filter(|r| r.op != Op::Trim).collect();
    for kind in WRITERS {
        for compression in ["", ".gz", ".zst"] {
            let name = format!("t{}{compression}", kind.extensions[0]);
            assert_eq!(for_file(&name).unwrap().name, kind.name);
            folder.write(&name, &["a", "b"], &writes);
            let whole =
                |r: &&Request| kind.name == "fio" || kind.name == "parquet" || r.op != Op::Flush;
            let read = folder.read(&[&name], &[]);
            let places = |requests: &[Request]| -> Vec<_> {
                requests.iter().map(|r| (r.op, r.volume, r.end().0.div_ceil(512))).collect()
            };
            let written: Vec<Request> = writes.iter().filter(whole).copied().collect();
            assert_eq!(places(&read), places(&written), "{name}");
            let gaps = |requests: &[Request]| -> Vec<_> {
                requests.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0).collect()
            };
            assert_eq!(gaps(&read), gaps(&written), "{name}");
        }
    }
}

// Existing files are not overwritten, and incomplete files do not appear.
#[test]
fn files_appear_whole() {
    let folder = Folder::new();
    let path = folder.at("t.parquet");
    let path = path.to_str().unwrap();
    let kind = for_file(path).unwrap();
    let writer = (kind.open)(Output::create(path).unwrap()).unwrap();
    assert!(!folder.at("t.parquet").exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 0, "nothing is left behind");
    std::fs::write(path, "mine").unwrap();
    let error = Output::create(path).err().unwrap().to_string();
    assert!(error.ends_with("exists already: choose another name, or remove it"), "{error}");
    assert_eq!(text(&folder.at("t.parquet")), "mine");
}
