// A made-up measurement with one long run, served as by `flashscope serve`. Everything is in memory
// with the extremes of each chunk, so the server costs no time.
import { createServer } from 'node:http';
import { makeReport, randomNumbers, servedPage } from '../fixtures/make-fixture.mjs';

const CHUNK = 256;
const BINS_PER_DECADE = 16;

/** @param {number} ios */
export function makeLongRun(ios) {
  const random = randomNumbers(7);
  const latency = new Uint32Array(ios);
  const submitted = new Float64Array(ios);
  const bin = new Uint8Array(ios);
  const chunks = Math.ceil(ios / CHUNK);
  const extremes = { fastest: new Uint32Array(chunks), slowest: new Uint32Array(chunks) };
  let now = 0;
  for (let i = 0; i < ios; i++) {
    const wave = 0.05 + 0.15 * Math.sin(i / 300_000) ** 2;
    const slow = random() < wave ? 8e6 + 2e7 * random() : 0;
    latency[i] = 250_000 * (0.9 + 0.2 * random()) + (i < 20_000 ? 0 : slow);
    submitted[i] = now;
    now += latency[i] ?? 0;
    bin[i] = Math.floor(Math.log10(latency[i] ?? 1) * BINS_PER_DECADE);
    const chunk = Math.floor(i / CHUNK);
    if (i % CHUNK === 0) [extremes.fastest[chunk], extremes.slowest[chunk]] = [i, i];
    if ((latency[i] ?? 0) < (latency[extremes.fastest[chunk] ?? 0] ?? 0))
      extremes.fastest[chunk] = i;
    if ((latency[i] ?? 0) > (latency[extremes.slowest[chunk] ?? 0] ?? 0))
      extremes.slowest[chunk] = i;
  }
  const offset = (/** @type {number} */ i) => ((i * 2_654_435_761) % 32_768) * 32_768;
  return { ios, latency, submitted, bin, extremes, offset };
}

/** @typedef {ReturnType<typeof makeLongRun>} LongRun */

/**
 * The fastest and the slowest IO of each region.
 * @param {LongRun} run
 * @param {number} from
 * @param {number} to
 * @param {number} stretches
 */
function outlineOf({ ios, latency, submitted, extremes, offset }, from, to, stretches) {
  let length = to - from <= 2 * stretches ? 1 : Math.ceil((to - from) / stretches);
  const byChunk = length >= 4 * CHUNK;
  if (byChunk) length = Math.ceil(length / CHUNK) * CHUNK;
  const index = [];
  for (let start = byChunk ? Math.floor(from / CHUNK) * CHUNK : from; start < to; start += length) {
    const end = Math.min(ios, start + length);
    let [fastest, slowest] = [start, start];
    const see = (/** @type {number} */ i) => {
      if ((latency[i] ?? 0) < (latency[fastest] ?? 0)) fastest = i;
      if ((latency[i] ?? 0) > (latency[slowest] ?? 0)) slowest = i;
    };
    if (byChunk) {
      for (let chunk = start / CHUNK; chunk * CHUNK < end; chunk++) {
        see(extremes.fastest[chunk] ?? 0);
        see(extremes.slowest[chunk] ?? 0);
      }
    } else for (let i = start; i < end; i++) see(i);
    index.push(Math.min(fastest, slowest));
    if (fastest !== slowest) index.push(Math.max(fastest, slowest));
  }
  return {
    run: 1,
    ios,
    index,
    submitted_ns: index.map((i) => submitted[i]),
    latency_ns: index.map((i) => latency[i]),
    offset_bytes: index.map(offset),
    op: index.map(() => 1),
    errno: index.map(() => 0),
  };
}

/**
 * The distribution of response times.
 * @param {LongRun} run
 * @param {number} from
 * @param {number} to
 */
function histogramOf({ bin }, from, to) {
  const counts = new Uint32Array(256);
  for (let i = from; i < to; i++) counts[bin[i] ?? 0] = (counts[bin[i] ?? 0] ?? 0) + 1;
  const bins = [...counts].flatMap((ios, at) =>
    ios === 0
      ? []
      : [{ from_ns: 10 ** (at / BINS_PER_DECADE), to_ns: 10 ** ((at + 1) / BINS_PER_DECADE), ios }],
  );
  return {
    run: 1,
    from,
    to,
    ios: to - from,
    bins,
    percentiles: [50, 90, 99, 99.9].map((p) => {
      let below = 0;
      const found = bins.find((b) => {
        below += b.ios;
        return below >= (p / 100) * (to - from);
      });
      return [p, Math.round(found?.from_ns ?? 0)];
    }),
  };
}

/**
 * Every IO as a point; of IOs that share one, the slowest.
 * @param {LongRun} run
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 */
function coloursOf({ ios, latency, extremes }, from, to, columns) {
  const each = Math.max(1, Math.ceil((to - from) / columns));
  const [low_ns, high_ns] = [200_000, 30_000_000];
  const codes = Buffer.alloc(Math.ceil((to - from) / each));
  for (const at of codes.keys()) {
    let slowest = 0;
    const [start, end] = [from + at * each, Math.min(to, from + (at + 1) * each)];
    if (each >= 4 * CHUNK) {
      for (let chunk = Math.floor(start / CHUNK); chunk * CHUNK < end; chunk++) {
        slowest = Math.max(slowest, latency[extremes.slowest[chunk] ?? 0] ?? 0);
      }
    } else for (let i = start; i < end; i++) slowest = Math.max(slowest, latency[i] ?? 0);
    codes[at] = 1 + (254 * Math.log(slowest / low_ns)) / Math.log(high_ns / low_ns);
  }
  const rows = [{ run: 1, ios, codes: codes.toString('base64') }];
  const [micro_benchmark, experiment] = ['granularity', 'RW'];
  return { micro_benchmark, experiment, from, to, ios_per_column: each, low_ns, high_ns, rows };
}

/**
 * Successive IOs.
 * @param {LongRun} run
 * @param {number} from
 * @param {number} count
 */
function iosOf({ ios, latency, submitted, offset }, from, count) {
  const at = Array.from({ length: Math.min(count, ios - from) }, (_, k) => from + k);
  const same = (/** @type {number} */ value) => at.map(() => value);
  return {
    run: 1,
    ios,
    from,
    submitted_ns: at.map((i) => submitted[i]),
    latency_ns: at.map((i) => latency[i]),
    offset_bytes: at.map(offset),
    length_bytes: same(32_768),
    op: same(1),
    stream: same(0),
    errno: same(0),
    late_ns: same(0),
    activities: [],
  };
}

/**
 * The measurement of one run, derived from the made-up one.
 * @param {LongRun} run
 */
function measurementOf({ ios }) {
  const { manifest, facts } = makeReport();
  const benchmark = manifest.micro_benchmarks.find(({ name }) => name === 'granularity');
  if (benchmark === undefined) throw new Error('there is no granularity among the made-up runs');
  const experiment = benchmark.experiments.find((/** @type {any} */ e) => e.name === 'RW');
  const run = { ...experiment.runs[0], id: 1, progress: { status: 'done', ios } };
  const own = facts.runs.find((/** @type {any} */ f) => f.run === experiment.runs[0].id);
  return {
    id: 'long',
    name: 'long',
    manifest: {
      ...manifest,
      findings: null,
      micro_benchmarks: [{ ...benchmark, experiments: [{ ...experiment, runs: [run] }] }],
    },
    facts: { ...facts, repeats: [], runs: [{ ...own, run: 1, ios }] },
    marks: { experiments: [] },
  };
}

/**
 * Serves a run on a free port of this machine.
 * @param {string} html the built page without a report
 * @param {LongRun} run
 */
export async function serveLongRun(html, run) {
  const measurement = measurementOf(run);
  const answer = (/** @type {URL} */ url) => {
    const number = (/** @type {string} */ name, /** @type {number} */ otherwise) =>
      url.searchParams.has(name) ? Number(url.searchParams.get(name)) : otherwise;
    const [from, to] = [number('from', 0), number('to', run.ios)];
    if (url.pathname.endsWith('/outline')) {
      return outlineOf(run, from, to, number('stretches', 400));
    }
    if (url.pathname.endsWith('/histogram')) return histogramOf(run, from, to);
    if (url.pathname.endsWith('/ios')) return iosOf(run, from, number('count', 1));
    if (url.pathname.endsWith('/colours')) {
      return coloursOf(run, from, to, number('columns', 4096));
    }
    return measurement;
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const api = url.pathname.startsWith('/api/');
    response.writeHead(200, { 'content-type': api ? 'application/json' : 'text/html' });
    response.end(api ? JSON.stringify(answer(url)) : servedPage(html, '{"served":true}'));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const at = server.address();
  const port = typeof at === 'object' && at !== null ? at.port : 0;
  return {
    address: `http://127.0.0.1:${port}/`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
