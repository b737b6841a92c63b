// The linter of prose for the page: its strings, its text and its comments (docs/style.md).
import { parse } from 'svelte/compiler';
import ts from 'typescript';

/** Words that begin a headless clause, which hides the subject of the sentence. */
const OPENINGS = ['What', 'Who', 'Whose', 'Whom', 'Whether', 'Those', 'Where', 'None'];

/** Terms that the field does not use, each with its replacement. */
const GLOSSARY: [term: RegExp, instead: string][] = [
  [/\bdear(er|est)?\b/i, 'slow, expensive'],
  [/\bonlookers?\b/i, 'progress sink'],
  [/\bof (theirs|strangers)\b/i, 'their, untrusted'],
  [/\bas it (is|were) otherwise\b/i, 'variant, baseline'],
  [/\bpieces? of work\b/i, 'background operation'],
  [/\bworth a look\b/i, 'finding'],
  [/\bnot sure\b/i, 'not significant'],
  [/\bcomes? to nothing\b/i, 'has no effect'],
];

const PASSIVE = /\b(is|are|was|were|be|been) (said|told|seen|asked|heard|looked at)\b/i;

/** The maximum number of words in a sentence. */
const MAX_WORDS = 30;

/** A broken rule, with the text that breaks it. */
export interface Finding {
  rule: 'opening' | 'glossary' | 'passive' | 'length';
  text: string;
}

/** A text of a file, with its offset. */
interface Prose {
  text: string;
  at: number;
}

/** The findings in a text of one or more sentences; `…` stands for an inserted value. */
export function findingsIn(text: string): Finding[] {
  const sentences = text
    .replace(/@(param|returns|throws)[\s\S]*/, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.?!]) (?=[A-Z…`])/);
  return sentences.flatMap((sentence): Finding[] => {
    const found: Finding['rule'][] = [];
    const first = /^[A-Za-z]+/.exec(sentence)?.[0] ?? '';
    // “What if” is the name of a command.
    const isHeadless = OPENINGS.includes(first) && !/^What[- ]ifs?\b/.test(sentence);
    if (isHeadless && !sentence.includes('?')) found.push('opening');
    if (GLOSSARY.some(([term]) => term.test(sentence))) found.push('glossary');
    if (PASSIVE.test(sentence)) found.push('passive');
    if (sentence.split(' ').length > MAX_WORDS) found.push('length');
    return found.map((rule) => ({ rule, text: sentence }));
  });
}

/** The comments and the strings of TypeScript; strings without a space are names. */
function ofScript(code: string, offset = 0): Prose[] {
  const file = ts.createSourceFile('a.ts', code, ts.ScriptTarget.Latest, true);
  const prose: Prose[] = [];
  const comments = new Map<number, string>();
  const visit = (node: ts.Node): void => {
    for (const range of ts.getLeadingCommentRanges(code, node.getFullStart()) ?? []) {
      comments.set(range.pos, code.slice(range.pos, range.end));
    }
    let text: string | undefined;
    if (ts.isStringLiteralLike(node)) text = node.text;
    else if (ts.isTemplateExpression(node)) {
      text = node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join('');
    }
    if (text?.includes(' ')) prose.push({ text, at: offset + node.getStart() });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...prose, ...ofComments(code, comments, offset)];
}

/** The texts of comments; successive line comments are one text. */
function ofComments(code: string, comments: Map<number, string>, offset: number): Prose[] {
  const prose: Prose[] = [];
  let end = -1;
  for (const [at, comment] of [...comments].sort(([a], [b]) => a - b)) {
    const words = comment.replaceAll(/^\s*(\/\*\*?|\*\/?|\/\/)|\*\/$/gm, ' ');
    const last = prose.at(-1);
    const continues = comment.startsWith('//') && end >= 0 && code.slice(end, at).trim() === '';
    if (continues && last) last.text += words;
    else prose.push({ text: words, at: offset + at });
    end = at + comment.length;
  }
  return prose;
}

/** Elements whose text is a part of the sentence around them. */
const INLINE = ['a', 'b', 'code', 'strong', 'small', 'q', 'i', 'em', 'sup', 'kbd'];

// biome-ignore lint/suspicious/noExplicitAny: the nodes of a Svelte template are a wide union
type Node = any;

/** The text of some nodes, with `…` for values; other elements and blocks are separate texts. */
function textOf(nodes: Node[], prose: Prose[]): string {
  return nodes
    .map((node): string => {
      if (node.type === 'Text') return node.data;
      if (node.type === 'ExpressionTag') return '…';
      if (node.type === 'RegularElement' && INLINE.includes(node.name)) {
        return textOf(node.fragment.nodes, prose);
      }
      const inner = [node.fragment, node.consequent, node.alternate, node.body, node.fallback];
      for (const fragment of inner) {
        if (Array.isArray(fragment?.nodes)) {
          prose.push({ text: textOf(fragment.nodes, prose), at: node.start });
        }
      }
      return node.type === 'IfBlock' ? '…' : ' ';
    })
    .join('');
}

/** The comments, strings and text of a Svelte component. */
function ofComponent(source: string): Prose[] {
  const root = parse(source, { modern: true });
  const prose: Prose[] = [];
  for (const script of [root.instance, root.module]) {
    if (script == null) continue;
    const { start, end } = script.content as unknown as { start: number; end: number };
    prose.push(...ofScript(source.slice(start, end), start));
  }
  prose.push({ text: textOf(root.fragment.nodes, prose), at: 0 });
  const attributes = /\b(?:title|aria-label|placeholder|words|what|name)="([^"]* [^"]*)"/g;
  for (const comment of source.matchAll(/<!--([\s\S]*?)-->|^\s*\/\*([\s\S]*?)\*\//gm)) {
    const text = comment[1] ?? comment[2] ?? '';
    if (!text.includes('svelte-ignore')) prose.push({ text, at: comment.index });
  }
  for (const attribute of source.matchAll(attributes)) {
    prose.push({ text: (attribute[1] ?? '').replaceAll(/\{[^}]*\}/g, '…'), at: attribute.index });
  }
  return prose;
}

/** The findings in a file, as `line: rule: text`. */
export function lint(path: string, source: string): string[] {
  const prose = path.endsWith('.svelte') ? ofComponent(source) : ofScript(source);
  return prose.flatMap(({ text, at }) =>
    findingsIn(text).map(
      ({ rule, text: sentence }) =>
        `${path}:${source.slice(0, at).split('\n').length}: ${rule}: ${sentence}`,
    ),
  );
}
