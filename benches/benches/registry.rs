//! Measures the response times of a registry of 10,000 results for 50 concurrent readers and one
//! sender.

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
    Configuration, MeasurementSubmission, Publication, Registry, StagedSubmission, Submission,
    prepare,
};
use flashscope_result::ResultFolder;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder};

/// The number of published results.
const RESULTS: usize = 10_000;
/// The number of readers, each with its own connection and without pauses.
const READERS: usize = 50;
/// The duration of the measurement.
const TIME: Duration = Duration::from_secs(15);
/// The pause of the sender between two submissions.
const PAUSE: Duration = Duration::from_millis(100);
/// The largest 99th percentile of the response time of any page, in ms.
const LIMIT: f64 = 200.0;
/// The number of runs of a result, and of IOs per run.
const RUNS: u32 = 2;
const IOS: u64 = 500;
/// The number of senders that fill the registry; the rate limit of one token would be too low.
const SENDERS: usize = 16;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not measured: run `cargo bench`");
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

/// Starts a registry on a free port of the loopback address, which runs until the process ends.
/// Returns its address and tokens.
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
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let make = async |access| Registry::open(&configuration).await?.app(access);
        let ready = |address| sender.send(address).expect("the main thread is waiting");
        let outcome = flashscope_serve::serve(make, ([127, 0, 0, 1], 0).into(), ready);
        panic!("the registry ended: {outcome:?}");
    });
    let address = receiver.recv().expect("the registry is running");
    (format!("http://{address}"), tokens.expect("a registry"))
}

/// The registry, and the data for requests to it.
struct Site {
    base: String,
    client: Client,
    sample: Sample,
    /// The tokens; the last one is for the sender during the measurement.
    tokens: Vec<String>,
}

/// The submission that all results share, with its record files.
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

    /// Returns the submission of a result with its own firmware version. The model consists of one
    /// of 8 makers and one of 200 numbers.
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

/// Fills the registry with concurrent senders, and returns the ids of the results.
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
        ids.extend(sender.await.expect("the registry accepts every result"));
    }
    ids
}

impl Site {
    /// Submits result `number`, and returns its id.
    async fn submit(&self, token: &str, number: usize) -> String {
        let submission = self.sample.numbered(number);
        let base = format!("{}/api/submissions", self.base);
        let begun = self.client.post(&base).json(&submission);
        let staged: StagedSubmission =
            sent(begun, token).await.json().await.expect("the staged submission");
        for (part, file) in submission.parts.iter().zip(&self.sample.files) {
            let url = format!("{base}/{}/records/{}/{}", staged.id, part.run, part.part);
            let put = self.client.put(url).header(CONTENT_TYPE, "application/octet-stream");
            sent(put.body(file.clone()), token).await;
        }
        let finish = self.client.post(format!("{base}/{}/finish", staged.id));
        let finish = finish.header(CONTENT_TYPE, "application/json").body("{}");
        sent(finish, token).await.json::<Publication>().await.expect("the published result").id
    }

    /// Requests a page as a browser without a cache does, and returns the time in ms.
    async fn time_page(&self, page: &str) -> f64 {
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

/// A kind of page, and a function that returns the address of a random page of that kind.
type Page = (&'static str, fn(&mut Rng, &[String]) -> String);

/// The kinds of pages to request. Readers request all results equally often, and most of them for
/// the first time.
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

/// Runs the readers and one sender, and prints the response times by kind of page.
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
                    times.push((kind, site.time_page(&page).await));
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
        for (kind, time) in reader.await.expect("every request succeeds") {
            times[kind].push(time);
        }
    }
    print(times, submissions);
}

fn print(times: Vec<Vec<f64>>, submissions: Vec<f64>) {
    let seconds = TIME.as_secs();
    println!(
        "{READERS} readers, {seconds} s, ms; limit {LIMIT} for the 99th percentile of each page"
    );
    println!("  {:<30} {:>8} {:>8} {:>8} {:>8}", "page", "requests", "p50", "p99", "max");
    for ((name, _), times) in PAGES.iter().zip(times) {
        let p99 = row(name, times);
        println!("   {}", verdict(p99 <= LIMIT));
    }
    row("(submission)", submissions);
    println!();
}

/// Prints a row without the verdict, and returns the 99th percentile.
fn row(name: &str, mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let [middle, p99, most] = [50, 99, 100].map(|percent| {
        let rank = (times.len() * percent).div_ceil(100);
        times[rank.saturating_sub(1)]
    });
    print!("  {name:<30} {:>8} {middle:>8.1} {p99:>8.1} {most:>8.1}", times.len());
    p99
}
