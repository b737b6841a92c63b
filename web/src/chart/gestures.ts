// Zooming and scrolling a chart by wheel, pointer and touch.
import type uPlot from 'uplot';
import type { Zoom } from './zoom.svelte';

/** The zoom factor for each pixel of a wheel's movement; a notch is about 100 pixels. */
const PER_PIXEL = 1.0016;

/** The maximum movement of a pointer that still counts as a click, in pixels. */
const CLICK = 4;

/** The height of a line in pixels, for wheels that count lines. */
const LINE = 16;

/** The movement of a wheel in pixels, across and down. */
function pixels(event: WheelEvent): [number, number] {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
  return event.shiftKey && event.deltaX === 0
    ? [event.deltaY * unit, 0]
    : [event.deltaX * unit, event.deltaY * unit];
}

/**
 * Adds gestures to a plot: the wheel and two fingers zoom; dragging and a horizontal wheel scroll;
 * a double click shows everything. While everything is in view, or with the shift key, dragging
 * zooms to the selection. Calls `moved` with false at a press, and with true once the pointer has
 * moved further than a click. Returns a function that removes the gestures.
 */
export function addGestures(plot: uPlot, zoom: Zoom, moved: (far: boolean) => void): () => void {
  const { over } = plot;
  const down = new Map<number, number>();
  const stop = new AbortController();
  const { signal } = stop;
  let mode: 'move' | 'select' = 'move';
  let [start, travelled] = [0, 0];

  const width = () => over.clientWidth || 1;
  const perPixel = () => zoom.span / width();
  const at = (left: number) => zoom.from + left * perPixel();
  const place = (event: MouseEvent) => event.clientX - over.getBoundingClientRect().left;

  const wheel = (event: WheelEvent) => {
    const [across, along] = pixels(event);
    // If everything is in view, a wheel that does not zoom in scrolls the page instead.
    if (zoom.isWhole && (along >= 0 || Math.abs(across) > Math.abs(along))) return;
    event.preventDefault();
    if (Math.abs(across) > Math.abs(along)) zoom.move(across * perPixel());
    else zoom.by(PER_PIXEL ** -along, at(place(event)));
  };

  const press = (event: PointerEvent) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, place(event));
    over.setPointerCapture(event.pointerId);
    mode = event.shiftKey || zoom.isWhole ? 'select' : 'move';
    [start, travelled] = [place(event), 0];
    moved(false);
  };

  /** Zooms by two fingers, and keeps the content between them. */
  const pinch = (before: number, now: number, other: number) => {
    const factor = Math.abs(now - other) / Math.max(8, Math.abs(before - other));
    const about = at((before + other) / 2);
    zoom.by(factor, about);
    zoom.move(((before - now) / 2) * perPixel());
  };

  const drag = (event: PointerEvent) => {
    const before = down.get(event.pointerId);
    if (before === undefined) return;
    const now = place(event);
    travelled = Math.max(travelled, Math.abs(now - start));
    if (travelled > CLICK) moved(true);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (other !== undefined) pinch(before, now, other);
    else if (mode === 'move') zoom.move((before - now) * perPixel());
    else if (travelled > CLICK) {
      const [left, right] = [Math.max(0, Math.min(start, now)), Math.max(start, now)];
      const select = { left, width: Math.min(right, width()) - left, top: 0 };
      plot.setSelect({ ...select, height: over.clientHeight }, false);
    }
  };

  const release = (event: PointerEvent) => {
    const now = down.get(event.pointerId);
    const alone = down.size === 1;
    down.delete(event.pointerId);
    if (now === undefined || !alone || mode !== 'select') return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (event.type === 'pointerup' && travelled > CLICK) zoom.show(at(start), at(now));
  };

  over.addEventListener('wheel', wheel, { passive: false, signal });
  over.addEventListener('pointerdown', press, { signal });
  over.addEventListener('pointermove', drag, { signal });
  over.addEventListener('pointerup', release, { signal });
  over.addEventListener('pointercancel', release, { signal });
  over.addEventListener('dblclick', () => zoom.reset(), { signal });
  over.style.touchAction = 'pan-y';
  return () => stop.abort();
}
