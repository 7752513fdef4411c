// The drawn side of the charts tab: a board holds the plots, asks for series of those near the viewport, appends live
// values, and keeps zoom and cursor of plots over the same axis together.
//
//   a plot comes near the viewport ──> ask ──> one request per run for all of them ──> draw
//   live values ──> append ──> draw the plots in sight, at the next frame
//   zoom, pan ──> scale of the plots in sight, each frame ──> when it rests: ask for the visible part, finer
import { effect } from "@preact/signals";
import uPlot from "uplot";
import type { LiveEvents, Series } from "../api.ts";
import { asApiError, get, liveOpened, notify, onLive, reconnects } from "./client.ts";
import { formatDuration, formatNumber, formatTick } from "./format.ts";
import { append, type Curve, curveOf, emptyCurve, extremes, refine, smooth, thin } from "./series.ts";
import { setView, view } from "./view.ts";

/** A curve of a plot: a metric of a run. `colour` counts through the palette of style.css. */
export interface Line {
  readonly run: string;
  readonly key: string;
  readonly label: string;
  readonly colour: number;
  /** Where the run began, in milliseconds since 1970: time is counted from there. */
  readonly startedAt: number;
  /** True where hiding the run hides the curve. */
  readonly hides: boolean;
}

type Range = readonly [from: number, to: number];

/** Points that a curve is asked with. Below this many values each one is a point. */
const points = 600;
/** Keys in one request: more would make a URL that servers refuse. */
const keysTogether = 50;

const boards: { step?: Board; time?: Board } = {};
/** The board of an axis: the plots over it, wherever they stand on the page. */
export function boardOf(axis: "step" | "time"): Board {
  boards[axis] ??= new Board(axis);
  return boards[axis];
}

class Board {
  readonly axis: "step" | "time";
  readonly #plots = new Map<Element, Plot>();
  readonly #waiting = new Set<Plot>();
  readonly #dirty = new Set<Plot>();
  #asking: ReturnType<typeof setTimeout> | undefined;
  #resting: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;
  readonly #sight = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) this.#plots.get(target)?.see(isIntersecting);
    },
    { rootMargin: "250px" },
  );
  readonly #sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) this.#plots.get(target)?.resize();
  });

  constructor(axis: "step" | "time") {
    this.axis = axis;
    let drawn = "";
    effect(() => {
      const { log, smoothing, hidden, zoom, zoomOn, run, theme } = view.value;
      const wanted = JSON.stringify([log, smoothing, hidden, zoom, zoomOn, run, theme]);
      if (wanted === drawn) return;
      drawn = wanted;
      this.#adopt();
      this.rest();
    });
    onLive("metrics", ({ run, series }) => {
      for (const plot of this.#plots.values()) plot.append(run, series);
    });
    // A run that goes on from a checkpoint logs some steps again: what it had after them is gone.
    const resumes = new Map<string, number>();
    onLive("runs", ({ changed }) => {
      for (const { id, resumes: times } of changed) {
        if (times > (resumes.get(id) ?? times)) for (const plot of this.#plots.values()) plot.forget(id);
        resumes.set(id, times);
      }
    });
    // What came while the connection was lost is asked for again.
    reconnects.subscribe((times) => {
      if (times > 0) for (const plot of this.#plots.values()) plot.forget();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#adopt());
  }

  readonly #colours = new Map<string, string>();
  readonly #probe = document.body.appendChild(document.createElement("i"));

  /** A colour of style.css as a canvas takes it. */
  colour(name: string): string {
    const known = this.#colours.get(name);
    if (known) return known;
    this.#probe.style.color = `var(${name})`;
    const found = getComputedStyle(this.#probe).color;
    this.#colours.set(name, found);
    return found;
  }

  #adopt(): void {
    this.#colours.clear();
    for (const plot of this.#plots.values()) plot.adopt();
  }

  /** Draws curves in an element from the time that it comes near the viewport. Returns a function that ends this. */
  add(element: HTMLElement, plotted: Plotted): () => void {
    const plot = new Plot(this, element, plotted);
    this.#plots.set(element, plot);
    this.#sight.observe(element);
    this.#sizes.observe(element);
    return () => {
      this.#sight.unobserve(element);
      this.#sizes.unobserve(element);
      this.#plots.delete(element);
      this.#waiting.delete(plot);
      this.#dirty.delete(plot);
      plot.close();
    };
  }

  /** Draws a plot at the next frame. */
  draw(plot: Plot): void {
    this.#dirty.add(plot);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const due = [...this.#dirty];
      this.#dirty.clear();
      for (const one of due) one.draw();
    });
  }

  /** Asks for the series of a plot, together with all others of the moment. */
  ask(plot: Plot): void {
    this.#waiting.add(plot);
    this.#asking ??= setTimeout(() => {
      this.#asking = undefined;
      // One request for each run and range; what is seen now comes before what is only near.
      const asked = [...this.#waiting];
      this.#waiting.clear();
      const requests = new Map<string, Request>();
      for (const plot of asked)
        for (const [line, range] of plot.wanted()) {
          const seen = plot.isSeen();
          const name = JSON.stringify([line.run, range, seen]);
          const request = requests.get(name) ?? { line, range, seen, plots: new Map() };
          requests.set(name, request);
          request.plots.set(line.key, [...(request.plots.get(line.key) ?? []), plot]);
          plot.asked(line, range);
        }
      const [seen, near] = [true, false].map((which) =>
        [...requests.values()].filter((one) => one.seen === which),
      );
      const fetch = (those: readonly Request[] = []) => Promise.all(those.map((one) => this.#fetch(one)));
      void fetch(seen).then(() => fetch(near));
    }, 5);
  }

  async #fetch({ line: { run, startedAt }, range, plots }: Request): Promise<void> {
    const origin = this.axis === "time" ? startedAt : 0;
    const keys = [...plots.keys()];
    for (let i = 0; i < keys.length; i += keysTogether) {
      const query = new URLSearchParams({ points: String(points), axis: this.axis });
      if (range) {
        query.set("from", String(Math.floor(range[0] + origin)));
        query.set("to", String(Math.ceil(range[1] + origin)));
      }
      const together = keys.slice(i, i + keysTogether);
      for (const key of together) query.append("key", key);
      try {
        await liveOpened;
        const found = await get<readonly Series[]>(`/api/runs/${encodeURIComponent(run)}/series?${query}`);
        const byKey = new Map(found.map((series) => [series.key, series]));
        for (const key of together)
          for (const plot of plots.get(key) ?? []) plot.take(run, key, byKey.get(key), range, origin);
      } catch (error) {
        // Those that come near again are asked for again.
        for (const key of together) for (const plot of plots.get(key) ?? []) plot.fail(run, key);
        notify(asApiError(error));
      }
    }
  }

  /** True while the visible part moves: what is under the cursor is said when it rests. */
  isMoving = false;
  readonly #moving = new Set<Plot>();

  /** Shows a range in all plots over an axis, in `first` at once; the URL follows when it rests. */
  move(group: string, range: Range, first?: Plot): void {
    this.isMoving = true;
    for (const plot of this.#plots.values()) {
      if (plot.group !== group) continue;
      plot.range = range;
      if (plot !== first && plot.inSight && plot.isSeen()) this.#moving.add(plot);
    }
    first?.show();
    this.#moveFrame ||= requestAnimationFrame(() => this.#moveSome());
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.isMoving = false;
      setView({ zoom: range, zoomOn: group }, false);
    }, 150);
  }
  #moveFrame = 0;

  /** Moves as many plots as a frame has time for. Those that wait longest come first. */
  #moveSome(): void {
    const end = performance.now() + 12;
    for (const plot of this.#moving) {
      if (performance.now() > end) break;
      this.#moving.delete(plot);
      plot.show();
    }
    this.#moveFrame = this.#moving.size === 0 ? 0 : requestAnimationFrame(() => this.#moveSome());
  }

  /** Moves the visible part by a share of it, and makes it longer by a factor, as keys and buttons do. */
  shift(share: number, factor = 1): void {
    const sample = [...this.#plots.values()].find((plot) => plot.range) ?? [...this.#plots.values()][0];
    const range = sample?.visibleRange();
    if (!sample || !range) return;
    const [from, to] = range;
    const [middle, half] = [(from + to) / 2 + share * (to - from), ((to - from) / 2) * factor];
    this.move(sample.group, [middle - half, middle + half]);
  }

  /** Asks for finer points once the view has stood still. */
  rest(): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      for (const plot of this.#plots.values()) if (plot.inSight) this.ask(plot);
    }, 120);
  }
}

/** Series that are asked for together. */
interface Request {
  readonly line: Line;
  readonly range: Range | undefined;
  /** True for plots in the viewport, false for those near it. */
  readonly seen: boolean;
  /** By key, the plots that draw it. */
  readonly plots: Map<string, readonly Plot[]>;
}

/** What a plot draws. */
export interface Plotted {
  readonly title: string;
  /** The counter of the steps. */
  readonly axis: string;
  readonly lines: readonly Line[];
  /** Told whenever what is under the cursor changed: values where it is, or the newest ones. */
  readonly onReadout: (readouts: readonly Readout[]) => void;
  readonly onNotFinite: (count: number) => void;
}

/** The value of a curve where the cursor is. */
export interface Readout {
  readonly line: Line;
  readonly at: string;
  readonly value: string;
}

/** The points of a curve. */
interface Held {
  whole: Curve;
  /** Finer points of the part that is zoomed to. */
  part?: Curve;
  partRange?: Range | undefined;
  /** True while each value is a point. */
  exact: boolean;
  notFinite: number;
}

class Plot {
  readonly group: string;
  range: Range | undefined;
  inSight = false;
  readonly #board: Board;
  readonly #element: HTMLElement;
  readonly #plotted: Plotted;
  readonly #lines: readonly Line[];
  /** By line; `asked` until the answer is there, with the live values that came meanwhile. */
  readonly #held = new Map<Line, Held | { readonly asked: [x: number, value: number | null][] }>();
  #u: uPlot | undefined;
  #log = false;

  constructor(board: Board, element: HTMLElement, plotted: Plotted) {
    this.#board = board;
    this.#element = element;
    this.#plotted = plotted;
    this.#lines = plotted.lines;
    this.group = board.axis === "time" ? "time" : plotted.axis;
    this.range = this.#wantedRange();
  }

  #wantedRange(): Range | undefined {
    const { zoom, zoomOn } = view.peek();
    return zoomOn === this.group ? zoom : undefined;
  }

  see(inSight: boolean): void {
    this.inSight = inSight;
    if (!inSight) return;
    this.#board.ask(this);
    this.#board.draw(this);
  }

  isSeen(): boolean {
    const { top, bottom } = this.#element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  /** Takes over the view: zoom, scale, smoothing, hidden runs, colours. */
  adopt(): void {
    this.range = this.#wantedRange();
    if (this.#log !== view.peek().log) this.#destroy();
    if (this.inSight) this.#board.draw(this);
  }

  /** Asks again for the curves of a run, or of all. */
  forget(run?: string): void {
    for (const line of this.#lines) if (run === undefined || line.run === run) this.#held.delete(line);
    if (this.inSight) this.#board.ask(this);
  }

  /** Lines that lack points, with the range that they are to be asked for: all of it first. */
  wanted(): readonly (readonly [Line, Range | undefined])[] {
    return this.#lines.flatMap((line): [Line, Range | undefined][] => {
      const held = this.#held.get(line);
      if (held === undefined) return [[line, undefined]];
      return "asked" in held || !this.range || held.exact || held.partRange === this.range
        ? []
        : [[line, this.range]];
    });
  }

  asked(line: Line, range: Range | undefined): void {
    const held = this.#held.get(line);
    if (held && !("asked" in held)) held.partRange = range;
    else this.#held.set(line, { asked: [] });
  }

  fail(run: string, key: string): void {
    const line = this.#line(run, key);
    if (line && "asked" in (this.#held.get(line) ?? {})) this.#held.delete(line);
  }

  /** Takes an answer; without a series the run has no such values. */
  take(run: string, key: string, series: Series | undefined, range: Range | undefined, origin: number): void {
    const line = this.#line(run, key);
    const held = line && this.#held.get(line);
    if (!line || !held) return;
    const curve = series ? curveOf(series, origin) : emptyCurve();
    if ("asked" in held) {
      const exact = series === undefined || series.values <= series.x.length;
      this.#held.set(line, { whole: curve, exact, notFinite: series?.notFinite ?? 0 });
      for (const [x, value] of held.asked) this.#append(line, x, value);
      if (this.inSight) this.#board.ask(this);
    } else if (held.partRange === range) held.part = curve;
    if (this.inSight) this.#board.draw(this);
  }

  #line = (run: string, key: string): Line | undefined =>
    this.#lines.find((line) => line.run === run && line.key === key);

  append(run: string, series: LiveEvents["metrics"]["series"]): void {
    for (const line of this.#lines) {
      const came = line.run === run ? series[line.key] : undefined;
      if (!came) continue;
      const origin = this.#board.axis === "time" ? line.startedAt : 0;
      const x = this.#board.axis === "time" ? came.time : came.step;
      came.value.forEach((value, i) => this.#append(line, (x[i] ?? 0) - origin, value));
      if (this.inSight) this.#board.draw(this);
    }
  }

  #append(line: Line, x: number, value: number | null): void {
    const held = this.#held.get(line);
    // What was never asked for comes with the first answer.
    if (!held) return;
    if ("asked" in held) {
      held.asked.push([x, value]);
      return;
    }
    if (!append(held.whole, x, value)) return;
    if (value === null) held.notFinite += 1;
    const thinned = thin(held.whole, Math.max(points, this.#element.clientWidth));
    if (thinned === held.whole) return;
    held.whole = thinned;
    held.exact = false;
  }

  resize(): void {
    const [width, height] = [this.#element.clientWidth, this.#element.clientHeight];
    if (this.#u && width > 0 && (width !== this.#u.width || height !== this.#u.height))
      this.#u.setSize({ width, height });
  }

  /** Shows its range at once, without new data: a frame of a pan. */
  show(): void {
    const [u, range] = [this.#u, this.range];
    if (u && range) u.batch(() => u.setScale("x", { min: range[0], max: range[1] }));
  }

  visibleRange(): Range | undefined {
    const { min, max } = this.#u?.scales.x ?? {};
    return this.range ?? (min == null || max == null ? undefined : [min, max]);
  }

  draw(): void {
    if (!this.inSight || this.#element.clientWidth === 0) return;
    const { smoothing, log } = view.peek();
    const usable = (values: readonly (number | null)[]) =>
      log ? values.map((value) => (value !== null && value > 0 ? value : null)) : values;
    const said: string[] = [];
    let last: number | undefined;
    let [drawn, notFinite] = [0, 0];
    const u = this.#plot();
    const tables = this.#lines.map((line, i) => {
      const held = this.#held.get(line);
      const curve = held && !("asked" in held) ? refine(held.whole, this.range && held.part) : emptyCurve();
      const show = !isHidden(line);
      for (const at of this.#columns(i)) Object.assign(u.series[at] ?? {}, { show });
      if (show && held && !("asked" in held)) {
        drawn += curve.x.length;
        notFinite += held.notFinite;
        const found = extremes(curve);
        last ??= found?.last;
        if (found)
          said.push(
            `${line.label} last ${formatNumber(found.last)}, minimum ${formatNumber(found.min)}, maximum ${formatNumber(found.max)}`,
          );
      }
      const smoothed = smoothing > 0 ? smooth(curve.mean, smoothing) : curve.mean;
      return [curve.x, ...[curve.max, curve.min, curve.mean, smoothed].map(usable)] as uPlot.AlignedData;
    });
    const [x = [], ...values] = (tables.length === 1 ? tables[0] : undefined) ?? uPlot.join(tables);
    const ordered: (typeof values)[number][] = [];
    for (const [i] of this.#lines.entries())
      this.#columns(i).forEach((at, j) => (ordered[at - 1] = values[4 * i + j] ?? []));
    u.setData([x, ...ordered] as uPlot.AlignedData);
    if (notFinite > 0) said.push(`${notFinite} not finite`);
    this.#element.setAttribute("aria-label", `${this.#plotted.title}: ${said.join("; ") || "no values yet"}`);
    this.#element.dataset.points = String(drawn);
    this.#element.dataset.last = last === undefined ? "" : String(last);
    this.#plotted.onNotFinite(notFinite);
    this.#readOut(u);
  }

  /** Where the parts of a line stand: largest, smallest, mean, smoothed. Bands of all lines come before all lines. */
  #columns(i: number): readonly [max: number, min: number, mean: number, line: number] {
    const below = 2 * this.#lines.length;
    return [2 * i + 1, 2 * i + 2, below + 2 * i + 1, below + 2 * i + 2];
  }

  /** Says the values under the cursor, or the newest ones without a cursor. */
  #readOut(u: uPlot): void {
    if (this.#board.isMoving) return;
    const under = u.cursor.left !== undefined && u.cursor.left >= 0;
    const found = this.#lines.flatMap((line, i): Readout[] => {
      const column = this.#columns(i)[3];
      const values = u.data[column];
      if (isHidden(line) || !values) return [];
      let at = under ? u.cursor.idxs?.[column] : values.length - 1;
      while (!under && at != null && at > 0 && values[at] == null) at -= 1;
      const [x, value] = at == null ? [] : [u.data[0][at], values[at]];
      if (x === undefined || value === undefined) return [];
      const step =
        this.#board.axis === "time" ? formatDuration(x) : `${this.#plotted.axis} ${formatNumber(x)}`;
      return [{ line, at: step, value: formatNumber(value) }];
    });
    this.#plotted.onReadout(found);
  }

  close(): void {
    // Answers that are under way draw nothing any more.
    this.inSight = false;
    this.#destroy();
  }

  #destroy(): void {
    this.#u?.destroy();
    this.#u = undefined;
  }

  #plot(): uPlot {
    if (this.#u) return this.#u;
    const colour = (name: string) => () => this.#board.colour(name);
    const linear = uPlot.paths.linear?.();
    this.#log = view.peek().log;
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--grid"), width: 1 },
      ticks: { show: false },
    };
    const font = "11px system-ui, sans-serif";
    const none = { points: { show: false } };
    const own = (line: Line) => colour(`--curve-${line.colour % 8}`);
    const bands = this.#lines.flatMap((line): uPlot.Series[] => [
      { ...none, paths: band, fill: own(line), alpha: 0.18 },
      { ...none, paths: () => null },
    ]);
    const lines = this.#lines.flatMap((line): uPlot.Series[] => [
      {
        ...none,
        width: 1,
        stroke: own(line),
        alpha: 0.35,
        paths: (u, i, from, to) => (view.peek().smoothing > 0 ? (linear?.(u, i, from, to) ?? null) : null),
      },
      {
        stroke: own(line),
        // The run in front stands out among several.
        width: line.hides && this.#lines.length > 1 && line.run === view.peek().run ? 2.5 : 1.5,
        points: { show: (_, __, from, to) => to - from < 40, size: 5, stroke: own(line), fill: own(line) },
        ...(line.colour < 8 ? {} : { dash: [6, 3] }),
      },
    ]);
    const u = new uPlot(
      {
        width: this.#element.clientWidth,
        height: this.#element.clientHeight,
        padding: [8, 20, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: false, range: (_, min, max) => (this.range ? [...this.range] : [min, max]) },
          y: this.#log ? { distr: 3 } : {},
        },
        axes: [
          { ...axis, font, size: 26, gap: 2, ...(this.#board.axis === "time" ? timeAxis : stepAxis) },
          {
            ...axis,
            font,
            size: 56,
            gap: 4,
            values: (_, splits) => splits.map((y) => (y === null ? "" : formatTick(y))),
          },
        ],
        series: [{}, ...bands, ...lines],
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          points: { size: 7 },
          sync: {
            key: `espalier-${this.group}`,
            setSeries: false,
            filters: {
              pub: (type) => type.startsWith("mousemove") || type === "mouseleave",
              sub: () => this.inSight,
            },
          },
          bind: {
            mousedown: (self, _, handler) => (event) => {
              this.#downAt = event.clientX;
              return event.shiftKey ? this.#pan(self, event) : handler(event);
            },
            dblclick: () => () => {
              setView({ zoom: undefined }, true);
              return null;
            },
          },
        },
        hooks: {
          setCursor: [(self) => this.#readOut(self)],
          setSelect: [(self) => this.#select(self)],
          draw: [(self) => this.#markNotFinite(self, colour("--bad")())],
        },
      },
      undefined,
      this.#element,
    );
    // Not bound above: uPlot tells of clicks on its legend alone.
    u.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - this.#downAt) < 3) this.#pick(u);
    });
    this.#u = u;
    return u;
  }

  #downAt = 0;

  #select(u: uPlot): void {
    const { left, width } = u.select;
    if (width < 4) return;
    const zoom = [Math.round(u.posToVal(left, "x")), Math.round(u.posToVal(left + width, "x"))] as const;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    setView({ zoom, zoomOn: this.group }, true);
  }

  #pan(u: uPlot, down: MouseEvent): null {
    const range = this.visibleRange();
    if (!range) return null;
    const perPixel = (range[1] - range[0]) / u.over.clientWidth;
    const move = (event: MouseEvent) => {
      const by = (down.clientX - event.clientX) * perPixel;
      this.#board.move(this.group, [range[0] + by, range[1] + by], this);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", () => removeEventListener("mousemove", move), { once: true });
    return null;
  }

  /** Brings the run to the front whose curve was clicked. */
  #pick(u: uPlot): void {
    const { left = -1, top = -1, idxs } = u.cursor;
    let [nearest, distance] = ["", 30];
    for (const [i, line] of this.#lines.entries()) {
      const column = this.#columns(i)[3];
      const value = u.data[column]?.[idxs?.[column] ?? -1];
      if (left < 0 || value == null || isHidden(line)) continue;
      const away = Math.abs(u.valToPos(value, "y") - top);
      if (away < distance) [nearest, distance] = [line.run, away];
    }
    const { run, runs } = view.peek();
    if (nearest !== "" && nearest !== run)
      setView({ run: nearest, runs: run === undefined || runs.includes(run) ? runs : [run, ...runs] });
  }

  /** Crosses at the lower edge where no value is finite. */
  #markNotFinite(u: uPlot, colour: string): void {
    const { ctx, bbox, data } = u;
    const [size, y] = [3 * uPlot.pxRatio, bbox.top + bbox.height - 5 * uPlot.pxRatio];
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    ctx.beginPath();
    for (const i of this.#lines.keys()) {
      const column = this.#columns(i)[2];
      const series = u.series[column];
      if (!series?.show || this.#log) continue;
      const [from = 0, to = -1] = series.idxs ?? [];
      for (let j = from; j <= to; j += 1) {
        if (data[column]?.[j] !== null) continue;
        const x = u.valToPos(data[0][j] ?? 0, "x", true);
        ctx.moveTo(x - size, y - size);
        ctx.lineTo(x + size, y + size);
        ctx.moveTo(x - size, y + size);
        ctx.lineTo(x + size, y - size);
      }
    }
    ctx.stroke();
    ctx.restore();
  }
}

const isHidden = (line: Line): boolean => line.hides && view.peek().hidden.includes(line.run);

/** Fills between a series of largest values and the smallest ones, which follow it. */
const band: uPlot.Series.PathBuilder = (u, i, from, to) => {
  const [x, max, min] = [u.data[0], u.data[i], u.data[i + 1]];
  const fill = new Path2D();
  let open: [x: number, y: number][] = [];
  const close = () => {
    for (const at of open.reverse()) fill.lineTo(...at);
    if (open.length > 0) fill.closePath();
    open = [];
  };
  for (let j = from; j <= to; j += 1) {
    const [high, low] = [max?.[j], min?.[j]];
    if (high === undefined || low === undefined) continue;
    if (high === null || low === null) {
      close();
      continue;
    }
    const at = u.valToPos(x[j] ?? 0, "x", true);
    if (open.length === 0) fill.moveTo(at, u.valToPos(high, "y", true));
    else fill.lineTo(at, u.valToPos(high, "y", true));
    open.push([at, u.valToPos(low, "y", true)]);
  }
  close();
  return { stroke: null, fill };
};

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
const timeAxis: uPlot.Axis = {
  incrs: [
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
    ...[1, 2, 5, 10, 20, 30].map((n) => n * second),
    ...[1, 2, 5, 10, 20, 30].map((n) => n * minute),
    ...[1, 2, 4, 6, 12].map((n) => n * hour),
    ...[1, 2, 5, 10, 20, 50, 100].map((n) => n * day),
  ],
  space: 70,
  values: (_, splits) => splits.map((x) => formatDuration(x)),
};
const stepAxis: uPlot.Axis = { space: 60, values: (_, splits) => splits.map((x) => formatTick(x)) };
