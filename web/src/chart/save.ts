// Charts as files: an SVG with title, source and legend, or a PNG of that SVG.
import uPlot from 'uplot';
import { palette } from './palette';
import { type ChartSpec, keyPath } from './spec';
import { escapeXml, RecordedPath, SvgContext } from './svg';

const MARGIN = 16;
const LINE = 18;
const FONT = 'system-ui, -apple-system, Segoe UI, Roboto, sans-serif';

/** The pixels of a PNG for each CSS pixel. */
const PNG_SCALE = 2;

/** Draws a chart as SVG: uPlot gets a context that records, in place of its canvas's context. */
async function record(spec: ChartSpec, width: number, height: number): Promise<string> {
  const context = new SvgContext();
  const { getContext } = HTMLCanvasElement.prototype;
  const NativePath = window.Path2D;
  let plot: uPlot;
  // uPlot requests the context of its canvas once, in the constructor.
  HTMLCanvasElement.prototype.getContext = (() => context) as unknown as typeof getContext;
  window.Path2D = RecordedPath;
  try {
    const options = spec.options(palette(false));
    plot = new uPlot({ ...options, width, height }, spec.data);
  } finally {
    HTMLCanvasElement.prototype.getContext = getContext;
  }
  try {
    // uPlot draws in a microtask.
    await new Promise((done) => setTimeout(done));
    const scale = 1 / devicePixelRatio;
    return `<g transform="scale(${scale})">${context.content()}</g>`;
  } finally {
    window.Path2D = NativePath;
    plot.destroy();
  }
}

/** The approximate width of a text; the file may be shown with another font. */
const textWidth = (text: string) => text.length * 6.4;

/** Breaks a text into lines of at most `width` pixels. */
function wrap(text: string, width: number, perCharacter = 7.2): string[] {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    const joined = line === '' ? word : `${line} ${word}`;
    if (line !== '' && joined.length * perCharacter > width) lines.push(word);
    else lines[lines.length - 1] = joined;
  }
  return lines;
}

/** Draws the legend from `top` on; returns its lower end too. */
function legend(spec: ChartSpec, width: number, top: number): { drawn: string; bottom: number } {
  const colors = palette(false);
  let [x, y, drawn] = [MARGIN, top, ''];
  for (const key of spec.keys?.(colors) ?? []) {
    const { name, color, second, sign } = key;
    const wide = textWidth(name) + 34;
    if (x > MARGIN && x + wide > width - MARGIN) [x, y] = [MARGIN, y + LINE];
    const attributes = Object.entries(keyPath(key)).map(
      ([a, value]) => `${a}="${escapeXml(value)}"`,
    );
    drawn +=
      sign === undefined
        ? `<rect x="${x}" y="${y}" width="10" height="10" rx="2" fill="${escapeXml(color)}"/>`
        : `<path transform="translate(${x - 4} ${y})" ${attributes.join(' ')}/>`;
    if (second !== undefined) {
      drawn += `<path transform="translate(${x - 4} ${y})" d="M0 5h18" fill="none" stroke="${escapeXml(second)}" stroke-width="2" stroke-dasharray="4.5 4.5"/>`;
    }
    drawn += `<text x="${x + 18}" y="${y + 9}" font-size="11" fill="${colors.text}">${escapeXml(name)}</text>`;
    x += wide;
  }
  let bottom = x > MARGIN ? y + LINE : y;
  const ramp = spec.ramp?.(colors);
  if (ramp !== undefined) {
    const long = Math.min(320, width - 2 * MARGIN);
    const stops = ramp.colors.map(
      (color, i) =>
        `<stop offset="${i / (ramp.colors.length - 1)}" stop-color="${escapeXml(color)}"/>`,
    );
    drawn += `<defs><linearGradient id="ramp">${stops.join('')}</linearGradient></defs>`;
    drawn += `<text x="${MARGIN}" y="${bottom + 9}" font-size="11" fill="${colors.text}">${escapeXml(ramp.name)}</text>`;
    drawn += `<rect x="${MARGIN}" y="${bottom + 15}" width="${long}" height="10" fill="url(#ramp)"/>`;
    for (const { at, label } of ramp.ticks) {
      drawn += `<text x="${MARGIN + at * long}" y="${bottom + 38}" font-size="11" text-anchor="${at < 0.05 ? 'start' : at > 0.95 ? 'end' : 'middle'}" fill="${colors.text}">${escapeXml(label)}</text>`;
    }
    bottom += 46;
  }
  return { drawn, bottom };
}

/** Creates an SVG file of a chart, with its title, source and legend, always in the light theme. */
export async function svgOf(
  spec: ChartSpec,
  width: number,
  height: number,
  source = document.title,
): Promise<string> {
  const colors = palette(false);
  const full = width + 2 * MARGIN;
  const lines = wrap(spec.title, width);
  const title = lines.map(
    (line, i) =>
      `<text x="${MARGIN}" y="${MARGIN + 12 + i * LINE}" font-size="14" font-weight="600" fill="#191d21">${escapeXml(line)}</text>`,
  );
  const below = MARGIN + lines.length * LINE;
  const from = `<text x="${MARGIN}" y="${below + 10}" font-size="11" fill="${colors.text}">${escapeXml(source)}</text>`;
  const keys = legend(spec, full, below + 24);
  const chart = await record(spec, width, height);
  const all = keys.bottom + height + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${full}" height="${all}" viewBox="0 0 ${full} ${all}" font-family="${FONT}" role="img">`,
    `<title>${escapeXml(spec.title)}</title><desc>${escapeXml(spec.label)}</desc>`,
    `<rect width="${full}" height="${all}" fill="${colors.surface}"/>`,
    ...title,
    from,
    keys.drawn,
    `<g transform="translate(${MARGIN} ${keys.bottom})">${chart}</g></svg>`,
  ].join('\n');
}

/** Renders an SVG as a PNG. */
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width * PNG_SCALE, image.height * PNG_SCALE];
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => {
    canvas.toBlob((blob) =>
      blob === null
        ? fail(new Error('The browser cannot encode the PNG. Save the chart as SVG instead.'))
        : done(blob),
    );
  });
}

/** Downloads a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
