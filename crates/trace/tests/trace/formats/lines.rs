//! Invalid and unusual lines of every text format.

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::format::{find, open_as};
use flashscope_trace::{OnBad, Options, Request};

use crate::formats::contract::source;
use crate::formats::{TraceContent, read_all};

fn read(format: &str, content: &str, options: Options) -> Result<TraceContent, String> {
    let format = find(format).unwrap_or_else(|| panic!("{format} is a format"));
    let reader = open_as(format, source(content.as_bytes()), options);
    reader.and_then(read_all).map_err(|error| error.to_string())
}

/// Returns the requests of a text.
fn told(format: &str, lines: &[&str]) -> Vec<Request> {
    let read = read(format, &lines.join("\n"), Options::default());
    read.unwrap_or_else(|error| panic!("{format}: {error}")).requests
}

/// Returns the operation, offset and length in bytes.
fn places(requests: &[Request]) -> Vec<(Op, u64, u64)> {
    requests.iter().map(|r| (r.op, r.offset.0, r.len.0)).collect()
}

/// Returns the issue time and latency in nanoseconds.
fn times(requests: &[Request]) -> Vec<(u64, Option<u64>)> {
    requests.iter().map(|r| (r.at.0, r.latency.map(|latency| latency.0))).collect()
}

const WPA: &str = "IO Type;Init Time (s);IO Time (µs);Size (B);Min Offset;Disk;Count\n";

/// The format, the text before the line, the line, and the error.
const BAD: &[(&str, &str, &str, &str)] = &[
    ("msr", "", "128166372003061629,hm,1,Read,0,0,413", "it is for 0 bytes"),
    (
        "msr",
        "",
        "128166372003061629,hm,1,Trim,0,512,413",
        "the operation is `Trim`, not one of Read, Write",
    ),
    ("msr", "", "1,hm,1,Read,0,512,413", "the time is not between 1970 and 2554"),
    (
        "msr",
        "",
        "128166372003061629,hm,1,Read,18446744073709551615,512,4",
        "it ends beyond 2^64 bytes",
    ),
    ("spc", "", "0,20941264,0,W,0.5", "it is for 0 bytes"),
    ("spc", "", "0,36028797018963968,512,W,0.5", "the address is beyond 2^64 bytes"),
    ("spc", "", "0,36028797018963967,513,W,0.5", "it ends beyond 2^64 bytes"),
    ("spc", "", "0,20941264,8192,X,0.5", "the operation is `X`, not one of R, W"),
    ("spc", "", "0,20941264,8192,W,-0.5", "the time is `-0.5`, not a time below 584 years"),
    ("spc", "", "a,20941264,8192,W,0.5", "the unit (ASU) is `a`, not a whole number"),
    ("mqsim", "", "1 0 8 0 1", "it is for 0 bytes"),
    ("mqsim", "", "1.5 0 8 8 1", "the time is `1.5`, not a whole number"),
    ("mqsim", "", "1 0 8 36028797018963968 1", "the length is beyond 2^64 bytes"),
    ("mqsim", "", "1 0 8 8 2", "the operation is `2`, not one of 1, 0"),
    ("ssdsim", "", "1 0 8 8", "the operation is missing"),
    ("ssdsim", "", "1 0 8 8 1 7", "the line has extra fields: `7`"),
    ("heimdall", "", "0.1 0 4096 0 1", "it is for 0 bytes"),
    (
        "heimdall",
        "",
        "99999999999999 0 4096 1 1",
        "the time is `99999999999999`, not a time below 584 years",
    ),
    ("disksim", "", "0.1 0 8 0 1", "it is for 0 bytes"),
    ("disksim", "", "0.1 0 8 8 x", "the flags are `x`, not a hexadecimal number"),
    ("disksim", "", "0.1 0 36028797018963967 8 1", "it ends beyond 2^64 bytes"),
    ("alibaba", "", "419,W,0,0,1577808000000626", "it is for 0 bytes"),
    ("alibaba", "", "419,W,0,512,99999999999999999", "not a time below 584 years"),
    ("alibaba", "", "419,T,0,512,1577808000000626", "the operation is `T`, not one of R, W"),
    ("tencent", "", "1538323200,8,0,1,1058", "it is for 0 bytes"),
    ("tencent", "", "1538323200,8,8,1,", "the volume is empty"),
    ("tencent", "", "1538323200,36028797018963968,8,1,1", "the offset is beyond 2^64 bytes"),
    ("systor", "", "1456095145.1,0.0008,R,0,0,0", "it is for 0 bytes"),
    ("systor", "", "1456095145.1,x,R,0,0,512", "the response time is `x`, not a time"),
    ("systor", "", "1456095145.1,0.1,,0,0,512", "the operation is ``, not one of R, W"),
    ("cloudphysics", "", "1,5,2a,0,8", "it is for 0 bytes"),
    ("cloudphysics", "", "1,5,zz,512,8", "the operation code is `zz`: not hexadecimal"),
    ("cloudphysics", "", "1,5,fe,512,8", "0xfe is not a known SCSI operation code"),
    ("cloudphysics", "", "1,5,42,24,0", "it is an UNMAP whose ranges were not recorded"),
    ("wiscsee", "", "1 D read 0 0 0.1 0.1 True", "it is for 0 bytes"),
    ("wiscsee", "", "1 Q read 0 512 0.1 0.1 True", "the action is `Q`, not one of D, C"),
    (
        "wiscsee",
        "",
        "1 D read -512 1024 0.1 0.1 True",
        "it begins before the partition and ends within it",
    ),
    (
        "wiscsee",
        "",
        "1 D read 512 1024 0.1 0.1 Tr",
        "it does not end with True or False: it may be cut off",
    ),
    (
        "fio",
        "",
        "0 /dev/sdb read 0 512",
        "the first line must be `fio version 2 iolog` or `fio version 3 iolog`",
    ),
    (
        "fio",
        "",
        "fio version 4 iolog",
        "`fio version 4 iolog` is not a known version: the versions are 2 and 3",
    ),
    ("fio", "fio version 2 iolog\n", "/dev/sdb read 0 0", "it is for 0 bytes"),
    (
        "fio",
        "fio version 2 iolog\n",
        "/dev/sdb wait 18446744073709551615 0",
        "the waits exceed 584 years",
    ),
    (
        "fio",
        "fio version 2 iolog\n",
        "/dev/sdb copy 0 512",
        "the action is `copy`, which fio does not have",
    ),
    ("fio", "fio version 3 iolog\n", "5 /dev/sdb wait 100 0", "version 3 has times, and no `wait`"),
    (
        "fio",
        "fio version 3 iolog\n",
        "5 /dev/sdb write 18446744073709551615 1",
        "it ends beyond 2^64 bytes",
    ),
    ("fio-log", "", "12, 84530, 1, 4096", "it has no offset: record the log with --log_offset=1"),
    (
        "fio-log",
        "12, 84530, 1, 4096, 0\n",
        "12, 84530, 1, 4096, 0",
        "it has no offset: record the log with --log_offset=1",
    ),
    (
        "fio-log",
        "",
        "12, 84530, 1, 4096, 0x0000",
        "it has no offset: record the log with --log_offset=1",
    ),
    ("fio-log", "", "12, 84530, 1, 0, 0, 0", "the size is 0, as in a log of averages"),
    ("fio-log", "", "12, 84530, 3, 512, 0, 0", "the direction is `3`, not one of 0, 1, 2"),
    ("blkparse", "", "8,0 0 1 0.5 9 D R 8 + 0 [x]", "it is for 0 bytes"),
    ("blkparse", "", "8,0 0 1 0.5 9 D R 8 + 8", "the process after the sectors is missing"),
    ("blkparse", "", "8,0 0 1 0.5 9 D R", "what follows the kind is missing"),
    (
        "blkparse",
        "",
        "8 0 1 0.5 9 D R 8 + 8 [x]",
        "the device is `8`, not two numbers with a comma",
    ),
    (
        "blkparse",
        "",
        "8,0 0 1 0.5 9 D X 8 + 8 [x]",
        "the kind (RWBS) is `X`, not one of R, W, D, F, N",
    ),
    ("blkparse", "", "8,0 0 1 0.5 9 D R 36028797018963968 + 8 [x]", "it begins beyond 2^64 bytes"),
    ("blkparse", "", "what is this", "`what is this` is neither an event nor a summary"),
    ("wpa", "", "IO Type;Init Time (s);Size (B)", "the header has no column `Min Offset`"),
    (
        "wpa",
        "",
        "IO Type;Init Time (h);Size (B);Min Offset",
        "the unit of column `Init Time (h)` is unknown",
    ),
    ("wpa", WPA, "Read;1,5;87,200;0;0x0;1;1", "it is for 0 bytes"),
    (
        "wpa",
        WPA,
        "Trim;1,5;87,200;512;0x0;1;1",
        "the IO type is `Trim`, not one of Read, Write, Flush",
    ),
    ("wpa", WPA, "Read;1,5;87,200;512;0x0;1;3", "it sums up 3 requests: export each request"),
    ("wpa", WPA, "Read;1,5;87,200;512;0x0;1", "it has 6 fields, and the header has more"),
    ("wpa", WPA, "Read;x;87,200;512;0x0;1;1", "the time is `x`, not a number"),
    ("wpa", WPA, "Read;1,5;87,200;512;FFFFFFFFFFFFFFFFF;1;1", "not a hexadecimal number"),
    ("wpa", WPA, "Read;1,5;87,200;512;0xFFFFFFFFFFFFFFFF;1;1", "it ends beyond 2^64 bytes"),
];

// An error states the fault and the number of the line, and the line is skipped on request.
#[test]
fn bad_lines_are_explained() {
    for (format, before, line, wanted) in BAD {
        let content = format!("# a comment\n{before}{line}\n");
        let error = read(format, &content, Options::default()).expect_err(line);
        let place = if before.is_empty() || before.starts_with("12,") { 2 } else { 3 };
        let start = format!("a trace: line {place}: ");
        assert!(error.starts_with(&start) && error.contains(wanted), "{format} {line}: {error}");
        let skip = Options { on_bad: OnBad::Skip, ..Options::default() };
        let told = read(format, &content, skip).unwrap();
        assert!(told.requests.is_empty() && told.skipped.count > 0, "{format}: {line}");
    }
}

// Formats that count in sectors accept a sector size from the user.
#[test]
fn sectors_may_be_larger() {
    let options = Options { sector: Some(Bytes(4096)), ..Options::default() };
    for (format, line, wanted) in [
        ("spc", "0,2,512,W,0.5", (8192, 512)),
        ("mqsim", "1 0 2 3 1", (8192, 12_288)),
        ("ssdsim", "1 0 2 3 1", (8192, 12_288)),
        ("disksim", "1.0 0 2 3 1", (8192, 12_288)),
        ("tencent", "1538323200,2,3,1,1058", (8192, 12_288)),
        ("cloudphysics", "1,5,2a,512,2", (8192, 512)),
        ("blkparse", "8,0 0 1 0.5 9 D R 2 + 3 [x]", (8192, 12_288)),
    ] {
        let request = read(format, line, options.clone()).unwrap().requests[0];
        assert_eq!((request.offset.0, request.len.0), wanted, "{format}");
    }
}

// The letters of blkparse have the meaning that the kernel gives them.
#[test]
fn kinds_of_block_requests_are_told_apart() {
    for (kind, rest, wanted) in [
        ("RA", "8 + 8", Some(Op::Read)),
        ("RSM", "8 + 8", Some(Op::Read)),
        ("WFS", "8 + 8", Some(Op::Write)),
        ("FWFS", "8 + 8", Some(Op::Write)),
        ("WBS", "8 + 8", Some(Op::Write)),
        ("DS", "8 + 8", Some(Op::Trim)),
        ("FN", "", Some(Op::Flush)),
        ("FF", "", Some(Op::Flush)),
        ("FWS", "0 + 0", Some(Op::Flush)),
        ("WBS", "0 + 0", Some(Op::Flush)),
        ("N", "0 (00 ..)", None),
        ("R", "36 (12 01 ..)", None),
        ("W", "", None),
    ] {
        let line = format!("259,0 7 12345678 100.000000001 42 D {kind} {rest} [kworker/0:1]");
        let requests = told("blkparse", &[&line]);
        assert_eq!(requests.first().map(|request| request.op), wanted, "{line}");
        if let Some(request) = requests.first() {
            let place = if request.op == Op::Flush { (0, 0) } else { (4096, 4096) };
            assert_eq!((request.offset.0, request.len.0), place, "{line}");
            assert_eq!(request.at, Nanos(100_000_000_001), "{line}");
        }
    }
}

// Times from fio logs are issue times, and offsets are detected without priorities.
#[test]
fn times_of_fio_are_those_of_issue() {
    let lines = ["2, 1500000, 1, 4096, 8192", "2, 3000000, 0, 4096, 0", "9, 1000, 2, 512, 512"];
    let requests = told("fio-log", &lines);
    let wanted = [(500_000, Some(1_500_000)), (0, Some(3_000_000)), (8_999_000, Some(1_000))];
    assert_eq!(times(&requests), wanted);
    let wanted = [(Op::Write, 8192, 4096), (Op::Read, 0, 4096), (Op::Trim, 512, 512)];
    assert_eq!(places(&requests), wanted);
    let waits = [
        "fio version 2 iolog",
        "a add",
        "a read 0 512",
        "a wait 100 0",
        "a read 0 512",
        "a wait 250",
        "a sync 4096 0",
        "a sync_file_range 0 0",
    ];
    let requests = told("fio", &waits);
    assert_eq!(requests.iter().map(|r| r.at.0).collect::<Vec<_>>(), [0, 100_000, 350_000, 350_000]);
    assert_eq!(places(&requests)[2], (Op::Flush, 0, 0));
}

// Columns are found by name, with their units, in both number notations.
#[test]
fn columns_of_windows_are_found_by_name() {
    let wanted = [(Op::Read, 0x1000, 16_384), (Op::Flush, 0, 0)];
    let dotted = [
        "\u{feff}Disk,Size (KB),Min Offset,Complete Time (ms),Init Time (ms),Process,IO Type",
        "0,\"16.000\",0x1000,\"1,500.250\",\"1,500.000\",\"a, b\",Read",
        "1,0,0xFFFFFFFFFFFFFFFF,1501,1500.5,c,Flush",
    ];
    let requests = told("wpa", &dotted);
    assert_eq!(places(&requests), wanted);
    assert_eq!(times(&requests), [(1_500_000_000, Some(250_000)), (1_500_500_000, Some(500_000))]);
    let commas = [
        WPA.trim_end(),
        "Read;1,5;1.087,200;16.384;0x1000;0;1",
        "Flush;1,5005;0,100;0;0xFFFFFFFFFFFFFFFF;1;1",
    ];
    let requests = told("wpa", &commas);
    assert_eq!(places(&requests), wanted);
    assert_eq!(times(&requests), [(1_500_000_000, Some(1_087_200)), (1_500_500_000, Some(100))]);
}

// Unusual but valid lines are read.
#[test]
fn unusual_lines_are_read() {
    let spc = ["0, 8, 512, r , 0.5, more, of it", "1,8,512,W,.5"];
    assert_eq!(places(&told("spc", &spc)), [(Op::Read, 4096, 512), (Op::Write, 4096, 512)]);
    let disksim = ["  0.5   0  8  8  4", "0.5\t0\t8\t8\tF"];
    assert_eq!(
        places(&told("disksim", &disksim)),
        [(Op::Write, 4096, 4096), (Op::Read, 4096, 4096)]
    );
    assert_eq!(
        times(&told("systor", &["1456095145.5,,W,0,0,512"])),
        [(1_456_095_145_500_000_000, None)]
    );
    let scsi = ["1,5,12,96,0", "1,5,8,512,1", "1,5,8A,512,2", "1,5,91,0,7", "1,5,42,4096,8"];
    let wanted =
        [(Op::Read, 512, 512), (Op::Write, 1024, 512), (Op::Flush, 0, 0), (Op::Trim, 4096, 4096)];
    assert_eq!(places(&told("cloudphysics", &scsi)), wanted);
    let before = ["1 D read -8388608 4096 0.1 5.5e-07 True", "0 C read -8388608 4096 0.3 0.2 True"];
    let told = read("wiscsee", &before.join("\n"), Options::default()).unwrap();
    assert_eq!(places(&told.requests), [(Op::Read, 8_384_512, 4096)]);
    assert_eq!(times(&told.requests), [(100_000_000, Some(200_000_000))]);
    assert_eq!(told.volumes.names().collect::<Vec<_>>(), ["before"]);
}
