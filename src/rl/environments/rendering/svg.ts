import { badOption, type Options, option, resolveOptions } from "../../../core/index.ts";
import type { Drawing, DrawnShape } from "../environment.ts";

const svgTable = {
  /** Width in pixels. Default: 600. */
  width: option.number({ above: 0, default: 600 }),
};

const animationTable = {
  ...svgTable,
  /** Drawings per second. Default: 30. */
  fps: option.number({ above: 0, default: 30 }),
};

/**
 * Writes a drawing as an SVG picture.
 *
 * @example
 * ```ts
 * writeFileSync("cart-pole.svg", asSvg(environment.render()));
 * ```
 */
export function asSvg(drawing: Drawing, options: Options<typeof svgTable> = {}): string {
  const { width } = resolveOptions("asSvg", options, svgTable);
  return picture([drawing], width, [...drawing.shapes.map(shape), ...caption(drawing)]);
}

/**
 * Writes drawings as an animated SVG picture that repeats. Shapes that all of them begin with are written once, and equal
 * drawings in a row become one.
 *
 * @example
 * ```ts
 * writeFileSync("episode.svg", asSvgAnimation(frames, { fps: 50 }));
 * ```
 */
export function asSvgAnimation(
  drawings: readonly Drawing[],
  options: Options<typeof animationTable> = {},
): string {
  const { fps, width } = resolveOptions("asSvgAnimation", options, animationTable);
  if (drawings.length === 0) throw badOption("asSvgAnimation", "there are no drawings", "give at least one");
  const frames = drawings.map((drawing) => [...drawing.shapes.map(shape), ...caption(drawing)]);
  const still = commonStart(frames);
  const moving = frames.map((lines) => lines.slice(still).join(""));
  const groups: string[] = [];
  for (let from = 0; from < moving.length; ) {
    let to = from + 1;
    while (to < moving.length && moving[to] === moving[from]) to++;
    if (moving[from]) groups.push(shownBetween(moving[from] as string, from, to, drawings.length, fps));
    from = to;
  }
  return picture(drawings, width, [...(frames[0] ?? []).slice(0, still), ...groups]);
}

function commonStart(frames: readonly (readonly string[])[]): number {
  const [first = []] = frames;
  const at = first.findIndex((line, i) => frames.some((frame) => frame[i] !== line));
  return at < 0 ? first.length : at;
}

/** A group that is visible from one drawing up to another. */
function shownBetween(content: string, from: number, to: number, count: number, fps: number): string {
  if (from === 0 && to === count) return content;
  const moments: [at: number, value: string][] = [
    ...(from > 0 ? [[0, "hidden"] as [number, string]] : []),
    [from / count, "visible"],
    ...(to < count ? [[to / count, "hidden"] as [number, string]] : []),
  ];
  const values = moments.map(([, value]) => value).join(";");
  const times = moments.map(([at]) => round(at, 6)).join(";");
  return (
    `<g visibility="${from === 0 ? "visible" : "hidden"}"><animate attributeName="visibility" values="${values}" ` +
    `keyTimes="${times}" dur="${round(count / fps, 4)}s" calcMode="discrete" repeatCount="indefinite"/>${content}</g>`
  );
}

/** Height of a caption, as a share of the width. */
const CAPTION = 0.06;

function picture(drawings: readonly Drawing[], pixels: number, lines: readonly string[]): string {
  const width = Math.max(...drawings.map((drawing) => drawing.width));
  const height = Math.max(
    ...drawings.map((drawing) => drawing.height + (drawing.caption === undefined ? 0 : CAPTION * width)),
  );
  const box = `viewBox="0 0 ${round(width)} ${round(height)}"`;
  const size = `width="${round(pixels)}" height="${round((pixels * height) / width)}"`;
  return [`<svg xmlns="http://www.w3.org/2000/svg" ${box} ${size}>`, ...lines, "</svg>", ""].join("\n");
}

function shape(one: DrawnShape): string {
  const color = escaped(one.color);
  switch (one.kind) {
    case "line":
      return (
        `<line x1="${round(one.from[0])}" y1="${round(one.from[1])}" x2="${round(one.to[0])}" ` +
        `y2="${round(one.to[1])}" stroke="${color}"${stroke(one.width)}/>`
      );
    case "rectangle":
      return (
        `<rect x="${round(one.at[0])}" y="${round(one.at[1])}" width="${round(one.size[0])}" ` +
        `height="${round(one.size[1])}" fill="${color}"/>`
      );
    case "circle":
      return `<circle cx="${round(one.at[0])}" cy="${round(one.at[1])}" r="${round(one.radius)}" fill="${color}"/>`;
    case "path": {
      const points = one.points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
      return one.filled
        ? `<polygon points="${points}" fill="${color}"/>`
        : `<polyline points="${points}" fill="none" stroke="${color}"${stroke(undefined)}/>`;
    }
  }
}

/** A line without a width is one pixel thick, whatever the units are. */
const stroke = (width: number | undefined): string =>
  width === undefined
    ? ' stroke-width="1" vector-effect="non-scaling-stroke"'
    : ` stroke-width="${round(width)}"`;

const caption = ({ caption, height, width }: Drawing): readonly string[] =>
  caption === undefined
    ? []
    : [
        `<text x="${round(width / 2)}" y="${round(height + 0.7 * CAPTION * width)}" text-anchor="middle" ` +
          `font-family="sans-serif" font-size="${round(0.7 * CAPTION * width)}">${escaped(caption)}</text>`,
      ];

/** Rounds to digits that can be seen. */
const round = (x: number, digits = 4): string => String(Number(x.toFixed(digits)) + 0);

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
