import 'uplot/dist/uPlot.min.css';
import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { loadReport, NoReport } from './data/load';
import { indexReport } from './data/model';

const target = document.getElementById('app');
if (target === null) throw new Error('the page has no place for the report');

try {
  mount(App, { target, props: { model: indexReport(loadReport(document)) } });
} catch (error) {
  if (!(error instanceof NoReport)) throw error;
  target.textContent = error.message;
  target.className = 'empty';
}
