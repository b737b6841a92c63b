// Writes the page of the playground alone, which any server of files can serve:
// `node scripts/make-playground-page.mjs FILE`. It needs `make web` and `make playground`.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { insertReport, playground } from '../fixtures/make-fixture.mjs';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('name the file to write');
if (playground() === '') {
  console.error(`${path} is left out, because the simulator is not built: see \`make playground\``);
} else {
  const template = await readFile(new URL('../dist/report.html', import.meta.url), 'utf8');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, insertReport(template, '{"playground":true}'));
}
