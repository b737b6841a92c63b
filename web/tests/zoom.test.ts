import { describe, expect, it } from 'vitest';
import { Zoom } from '../src/chart/zoom.svelte';

describe('a window', () => {
  it('stays within the whole', () => {
    const zoom = new Zoom([0, 1000], 10);
    zoom.show(-500, 100);
    expect([zoom.from, zoom.to]).toEqual([0, 600]);
    zoom.show(950, 1200);
    expect([zoom.from, zoom.to]).toEqual([750, 1000]);
    zoom.show(0, 1e9);
    expect(zoom.isWhole).toBe(true);
    zoom.show(Number.NaN, 5);
    expect(zoom.isWhole).toBe(true);
  });

  it('is no shorter than the least', () => {
    const zoom = new Zoom([0, 1000], 10);
    zoom.show(500, 500);
    expect([zoom.from, zoom.to]).toEqual([495, 505]);
    zoom.by(100, 500);
    expect(zoom.span).toBe(10);
  });

  it('holds the place about which it is zoomed', () => {
    const zoom = new Zoom([0, 1000], 10);
    zoom.by(4, 300);
    expect((300 - zoom.from) / zoom.span).toBeCloseTo(0.3);
    zoom.by(0.5, 300);
    expect((300 - zoom.from) / zoom.span).toBeCloseTo(0.3);
  });

  it('keeps its length when it is moved against an end', () => {
    const zoom = new Zoom([0, 1000], 10, [100, 200]);
    zoom.move(-500);
    expect([zoom.from, zoom.to]).toEqual([0, 100]);
    zoom.move(5000);
    expect([zoom.from, zoom.to]).toEqual([900, 1000]);
    zoom.back();
    expect([zoom.from, zoom.to]).toEqual([875, 975]);
  });
});
