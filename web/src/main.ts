import 'uplot/dist/uPlot.min.css';
import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { isTrace, loadReport, NoReport } from './data/load';
import { indexReport } from './data/model';
import TraceApp from './TraceApp.svelte';

const target = document.getElementById('app');
if (target === null) throw new Error('the page has no place for the report');

try {
  const shown = await loadReport(document);
  if (isTrace(shown)) mount(TraceApp, { target, props: { trace: shown } });
  else mount(App, { target, props: { model: indexReport(shown) } });
} catch (error) {
  if (!(error instanceof NoReport)) throw error;
  target.textContent = error.message;
  target.className = 'empty';
}
