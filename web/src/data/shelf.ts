// The shelf of a page: what a server finds out about a folder of results, of the few in a page.
import type { ShelfQuery } from '../route';
import type { HeldMeasurement, HeldProbe, HeldSimulation, HeldSweep, Page } from './embedded';
import { recorded, runsOf } from './model';
import type { Shelf, ShelfItem } from './views.gen';

function measurementItem({ id, name, manifest, facts }: HeldMeasurement): ShelfItem {
  const runs = runsOf(manifest.micro_benchmarks);
  return {
    id,
    name,
    kind: 'measurement',
    device: manifest.device,
    started: manifest.started,
    status: manifest.status,
    runs_done: runs.filter((run) => run.progress.status === 'done').length,
    runs_planned: runs.filter((run) => run.progress.status !== 'skipped').length,
    ios: runs.reduce((sum, run) => sum + (recorded(run.progress) ?? 0), 0),
    characteristics: facts.characteristics,
  };
}

function simulationItem({ id, name, simulation }: HeldSimulation): ShelfItem {
  return {
    id,
    name,
    kind: 'simulation',
    device: simulation.drive,
    workload: simulation.workload,
    runs_done: 0,
    runs_planned: 0,
    ios: simulation.ios,
  };
}

function probeItem({ id, name, probe }: HeldProbe): ShelfItem {
  const runs = probe.steps.flatMap((step) => step.runs);
  return {
    id,
    name,
    kind: 'probe',
    device: probe.drive,
    started: probe.began,
    status: probe.status,
    runs_done: runs.length,
    runs_planned: runs.length,
    ios: runs.reduce((sum, run) => sum + run.ios, 0),
  };
}

function sweepItem({ id, name, sweep: { sweep } }: HeldSweep): ShelfItem {
  const { asked, done, impossible, failed } = sweep.counts;
  return {
    id,
    name,
    kind: 'sweep',
    status: sweep.status === 'complete' ? 'complete' : 'interrupted',
    runs_done: done,
    runs_planned: asked - impossible - failed,
    ios: 0,
    factors: sweep.factors,
  };
}

/** What an item is found by. */
const textOf = ({ name, device, workload, factors = [] }: ShelfItem) =>
  [name, device?.name, device?.model, device?.firmware, workload, ...factors]
    .join(' ')
    .toLowerCase();

const includes = (text: string | null | undefined, part: string | undefined) =>
  part === undefined || (text ?? '').toLowerCase().includes(part.toLowerCase());

function fits(item: ShelfItem, query: ShelfQuery): boolean {
  const { search, kind, model, firmware, capacity_min = 0, capacity_max } = query;
  const words = (search ?? '').toLowerCase().split(/\s+/);
  const capacity = item.device?.capacity_bytes ?? 0;
  return (
    words.every((word) => textOf(item).includes(word)) &&
    (kind === undefined || item.kind === kind) &&
    includes(item.device?.model ?? item.device?.name, model) &&
    includes(item.device?.firmware, firmware) &&
    capacity >= capacity_min &&
    capacity <= (capacity_max ?? Number.POSITIVE_INFINITY)
  );
}

type Key = (item: ShelfItem) => string | number;

/** By what items are sorted; those with `-` before the name from the greatest on. */
const KEYS: Record<string, Key> = {
  name: ({ name }) => name.toLowerCase(),
  model: ({ device }) => (device?.model ?? device?.name ?? '').toLowerCase(),
  capacity: ({ device }) => device?.capacity_bytes ?? 0,
  started: ({ started }) => started ?? '',
  random_write: ({ characteristics }) =>
    characteristics?.random_write_ns?.value ?? Number.POSITIVE_INFINITY,
};

function sorted(items: ShelfItem[], sort: string | undefined): ShelfItem[] {
  const key = KEYS[sort?.replace(/^-/, '') ?? ''];
  if (key === undefined) return items;
  const sign = sort?.startsWith('-') ? -1 : 1;
  return items.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** What a page answers to a question of the shelf. */
export function shelfOf(page: Page, query: ShelfQuery): Shelf {
  const items = [
    ...page.measurements.map(measurementItem),
    ...page.simulations.map(simulationItem),
    ...page.probes.map(probeItem),
    ...page.sweeps.map(sweepItem),
  ];
  const found = sorted(
    items.filter((item) => fits(item, query)),
    query.sort,
  );
  const { offset = 0, limit = found.length } = query;
  return { items: found.slice(offset, offset + limit), total: found.length };
}
