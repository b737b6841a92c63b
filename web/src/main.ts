import 'uplot/dist/uPlot.min.css';
import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import AttachedApp from './AttachedApp.svelte';
import { loadPage, NoReport } from './data/load';
import PapersApp from './PapersApp.svelte';
import TraceApp from './TraceApp.svelte';

const target = document.getElementById('app');
if (target === null) throw new Error('the page has no place for the report');

try {
  const shown = loadPage(document);
  if ('trace' in shown) mount(TraceApp, { target, props: { trace: shown.trace } });
  else if ('papers' in shown) mount(PapersApp, { target, props: shown });
  else if ('attached' in shown) mount(AttachedApp, { target, props: shown });
  else mount(App, { target, props: { source: shown.source } });
} catch (error) {
  if (!(error instanceof NoReport)) throw error;
  target.textContent = error.message;
  target.className = 'empty';
}
