//! How fast does a registry of 10,000 results answer 50 readers at once, while others submit?

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads clocks, and prints"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use flashscope_benches::{scripted, verdict};
use flashscope_block::{Bytes, DeviceKind};
use flashscope_registry::{
    Configuration, MeasurementSubmission, Published, Registry, Staged, Submission, prepare,
};
use flashscope_result::ResultFolder;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder};

/// Published results.
const RESULTS: usize = 10_000;
/// Those who look at them, each on a connection of its own, and never pausing.
const READERS: usize = 50;
/// How long they look.
const TIME: Duration = Duration::from_secs(15);
/// From the end of a submission to the next one.
const PAUSE: Duration = Duration::from_millis(100);
/// Any page is to be there within that at the 99th percentile, ms.
const LIMIT: f64 = 200.0;
/// What a result has.
const RUNS: u32 = 2;
const IOS: u64 = 500;
/// Those who fill the registry; a token may not send all of it.
const SENDERS: usize = 16;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("measures only as `cargo bench`");
        return;
    }
    rustls::crypto::ring::default_provider().install_default().expect("the first one");
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let sample = Sample::new(&place.path().join("sample"));
    let (base, tokens) = start(&place.path().join("registry"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let site = Arc::new(Site { base, client: Client::new(), sample, tokens });
        let begin = Instant::now();
        let ids = Arc::new(fill(&site).await);
        let took = begin.elapsed().as_secs_f64();
        println!("a registry of {} results, submitted in {took:.0} s", ids.len());
        load(&site, &ids).await;
    });
}

/// Answers at a free port of the loopback address as long as the process lives; where, and tokens.
fn start(folder: &Path) -> (String, Vec<String>) {
    let configuration =
        Configuration { folder: folder.into(), database: None, store: None, store_options: vec![] };
    let tokens = flashscope_registry::block_on(async {
        let registry = Registry::open(&configuration).await?;
        let mut tokens = Vec::new();
        for sender in 0..=SENDERS {
            tokens.push(registry.add_token(&format!("sender {sender}")).await?);
        }
        Ok(tokens)
    });
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let make = async |access| Registry::open(&configuration).await?.app(access);
        let ready = |address| tell.send(address).expect("it is waited for");
        let outcome = flashscope_serve::serve(make, ([127, 0, 0, 1], 0).into(), ready);
        panic!("the registry ended: {outcome:?}");
    });
    let address = told.recv().expect("the registry answers");
    (format!("http://{address}"), tokens.expect("a registry"))
}

/// The registry, and what is needed to speak to it.
struct Site {
    base: String,
    client: Client,
    sample: Sample,
    /// The last is that of who submits while others read.
    tokens: Vec<String>,
}

/// What all results have in common: their records.
struct Sample {
    submission: MeasurementSubmission,
    files: Vec<Vec<u8>>,
}

impl Sample {
    fn new(path: &Path) -> Sample {
        let runs = (1..=RUNS).map(|id| scripted::run(id, IOS)).collect();
        let mut manifest = scripted::manifest(runs);
        manifest.device.kind = DeviceKind::Block;
        let folder = ResultFolder::create(path, &manifest).expect("a new folder");
        let mut recorder = folder.recorder();
        let mut random = Rng::with_seed(7);
        for id in 1..=RUNS {
            scripted::record(&mut recorder, id, IOS, &mut random);
        }
        let Submission::Measurement(submission) =
            prepare(path, false).expect("a result").submission
        else {
            panic!("a manifest makes a measurement");
        };
        let read = |part: &flashscope_registry::Part| {
            std::fs::read(folder.records_path(part.run, part.part))
        };
        let files = submission.parts.iter().map(|part| read(part).expect("a file of records"));
        Sample { files: files.collect(), submission: *submission }
    }

    /// The `number`th result: of one of 8 makers, 50 of one kind of drive, no two of the same firmware.
    fn numbered(&self, number: usize) -> MeasurementSubmission {
        let mut submission = self.submission.clone();
        submission.name = format!("result {number:05}");
        let manifest = &mut submission.manifest;
        let (day, hour) = (number % 28 + 1, number % 24);
        manifest.started = format!("2026-{:02}-{day:02}T{hour:02}:00:00Z", number % 12 + 1);
        let device = &mut manifest.device;
        device.model = Some(format!("{} {}", MAKERS[number % 8], model(number)));
        device.firmware = Some(format!("FW{number}"));
        device.capacity = Bytes(Bytes::GIB.0 * 60 * (1 + number as u64 % 64));
        submission
    }
}

const MAKERS: [&str; 8] =
    ["Memoright", "Mtron", "Samsung", "Transcend", "Kingston", "Intel", "Micron", "Kioxia"];

fn model(number: usize) -> String {
    format!("X{}", number / 8 % (RESULTS / 50))
}

/// Fills the registry as those would who submit; the ids of what is in it.
async fn fill(site: &Arc<Site>) -> Vec<String> {
    let next = Arc::new(AtomicUsize::new(0));
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (site, next) = (site.clone(), next.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= RESULTS {
                        return ids;
                    }
                    ids.push(site.submit(&site.tokens[sender], number).await);
                }
            })
        })
        .collect();
    let mut ids = Vec::new();
    for sender in senders {
        ids.extend(sender.await.expect("all is accepted"));
    }
    ids
}

impl Site {
    /// Submits the `number`th result; its id.
    async fn submit(&self, token: &str, number: usize) -> String {
        let submission = self.sample.numbered(number);
        let base = format!("{}/api/submissions", self.base);
        let begun = self.client.post(&base).json(&submission);
        let staged: Staged = sent(begun, token).await.json().await.expect("what was staged");
        for (part, file) in submission.parts.iter().zip(&self.sample.files) {
            let url = format!("{base}/{}/records/{}/{}", staged.id, part.run, part.part);
            let put = self.client.put(url).header(CONTENT_TYPE, "application/octet-stream");
            sent(put.body(file.clone()), token).await;
        }
        let finish = self.client.post(format!("{base}/{}/finish", staged.id));
        let finish = finish.header(CONTENT_TYPE, "application/json").body("{}");
        sent(finish, token).await.json::<Published>().await.expect("what was published").id
    }

    /// Looks at a page as a browser does that has not seen it yet; what that takes, in ms.
    async fn look(&self, page: &str) -> f64 {
        let begin = Instant::now();
        let request = self.client.get(format!("{}{page}", self.base));
        let request = request.header(ACCEPT_ENCODING, "gzip");
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let body = answer.bytes().await.expect("the whole answer");
        let took = begin.elapsed().as_secs_f64() * 1e3;
        assert!(status.is_success(), "{page}: {status}: {}", String::from_utf8_lossy(&body));
        took
    }
}

async fn sent(request: RequestBuilder, token: &str) -> reqwest::Response {
    let answer = request.bearer_auth(token).send().await.expect("an answer");
    if answer.status().is_success() {
        return answer;
    }
    panic!("{}: {}", answer.status(), answer.text().await.unwrap_or_default());
}

/// A kind of page, and one of its kind.
type Page = (&'static str, fn(&mut Rng, &[String]) -> String);

/// Any result is looked at as often as any other: most of them for the first time.
const PAGES: [Page; 12] = [
    ("application", |_, _| "/".into()),
    ("shelf", |_, _| "/api/shelf".into()),
    ("shelf, sorted, further down", |random, _| {
        let sort = ["name", "-started", "-capacity", "model", "random_write"];
        let sort = sort[random.usize(..sort.len())];
        format!("/api/shelf?sort={sort}&offset={}", random.usize(..RESULTS - 100))
    }),
    ("shelf, searched", |random, _| {
        let maker = MAKERS[random.usize(..8)];
        format!("/api/shelf?search={maker}%20fw{}", random.usize(..100))
    }),
    ("shelf, searched for one", |random, _| {
        format!("/api/shelf?search=result%20{:05}", random.usize(..RESULTS))
    }),
    ("shelf, filtered", |random, _| {
        let model = model(random.usize(..RESULTS));
        let least = Bytes::GIB.0 * 60 * random.u64(1..64);
        format!("/api/shelf?model={model}&firmware=fw&capacity_min={least}&sort=-capacity")
    }),
    ("result", |random, ids| format!("/api/results/{}", any(random, ids))),
    ("outline", |random, ids| format!("{}/outline", any_run(random, ids))),
    ("histogram", |random, ids| format!("{}/histogram", any_run(random, ids))),
    ("single IOs", |random, ids| {
        format!("{}/ios?from={}", any_run(random, ids), random.u64(..IOS))
    }),
    ("colours", |random, ids| {
        let id = any(random, ids);
        format!("/api/results/{id}/colours?micro_benchmark=locality&experiment=RR")
    }),
    ("comparison of three", |random, ids| {
        let ids: Vec<&str> = (0..3).map(|_| any(random, ids)).collect();
        format!("/api/comparison?ids={}", ids.join(","))
    }),
];

fn any<'a>(random: &mut Rng, ids: &'a [String]) -> &'a str {
    &ids[random.usize(..ids.len())]
}

fn any_run(random: &mut Rng, ids: &[String]) -> String {
    format!("/api/results/{}/runs/{}", any(random, ids), random.u32(1..=RUNS))
}

/// Lets readers read and one submit, and prints what each kind of page took.
async fn load(site: &Arc<Site>, ids: &Arc<Vec<String>>) {
    let end = Instant::now() + TIME;
    let readers: Vec<_> = (0..READERS)
        .map(|reader| {
            let (site, ids) = (site.clone(), ids.clone());
            let mut random = Rng::with_seed(reader as u64);
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let kind = random.usize(..PAGES.len());
                    let page = PAGES[kind].1(&mut random, &ids);
                    times.push((kind, site.look(&page).await));
                }
                times
            })
        })
        .collect();
    let token = site.tokens.last().expect("tokens");
    let mut submissions = Vec::new();
    while Instant::now() < end {
        let begin = Instant::now();
        site.submit(token, RESULTS + submissions.len()).await;
        submissions.push(begin.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PAUSE).await;
    }
    let mut times = vec![Vec::new(); PAGES.len()];
    for reader in readers {
        for (kind, time) in reader.await.expect("all is answered") {
            times[kind].push(time);
        }
    }
    print(times, submissions);
}

fn print(times: Vec<Vec<f64>>, submissions: Vec<f64>) {
    let seconds = TIME.as_secs();
    println!("{READERS} readers, {seconds} s, ms; limit {LIMIT} for 99 of 100 of any page");
    println!("  {:<30} {:>8} {:>8} {:>8} {:>8}", "page", "requests", "p50", "p99", "max");
    for ((name, _), times) in PAGES.iter().zip(times) {
        let p99 = row(name, times);
        println!("   {}", verdict(p99 <= LIMIT));
    }
    row("(submission)", submissions);
    println!();
}

/// Prints a row, but for its end; the 99th percentile.
fn row(name: &str, mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let [middle, p99, most] = [50, 99, 100].map(|percent| {
        let rank = (times.len() * percent).div_ceil(100);
        times[rank.saturating_sub(1)]
    });
    print!("  {name:<30} {:>8} {middle:>8.1} {p99:>8.1} {most:>8.1}", times.len());
    p99
}
