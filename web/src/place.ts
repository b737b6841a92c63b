// The title, the breadcrumbs and the tabs of a measurement's screens.

import type { Link, Place, Tab } from './current-place.svelte';
import { type Model, repeatOf } from './data/model';
import type { MicroBenchmark } from './data/views.gen';
import { count, parameter } from './format';
import {
  benchmarkHref,
  coloursHref,
  type DeviceRoute,
  deviceHref,
  experimentHref,
  findHref,
  ioHref,
  runHref,
  shelfHref,
} from './route';

/** The title, the breadcrumbs and the tabs of a screen; `shelved` puts it below the shelf. */
export function placeOf(model: Model, route: DeviceRoute, shelved: boolean): Place {
  const below = crumbsBelow(model, route);
  const device = { name: model.drive, href: deviceHref(model.id) };
  const shelf = shelved ? [{ name: 'Shelf', href: shelfHref() }] : [];
  const title = [...below.toReversed().map(({ name }) => name), model.drive].join(' · ');
  return { title, crumbs: [...shelf, device, ...below], tabs: tabsOf(model, route) };
}

/** The breadcrumbs below the summary of a device, down to the screen. */
function crumbsBelow(model: Model, route: DeviceRoute): Link[] {
  const view = 'run' in route ? model.run(route.run) : undefined;
  const benchmark = view?.benchmark ?? ('name' in route ? model.benchmark(route.name) : undefined);
  if (route.page === 'find') return [{ name: 'Find IOs', href: findHref(model.id, route.where) }];
  if (benchmark === undefined) return [];
  const ways = [{ name: benchmark.title, href: benchmarkHref(model.id, benchmark.name) }];
  const experiment =
    view?.experiment.name ?? ('experiment' in route ? route.experiment : undefined);
  if (experiment === undefined) return ways;
  ways.push({ name: experiment, href: experimentHref(model.id, benchmark.name, experiment) });
  if (route.page === 'colours') {
    ways.push({ name: 'Colours', href: coloursHref(model.id, benchmark.name, experiment) });
  }
  if (view !== undefined) {
    const again = view.repeats.length > 1 ? `, repeat ${repeatOf(view.run)}` : '';
    const value = parameter(view.run.value, benchmark.unit);
    const name = `${benchmark.parameter} ${value}${again}`;
    ways.push({ name, href: runHref(model.id, view.run.id) });
  }
  if (route.page === 'io') {
    const href = ioHref(model.id, route.run, route.index);
    ways.push({ name: `IO ${count(route.index)}`, href });
  }
  return ways;
}

/** The tabs of a measurement: its summary and its micro-benchmarks. */
function tabsOf(model: Model, route: DeviceRoute): Place['tabs'] {
  const current =
    'name' in route
      ? route.name
      : 'run' in route
        ? model.run(route.run)?.benchmark.name
        : undefined;
  const tab = ({ name, title }: MicroBenchmark): Tab => ({
    name: title,
    href: benchmarkHref(model.id, name),
    current: current === name ? (route.page === 'benchmark' ? 'page' : 'true') : undefined,
  });
  const summary: Tab = {
    name: 'Summary',
    href: deviceHref(model.id),
    current: route.page === 'device' ? 'page' : undefined,
  };
  return { name: 'Micro-benchmarks', all: [summary, ...model.benchmarks.map(tab)] };
}
