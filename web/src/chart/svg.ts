// A canvas context that writes SVG, with the part of the canvas API that charts use.
//
// Libraries for this (svgcanvas, canvas2svg) do not support Path2D, with which uPlot draws.

const XML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for XML, and drops the characters that XML forbids. */
export const escapeXml = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids these characters
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll(/[&<>"]/g, (character) => XML[character] ?? '');

/** A number with two decimals, enough for a picture. */
const digits = (value: number) => String(Math.round(value * 100) / 100);

const rectangle = (x: number, y: number, width: number, height: number) =>
  `M${digits(x)} ${digits(y)}h${digits(width)}v${digits(height)}h${digits(-width)}Z`;

/** A path that also records itself in SVG syntax. */
export class RecordedPath extends Path2D {
  /** The path in SVG syntax. */
  d = '';

  constructor(path?: Path2D | string) {
    super(path);
    if (path instanceof RecordedPath) this.d = path.d;
  }

  override moveTo(x: number, y: number): void {
    super.moveTo(x, y);
    this.d += `M${digits(x)} ${digits(y)}`;
  }

  override lineTo(x: number, y: number): void {
    super.lineTo(x, y);
    this.d += `${this.d === '' ? 'M' : 'L'}${digits(x)} ${digits(y)}`;
  }

  override closePath(): void {
    super.closePath();
    this.d += 'Z';
  }

  override rect(x: number, y: number, width: number, height: number): void {
    super.rect(x, y, width, height);
    this.d += rectangle(x, y, width, height);
  }

  /** Records a full circle; charts use no other arcs. */
  override arc(x: number, y: number, r: number, from: number, to: number): void {
    super.arc(x, y, r, from, to);
    const half = `a${digits(r)} ${digits(r)} 0 1 1`;
    this.d += `M${digits(x - r)} ${digits(y)}${half} ${digits(2 * r)} 0${half} ${digits(-2 * r)} 0`;
  }
}

/** The state that `save` and `restore` cover. */
const KEPT = [
  'fillStyle',
  'strokeStyle',
  'lineWidth',
  'lineCap',
  'lineJoin',
  'globalAlpha',
  'font',
  'textAlign',
  'textBaseline',
  'dash',
  'matrix',
  'clipped',
] as const;

const BASELINES: Record<string, string> = {
  middle: 'central',
  top: 'text-before-edge',
  bottom: 'text-after-edge',
};
const ANCHORS: Record<string, string> = { center: 'middle', right: 'end', end: 'end' };

/** A canvas context that writes SVG. */
export class SvgContext {
  fillStyle = '#000';
  strokeStyle = '#000';
  lineWidth = 1;
  lineCap = 'butt';
  lineJoin = 'miter';
  globalAlpha = 1;
  font = '10px sans-serif';
  textAlign = 'start';
  textBaseline = 'alphabetic';
  imageSmoothingEnabled = true;
  private dash: number[] = [];
  private matrix = new DOMMatrix();
  /** The id of the current clip. */
  private clipped = '';
  private readonly clips: string[] = [];
  private readonly elements: string[] = [];
  private readonly saved: Record<string, unknown>[] = [];
  /** The clip of the open group. */
  private group = '';
  private path = new RecordedPath();
  /** Successive rectangles of one style, which become one path. */
  private rectangles: { look: string; d: string } | null = null;
  private readonly ruler = new OffscreenCanvas(1, 1).getContext('2d');

  /** The elements of the SVG. */
  content(): string {
    this.flush();
    if (this.group !== '') this.elements.push('</g>');
    this.group = '';
    return `<defs>${this.clips.join('')}</defs>${this.elements.join('')}`;
  }

  save(): void {
    this.saved.push(Object.fromEntries(KEPT.map((name) => [name, this[name]])));
  }

  restore(): void {
    Object.assign(this, this.saved.pop());
  }

  translate(x: number, y: number): void {
    this.matrix = this.matrix.translate(x, y);
  }

  rotate(radians: number): void {
    this.matrix = this.matrix.rotate((radians * 180) / Math.PI);
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  beginPath(): void {
    this.path = new RecordedPath();
  }

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }

  closePath(): void {
    this.path.closePath();
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.rect(x, y, width, height);
  }

  arc(x: number, y: number, r: number, from: number, to: number): void {
    this.path.arc(x, y, r, from, to);
  }

  clip(path?: Path2D): void {
    const { d } = path instanceof RecordedPath ? path : this.path;
    const name = `clip${this.clips.length}`;
    const within = this.clipped === '' ? '' : ` clip-path="url(#${this.clipped})"`;
    this.clips.push(
      `<clipPath id="${name}"${within}><path d="${d}"${this.transform()}/></clipPath>`,
    );
    this.clipped = name;
  }

  fill(path?: Path2D): void {
    const { d } = path instanceof RecordedPath ? path : this.path;
    if (d !== '') this.add(`<path d="${d}" ${this.filled()}/>`);
  }

  stroke(path?: Path2D): void {
    const { d } = path instanceof RecordedPath ? path : this.path;
    if (d !== '' && this.lineWidth > 0) this.add(`<path d="${d}" ${this.stroked()}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const look = `${this.filled()}|${this.clipped}`;
    if (this.rectangles?.look !== look) {
      this.flush();
      this.rectangles = { look, d: '' };
    }
    this.rectangles.d += rectangle(x, y, width, height);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add(`<path d="${rectangle(x, y, width, height)}" ${this.stroked()}/>`);
  }

  /** Drops everything; charts only clear the whole canvas. */
  clearRect(): void {
    this.rectangles = null;
    this.elements.length = 0;
    this.group = '';
  }

  fillText(text: string, x: number, y: number): void {
    const [, weight = '', size = '10'] = /^(?:(\w+)\s+)?([\d.]+)px/.exec(this.font) ?? [];
    const anchor = ANCHORS[this.textAlign];
    const baseline = BASELINES[this.textBaseline];
    const attributes = [
      `x="${digits(x)}" y="${digits(y)}" font-size="${size}"`,
      weight === '' ? '' : ` font-weight="${escapeXml(weight)}"`,
      anchor === undefined ? '' : ` text-anchor="${anchor}"`,
      baseline === undefined ? '' : ` dominant-baseline="${baseline}"`,
    ];
    this.add(`<text ${attributes.join('')} ${this.filled()}>${escapeXml(text)}</text>`);
  }

  measureText(text: string): { width: number } {
    if (this.ruler === null) return { width: 0 };
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  /** Embeds an image as PNG, with the argument lists of the canvas API. */
  drawImage(image: HTMLCanvasElement, ...place: number[]): void {
    const [sx, sy, sw, sh] = place.length === 8 ? place : [0, 0, image.width, image.height];
    const [x = 0, y = 0, width = image.width, height = image.height] = place.slice(-4);
    const part = document.createElement('canvas');
    [part.width, part.height] = [Math.max(1, sw ?? 1), Math.max(1, sh ?? 1)];
    part.getContext('2d')?.drawImage(image, -(sx ?? 0), -(sy ?? 0));
    this.add(
      `<image x="${digits(x)}" y="${digits(y)}" width="${digits(width)}" height="${digits(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${part.toDataURL()}"${this.transform()}/>`,
    );
  }

  private filled(): string {
    return `fill="${escapeXml(this.fillStyle)}"${this.opacity()}${this.transform()}`;
  }

  private stroked(): string {
    const dash =
      this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(digits).join(' ')}"` : '';
    const ends = `${this.lineCap === 'butt' ? '' : ` stroke-linecap="${this.lineCap}"`}${this.lineJoin === 'miter' ? '' : ` stroke-linejoin="${this.lineJoin}"`}`;
    return `fill="none" stroke="${escapeXml(this.strokeStyle)}" stroke-width="${digits(this.lineWidth)}"${dash}${ends}${this.opacity()}${this.transform()}`;
  }

  private opacity(): string {
    return this.globalAlpha < 1 ? ` opacity="${digits(this.globalAlpha)}"` : '';
  }

  private transform(): string {
    const { a, b, c, d, e, f, isIdentity } = this.matrix;
    return isIdentity ? '' : ` transform="matrix(${[a, b, c, d, e, f].map(digits).join(' ')})"`;
  }

  private add(element: string): void {
    this.flush();
    this.put(element, this.clipped);
  }

  private flush(): void {
    if (this.rectangles === null) return;
    const { look, d } = this.rectangles;
    const [attributes, clip = ''] = look.split('|');
    this.rectangles = null;
    this.put(`<path d="${d}" ${attributes}/>`, clip);
  }

  private put(element: string, clip: string): void {
    if (this.group !== clip) {
      if (this.group !== '') this.elements.push('</g>');
      if (clip !== '') this.elements.push(`<g clip-path="url(#${clip})">`);
      this.group = clip;
    }
    this.elements.push(element);
  }
}
