import 'uplot/dist/uPlot.min.css';
import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import AttachedApp from './AttachedApp.svelte';
import { loadPage, NoReport } from './data/load';
import PapersApp from './PapersApp.svelte';
import PlaygroundApp from './PlaygroundApp.svelte';
import RunningApp from './RunningApp.svelte';
import TraceApp from './TraceApp.svelte';

const target = document.getElementById('app');
if (target === null) throw new Error('report.html has no element #app to show the report in');

try {
  const content = loadPage(document);
  if ('trace' in content) mount(TraceApp, { target, props: { trace: content.trace } });
  else if ('papers' in content) mount(PapersApp, { target, props: content });
  else if ('playground' in content) mount(PlaygroundApp, { target });
  else if ('attached' in content) mount(AttachedApp, { target, props: content });
  else if ('running' in content) mount(RunningApp, { target, props: content });
  else mount(App, { target, props: { source: content.source } });
} catch (error) {
  if (!(error instanceof NoReport)) throw error;
  target.textContent = error.message;
  target.className = 'empty';
}
