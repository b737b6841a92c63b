// The shelf of a page without a server: lists, filters and sorts the embedded results.
import type { ShelfQuery } from '../route';
import type {
  EmbeddedMeasurement,
  EmbeddedPrediction,
  EmbeddedProbe,
  EmbeddedSimulation,
  EmbeddedSweep,
  EmbeddedTwin,
  EmbeddedWhatIf,
  Page,
} from './embedded';
import { recorded, runsOf } from './model';
import { select } from './shelf-query';
import type { Shelf, ShelfItem } from './views.gen';

function measurementItem({ id, name, manifest, facts }: EmbeddedMeasurement): ShelfItem {
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

function simulationItem({ id, name, simulation }: EmbeddedSimulation): ShelfItem {
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

function probeItem({ id, name, probe }: EmbeddedProbe): ShelfItem {
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

function sweepItem({ id, name, sweep: { sweep } }: EmbeddedSweep): ShelfItem {
  const { requested, done, impossible, failed } = sweep.counts;
  return {
    id,
    name,
    kind: 'sweep',
    status: sweep.status === 'complete' ? 'complete' : 'interrupted',
    runs_done: done,
    runs_planned: Math.max(0, requested - impossible - failed),
    ios: 0,
    factors: sweep.factors,
  };
}

function whatIfItem({ id, name, what_if: whatIf }: EmbeddedWhatIf): ShelfItem {
  const all = [whatIf.base, ...whatIf.variants];
  const { workload, drive } = whatIf.base;
  const changes = whatIf.variants.flatMap((variant) => variant.changes);
  return {
    id,
    name,
    kind: 'what_if',
    status: whatIf.status === 'complete' ? 'complete' : 'interrupted',
    runs_done: all.filter(({ status }) => status === 'done').length,
    runs_planned: all.filter(({ status }) => status == null || status === 'done').length,
    ios: 0,
    workload: `${workload} on ${drive}`,
    factors: [...new Set(changes.map(({ field }) => field))],
  };
}

function twinItem({ id, name, twin }: EmbeddedTwin): ShelfItem {
  return { id, name, kind: 'twin', runs_done: 0, runs_planned: 0, ios: 0, fitted_to: twin.sources };
}

function predictionItem({ id, name, prediction }: EmbeddedPrediction): ShelfItem {
  const workload = `${prediction.workload} on ${prediction.drive}`;
  return { id, name, kind: 'prediction', runs_done: 0, runs_planned: 0, ios: 0, workload };
}

/** Filters, sorts and pages the results of a page. */
export function shelfOf(page: Page, query: ShelfQuery): Shelf {
  const items = [
    ...page.measurements.map(measurementItem),
    ...page.simulations.map(simulationItem),
    ...page.probes.map(probeItem),
    ...page.sweeps.map(sweepItem),
    ...(page.what_ifs ?? []).map(whatIfItem),
    ...(page.twins ?? []).map(twinItem),
    ...(page.predictions ?? []).map(predictionItem),
  ];
  return select(items, query);
}
