// The Content-Security-Policy that the page carries itself, for where it is opened as a file.
import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';

/** Where the policy stands: first, as it governs only what follows. The program takes it out of what it serves. */
const PLACE = '<meta charset="utf-8" />';

/** The elements of a name whose content a browser runs or applies; data is none of them. */
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

/** Nothing but the scripts and styles of the page is run and applied, and nobody is spoken to. */
export function policyOf(html: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashes(html, 'script')}`,
    // Charts are placed by style attributes, which cannot be named by a hash.
    "style-src 'unsafe-inline'",
    `style-src-elem ${hashes(html, 'style')}`,
    "style-src-attr 'unsafe-inline'",
    'img-src data: blob:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

/** Puts the policy into the page once everything else is in it. */
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
        if (html.split(PLACE).length !== 2) this.error(`the page has no place ${PLACE}`);
        file.source = html.replace(PLACE, `${PLACE}\n    ${meta}`);
      }
    },
  },
};
