import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { findingsIn, lint } from './prose';

const ROOT = new URL('..', import.meta.url).pathname;

describe('a rule of prose', () => {
  it.each([
    ['opening', 'What the drive did.'],
    ['opening', 'It is fast. Whether it stays so is open.'],
    ['glossary', 'Random writes are dear.'],
    ['passive', 'The cause is told below.'],
    ['length', `It takes ${'very '.repeat(30)}long.`],
  ])('finds its example: %s', (rule, text) => {
    expect(findingsIn(text).map((finding) => finding.rule)).toEqual([rule]);
  });

  it('accepts questions and plain sentences', () => {
    expect(findingsIn('What does an IO cost? The mean is 3 ms. Run it again.')).toEqual([]);
  });
});

describe('the linter', () => {
  it('reads strings and comments of scripts', () => {
    const code =
      "// What it is.\nconst a = 'is told here';\n/** Plain. */\nconst b = `dear $" + '{a} x`;';
    expect(lint('a.ts', code)).toEqual([
      'a.ts:2: passive: is told here',
      'a.ts:4: glossary: dear … x',
      'a.ts:1: opening: What it is.',
    ]);
  });

  it('reads text, attributes and comments of components', () => {
    const source =
      '<!-- Where it is. -->\n<p>A <b>dear</b> write {#if x}is seen{/if}</p>\n<i title="Those of it" />';
    expect(lint('a.svelte', source).map((finding) => finding.split(': ')[1])).toEqual([
      'passive',
      'glossary',
      'opening',
      'opening',
    ]);
  });
});

it('finds nothing in the page, its tests, its fixtures and its scripts', async () => {
  const folders = ['src', 'tests', 'fixtures', 'bench', 'scripts'];
  const found = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(`${ROOT}${folder}`, { recursive: true })).map((name) => `${folder}/${name}`),
    ),
  );
  const files = [...found.flat(), 'policy.ts', 'vite.config.ts'].filter(
    (file) => /\.(ts|mjs|svelte)$/.test(file) && !/\.gen\.ts$|tests\/prose/.test(file),
  );
  expect(files.length).toBeGreaterThan(180);
  const findings = await Promise.all(
    files.map(async (file) => lint(file, await readFile(`${ROOT}${file}`, 'utf8'))),
  );
  expect(findings.flat()).toEqual([]);
});
