// The shapes of points, which tell series apart without colour.

/** The shape of a point. */
export type Shape = 'circle' | 'square' | 'triangle' | 'wedge' | 'diamond';

/** The corners of each shape for a radius of 1, relative to the middle; a circle has none. */
const CORNERS: Record<Shape, [x: number, y: number][]> = {
  circle: [],
  square: [
    [-0.88, -0.88],
    [0.88, -0.88],
    [0.88, 0.88],
    [-0.88, 0.88],
  ],
  triangle: [
    [0, -1.15],
    [1.1, 0.8],
    [-1.1, 0.8],
  ],
  wedge: [
    [0, 1.15],
    [1.1, -0.8],
    [-1.1, -0.8],
  ],
  diamond: [
    [0, -1.3],
    [1.3, 0],
    [0, 1.3],
    [-1.3, 0],
  ],
};

/** Traces the path of a point on a canvas; the caller fills or strokes it. */
export function tracePoint(
  ctx: CanvasRenderingContext2D,
  shape: Shape,
  [x, y]: [number, number],
  radius: number,
): void {
  ctx.beginPath();
  if (shape === 'circle') ctx.arc(x, y, radius, 0, 2 * Math.PI);
  else {
    CORNERS[shape].forEach(([across, down], i) => {
      const place: [number, number] = [x + radius * across, y + radius * down];
      if (i === 0) ctx.moveTo(...place);
      else ctx.lineTo(...place);
    });
    ctx.closePath();
  }
}

/** The path of a point in SVG syntax. */
export function pointPath(shape: Shape, [x, y]: [number, number], radius: number): string {
  const place = ([across, down]: [number, number]) => `${x + radius * across} ${y + radius * down}`;
  if (shape !== 'circle') return `M${CORNERS[shape].map(place).join('L')}Z`;
  const half = `a${radius} ${radius} 0 1 1`;
  return `M${place([-1, 0])}${half} ${2 * radius} 0${half} ${-2 * radius} 0`;
}
