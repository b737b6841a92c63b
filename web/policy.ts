// The Content-Security-Policy in the page itself, for pages opened from a file.
import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';

/** The tag that the policy follows. A policy governs only later content. The server removes it. */
const PLACE = '<meta charset="utf-8" />';

/** The contents of all elements of a name that a browser executes or applies; skips JSON data. */
function contents(html: string, name: string): string[] {
  const elements = html.matchAll(new RegExp(`<${name}([^>]*)>([\\s\\S]*?)</${name}>`, 'g'));
  return [...elements]
    .filter(([, attributes]) => !attributes?.includes('application/json'))
    .map(([, , content]) => content ?? '');
}

function hashes(html: string, name: string): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('base64');
  return contents(html, name)
    .map((content) => `'sha256-${hash(content)}'`)
    .join(' ');
}

/** The policy of a page: only its own scripts and styles, and no network access. */
export function policyOf(html: string): string {
  return [
    "default-src 'none'",
    // The simulator is WebAssembly in a worker, whose script is a part of the page.
    `script-src ${hashes(html, 'script')} 'wasm-unsafe-eval'`,
    'worker-src blob:',
    // Charts use style attributes, which hashes cannot allow.
    "style-src 'unsafe-inline'",
    `style-src-elem ${hashes(html, 'style')}`,
    "style-src-attr 'unsafe-inline'",
    'img-src data: blob:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

/** The Vite plugin that adds the policy to the finished page. */
export const policy: Plugin = {
  name: 'policy',
  apply: 'build',
  enforce: 'post',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'asset' || !file.fileName.endsWith('.html')) continue;
        const html = String(file.source);
        const meta = `<meta http-equiv="Content-Security-Policy" content="${policyOf(html)}" />`;
        if (html.split(PLACE).length !== 2)
          this.error(`report.html must contain ${PLACE} exactly once`);
        file.source = html.replace(PLACE, `${PLACE}\n    ${meta}`);
      }
    },
  },
};
