//! Tests `flashscope trace stat`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::Scratch;

/// Returns line `i` of a trace with ten requests a second to two volumes, and three writes per
/// read.
fn line(i: u64) -> String {
    let time = 128_166_372_003_061_629 + i * 1_000_000 + i % 7 * 100_000;
    let op = if i.is_multiple_of(4) { "Read" } else { "Write" };
    let (disk, offset) = (i % 3 / 2, i % 16 * 65_536 + i / 50 * 4096);
    format!("{time},hm,{disk},{op},{offset},{},{}\n", 4096 << (i % 2), 1000 + i)
}

fn trace() -> Scratch {
    let place = Scratch::in_memory();
    fs::write(place.at("t.csv"), (0..100).map(line).collect::<String>()).unwrap();
    place
}

#[test]
fn text_summarises_the_trace() {
    let place = trace();
    let outcome = place.run(&["trace", "stat", "t.csv"]).ok();
    assert_eq!(outcome.stderr, "");
    assert_snapshot!(outcome.stdout, @r#"
    t.csv (msr): 100 requests in 9.91 s, 10.1 a second

            requests    bytes  mean size    min    p50    p90    p99    max
    reads         25  100 KiB      4 KiB  4 KiB  4 KiB  4 KiB  4 KiB  4 KiB
    writes        75  500 KiB   6.67 KiB  4 KiB  8 KiB  8 KiB  8 KiB  8 KiB
    reads are 25.0 % of reads and writes, 16.7 % of their bytes
    2 different sizes, the most frequent: 50.0 % 4 KiB, 50.0 % 8 KiB

    space
      footprint      320 KiB accessed, 256 KiB written, in pages of 4 KiB; highest end 972 KiB
      overwritten    1.95 bytes written for each distinct byte
      sequential     0 % of accesses; runs of 1.00 requests, 6 KiB on average
      unaligned      0 % to 4 KiB; LBA mod 8 is 0: 100 %

    the hottest pages                   1 %     5 %    10 %    20 %    50 %
      accessed pages: % of accesses  2.67 %  12.0 %  22.7 %  35.3 %  67.3 %
      written pages: % of writes     2.56 %  11.8 %  22.1 %  36.5 %  67.2 %

    writes by erase blocks of 128 KiB, pages of 2 KiB
                       writes  mean pages        heads  middles        tails
      each                 75        3.33  63 (90.4 %)  0 (0 %)  12 (9.60 %)
      joined in order      75        3.33  63 (90.4 %)  0 (0 %)  12 (9.60 %)
      in brackets: the share of the pages written

    time
      inter-arrival  mean 100 ms, p50 110 ms, p90 110 ms, p99 110 ms, max 110 ms; variation 0.24
      requests       ▆▆▃▆▆▃▆▃▆▆▆▃▆▆▃▆▆▃▆▆▆▃▆▃▆▆▃▆▆▆▃▆▃▆▆▃▆▆▆▃▆▆▃▆▃█▃▆▃▆▆▃▆▃█▃▆▃▆▃
      bytes read     █·█·█··█·█··█·█·█··█·█··█·█·█··█·█··█·█·█··█·█·█··█·█·█··█··
      bytes written  ▄▆·▆▄▄▆·▆▄▆▄▄▆·▆▄▄▆▄▆·▆▄▄▆·▆▄▆▄▄▂▄▆▄▄▆▄▂▄▆▄▄▂█▂▄▄▆▄▂▄▄▆▄▆·▆▄
                     each bar 168 ms

    in windows of                     1 ms  10 ms  100 ms
      peak-to-mean ratio of requests   100   10.0    1.00
      index of dispersion             0.99   0.90       0

    in windows of          8.19 µs  131 µs  2.1 ms  33.6 ms    537 ms   8.59 s
      average working set      1 B     8 B   128 B    2 KiB  31.3 KiB  194 KiB

    latency   IOs  mean (95 % interval)     min     p50     p99   p99.9     max
      all     100       105 µs ± 829 ns  100 µs  105 µs  110 µs  110 µs  110 µs
      reads    25      105 µs ± 1.22 µs  100 µs  105 µs  110 µs  110 µs  110 µs
      writes   75       105 µs ± 962 ns  100 µs  105 µs  110 µs  110 µs  110 µs

    2 volumes  requests   reads    read  written  footprint  highest  sequential
      hm_0           67  25.4 %  68 KiB  336 KiB    160 KiB  972 KiB         0 %
      hm_1           33  24.2 %  32 KiB  164 KiB    160 KiB  972 KiB         0 %
    "#);
}

#[test]
fn json_has_the_same_facts_for_file_pipe_and_selection() {
    let place = trace();
    let json = |arguments: &[&str]| -> Value {
        let outcome = place.run(&[&["trace", "stat", "--json"], arguments].concat()).ok();
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    let all = json(&["t.csv"]);
    assert_eq!((&all["status"], &all["formats"][0]), (&"complete".into(), &"msr".into()));
    let facts = &all["facts"];
    assert_eq!(facts["requests"]["total"], 100);
    assert_eq!(facts["requests"]["reads"], 25);
    assert_eq!(facts["volume_count"], 2);
    assert_eq!(facts["write_lengths"]["block_bytes"], 131_072);
    let less = json(&["t.csv", "--volumes", "hm_0", "--erase-block", "1MiB", "--until", "5s"]);
    assert_eq!(less["facts"]["requests"]["total"], 34);
    assert_eq!(less["facts"]["write_lengths"]["block_bytes"], 1 << 20);

    let mut piped = place
        .command(&["trace", "stat", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&fs::read(place.at("t.csv")).unwrap()).unwrap();
    let output = piped.wait_with_output().unwrap();
    let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(piped["facts"], all["facts"]);
}

#[test]
fn page_has_the_content_of_the_json() {
    let place = trace();
    place.run(&["trace", "stat", "t.csv", "--html", "t.html"]).ok();
    let page = fs::read_to_string(place.at("t.html")).unwrap();
    let begin = "<script id=\"report\" type=\"application/json\">";
    let inserted = page.split(begin).nth(1).unwrap().split("</script>").next().unwrap();
    let inserted: Value = serde_json::from_str(inserted).unwrap();
    let printed = place.run(&["trace", "stat", "t.csv", "--json"]).ok().stdout;
    assert_eq!(inserted, serde_json::from_str::<Value>(&printed).unwrap());
}

#[test]
fn invalid_traces_and_options_are_refused() {
    let place = trace();
    let text = fs::read_to_string(place.at("t.csv")).unwrap();
    fs::write(place.at("bad.csv"), text.replacen(",4096,", ",x,", 1)).unwrap();
    let message = |arguments: &[&str]| {
        let outcome = place.run(&[&["trace", "stat"], arguments].concat());
        assert_eq!(outcome.stdout, "");
        outcome.message(2, &place)
    };
    assert_snapshot!(message(&["t.csv", "--erase-block", "100KiB"]), @"flashscope: --erase-block: the size of an erase block is a power of two from 4 KiB to 1 GiB, not 100 KiB");
    assert_snapshot!(message(&["bad.csv"]), @"flashscope: bad.csv: line 1: the size is `x`, not a whole number (--on-bad-line skip ignores such lines)");
    let none = place.run(&["trace", "stat", "none.csv"]);
    assert_snapshot!(none.message(1, &place), @"flashscope: cannot open none.csv: No such file or directory (os error 2)");
    let skipped = place.run(&["trace", "stat", "bad.csv", "--on-bad-line", "skip", "--json"]).ok();
    let skipped: Value = serde_json::from_str(&skipped.stdout).unwrap();
    assert_eq!(skipped["bad_lines_skipped"], 1);
    assert_eq!(skipped["facts"]["requests"]["total"], 99);
    let nowhere = place.run(&["trace", "stat", "t.csv", "--html", "no/such/folder.html"]);
    assert_snapshot!(nowhere.message(1, &place), @"flashscope: cannot write no/such/folder.html: No such file or directory (os error 2)");
}

#[test]
fn ctrl_c_summarises_the_requests_so_far() {
    let place = Scratch::in_memory();
    let mut running = place
        .command(&["trace", "stat", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = running.stdin.take().unwrap();
    let lines: Vec<String> = (0..).map(line).take(200_000).collect();
    // These lines exceed the pipe and the buffers: once they are written, the program is reading.
    for line in &lines[..100_000] {
        input.write_all(line.as_bytes()).unwrap();
    }
    let id = running.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    // Writes further lines until the program closes the pipe.
    let _ =
        lines.iter().cycle().skip(100_000).try_for_each(|line| input.write_all(line.as_bytes()));
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("\ninterrupted: the statistics cover only the requests read until then\n"),
        "{text}"
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr
            .contains("interrupted: the summary covers the requests read before the interruption"),
        "{stderr}"
    );
}
