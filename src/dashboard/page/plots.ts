// The drawn side of the charts tab: a board holds the plots, asks for series of those near the viewport, appends live
// values, and keeps zoom and cursor of plots over the same axis together.
//
//   a plot comes near the viewport ──> ask ──> one request per run for all of them ──> draw
//   live values ──> append ──> draw the plots in sight, at the next frame
//   zoom, pan ──> draw, as many as a frame has time for ──> when it rests: ask for the visible part, finer
//
// uPlot has the axes, the cursor and what is dragged; paint.ts paints the curves over its scales.
import { effect } from "@preact/signals";
import uPlot from "uplot";
import type { LiveEvents, Series } from "../api.ts";
import { asApiError, get, liveOpened, notify, onLive, reconnects } from "./client.ts";
import { formatDuration, formatNumber, formatTick } from "./format.ts";
import { extent, type Line, type Painted, paint, type Range, timeAxis } from "./paint.ts";
import {
  append,
  type Curve,
  curveOf,
  emptyCurve,
  extremes,
  nearest,
  refine,
  smooth,
  thin,
} from "./series.ts";
import { setView, view } from "./view.ts";

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
  /** True while the visible part moves: what is under the cursor is said when it rests. */
  isMoving = false;
  readonly #plots = new Map<Element, Plot>();
  readonly #waiting = new Set<Plot>();
  readonly #due = new Set<Plot>();
  readonly #colours = new Map<string, string>();
  readonly #probe = document.body.appendChild(document.createElement("i"));
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
    const adopt = () => {
      this.#colours.clear();
      for (const plot of this.#plots.values()) plot.adopt();
    };
    let drawn = "";
    effect(() => {
      const { log, smoothing, hidden, zoom, zoomOn, run, theme } = view.value;
      const wanted = JSON.stringify([log, smoothing, hidden, zoom, zoomOn, run, theme]);
      if (wanted === drawn) return;
      drawn = wanted;
      adopt();
      // Finer points are asked for once the view has stood still.
      clearTimeout(this.#resting);
      this.#resting = setTimeout(() => {
        for (const plot of this.#plots.values()) if (plot.inSight) this.ask(plot);
      }, 120);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", adopt);
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
      this.#due.delete(plot);
      plot.close();
    };
  }

  /** A colour of style.css as a canvas takes it. */
  colour(name: string): string {
    const known = this.#colours.get(name);
    if (known) return known;
    this.#probe.style.color = `var(${name})`;
    const found = getComputedStyle(this.#probe).color;
    this.#colours.set(name, found);
    return found;
  }

  /** Draws a plot soon. Frames stay short: those that wait longest come first, the others in the next ones. */
  draw(plot: Plot): void {
    this.#due.add(plot);
    const some = () => {
      const end = performance.now() + 12;
      for (const one of this.#due) {
        if (performance.now() > end) break;
        this.#due.delete(one);
        one.draw();
      }
      this.#frame = this.#due.size === 0 ? 0 : requestAnimationFrame(some);
    };
    this.#frame ||= requestAnimationFrame(some);
  }

  /** Asks for the series of a plot, together with all others of the moment. */
  ask(plot: Plot): void {
    this.#waiting.add(plot);
    this.#asking ??= setTimeout(() => {
      this.#asking = undefined;
      // One request for each run and range; what is seen now comes before what is only near.
      const requests = new Map<string, Request>();
      for (const one of this.#waiting)
        for (const [line, range] of one.wanted()) {
          const seen = one.isSeen();
          const name = JSON.stringify([line.run, range, seen]);
          const request = requests.get(name) ?? { line, range, seen, plots: new Map() };
          requests.set(name, request);
          request.plots.set(line.key, [...(request.plots.get(line.key) ?? []), one]);
          one.asked(line, range);
        }
      this.#waiting.clear();
      const fetch = (seen: boolean) =>
        Promise.all([...requests.values()].filter((one) => one.seen === seen).map((one) => this.#fetch(one)));
      void fetch(true).then(() => fetch(false));
    }, 5);
  }

  async #fetch({ line: { run, startedAt }, range, plots }: Request): Promise<void> {
    const origin = this.axis === "time" ? startedAt : 0;
    const keys = [...plots.keys()];
    for (let i = 0; i < keys.length; i += keysTogether) {
      const together = keys.slice(i, i + keysTogether);
      const query = new URLSearchParams({ points: String(points), axis: this.axis });
      if (range) {
        query.set("from", String(Math.floor(range[0] + origin)));
        query.set("to", String(Math.ceil(range[1] + origin)));
      }
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

  /** Shows a range in all plots over an axis, in `first` at once; the URL follows when it rests. */
  move(group: string, range: Range, first?: Plot): void {
    this.isMoving = true;
    for (const plot of this.#plots.values()) {
      if (plot.group !== group) continue;
      plot.range = range;
      if (plot !== first && plot.inSight && plot.isSeen()) this.draw(plot);
    }
    first?.draw();
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.isMoving = false;
      setView({ zoom: range, zoomOn: group }, false);
    }, 150);
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
  /** By line; `asked` until the answer is there, with the live values that came meanwhile. */
  readonly #held = new Map<Line, Held | { readonly asked: [x: number, value: number | null][] }>();
  /** Undefined when the points, the smoothing or what is hidden changed. */
  #painted: readonly Painted[] | undefined;
  #u: uPlot | undefined;
  #log = false;

  constructor(board: Board, element: HTMLElement, plotted: Plotted) {
    this.#board = board;
    this.#element = element;
    this.#plotted = plotted;
    this.group = board.axis === "time" ? "time" : plotted.axis;
    this.adopt();
  }

  see(inSight: boolean): void {
    this.inSight = inSight;
    if (inSight) this.#board.ask(this);
    this.#changed();
  }

  isSeen(): boolean {
    const { top, bottom } = this.#element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  /** Takes over the view: zoom, scale, smoothing, hidden runs, colours. */
  adopt(): void {
    const { zoom, zoomOn, log } = view.peek();
    this.range = zoomOn === this.group ? zoom : undefined;
    if (this.#log !== log) this.#destroy();
    this.#log = log;
    this.#changed();
  }

  #changed(): void {
    this.#painted = undefined;
    if (this.inSight) this.#board.draw(this);
  }

  /** Asks again for the curves of a run, or of all. */
  forget(run?: string): void {
    for (const line of this.#plotted.lines)
      if (run === undefined || line.run === run) this.#held.delete(line);
    if (this.inSight) this.#board.ask(this);
  }

  /** Lines that lack points, with the range that they are to be asked for: all of it first. */
  wanted(): readonly (readonly [Line, Range | undefined])[] {
    return this.#plotted.lines.flatMap((line): [Line, Range | undefined][] => {
      const held = this.#held.get(line);
      if (held === undefined) return [[line, undefined]];
      const enough = "asked" in held || !this.range || held.exact || held.partRange === this.range;
      return enough ? [] : [[line, this.range]];
    });
  }

  asked(line: Line, range: Range | undefined): void {
    const held = this.#held.get(line);
    if (held && !("asked" in held)) held.partRange = range;
    else this.#held.set(line, { asked: [] });
  }

  #find = (run: string, key: string): Line | undefined =>
    this.#plotted.lines.find((line) => line.run === run && line.key === key);

  fail(run: string, key: string): void {
    const line = this.#find(run, key);
    if (line && "asked" in (this.#held.get(line) ?? {})) this.#held.delete(line);
  }

  /** Takes an answer; without a series the run has no such values. */
  take(run: string, key: string, series: Series | undefined, range: Range | undefined, origin: number): void {
    const line = this.#find(run, key);
    const held = line && this.#held.get(line);
    if (!line || !held) return;
    const curve = series ? curveOf(series, origin) : emptyCurve();
    if ("asked" in held) {
      const exact = series === undefined || series.values <= series.x.length;
      this.#held.set(line, { whole: curve, exact, notFinite: series?.notFinite ?? 0 });
      for (const [x, value] of held.asked) this.#append(line, x, value);
      if (this.inSight) this.#board.ask(this);
    } else if (held.partRange === range) held.part = curve;
    this.#changed();
  }

  append(run: string, series: LiveEvents["metrics"]["series"]): void {
    for (const line of this.#plotted.lines) {
      const came = line.run === run ? series[line.key] : undefined;
      if (!came) continue;
      const [x, origin] = this.#board.axis === "time" ? [came.time, line.startedAt] : [came.step, 0];
      came.value.forEach((value, i) => this.#append(line, (x[i] ?? 0) - origin, value));
      this.#changed();
    }
  }

  #append(line: Line, x: number, value: number | null): void {
    const held = this.#held.get(line);
    // What was never asked for comes with the first answer.
    if (!held) return;
    if ("asked" in held) {
      held.asked.push([x, value]);
    } else if (append(held.whole, x, value)) {
      if (value === null) held.notFinite += 1;
      const thinned = thin(held.whole, Math.max(points, this.#element.clientWidth));
      held.exact &&= thinned === held.whole;
      held.whole = thinned;
    }
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#element;
    if (this.#u && width > 0 && (width !== this.#u.width || height !== this.#u.height))
      this.#u.setSize({ width, height });
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

  draw(): void {
    if (!this.inSight || this.#element.clientWidth === 0) return;
    this.#painted ??= this.#prepare();
    const range = this.visibleRange();
    if (!range) return;
    this.#u ??= this.#plot();
    // It asks for the vertical scale and paints anew.
    const [u, [min, max]] = [this.#u, range];
    u.batch(() => u.setScale("x", { min, max }));
    this.#readOut(u);
  }

  /** The part of the axis that is seen: the zoomed one, or all that has points. */
  visibleRange(): Range | undefined {
    if (this.range) return this.range;
    const ends = (this.#painted ?? []).flatMap(({ curve: { x } }) => [x[0] ?? [], x.at(-1) ?? []].flat());
    const [from, to] = [Math.min(...ends), Math.max(...ends)];
    if (ends.length === 0) return undefined;
    return from < to ? [from, to] : [from - 0.5, to + 0.5];
  }

  /** Joins what there is of each curve, and says it to those who do not see it. */
  #prepare(): readonly Painted[] {
    const { smoothing, hidden } = view.peek();
    let [drawn, notFinite] = [0, 0];
    const said: string[] = [];
    const painted = this.#plotted.lines.flatMap((line): Painted[] => {
      const held = this.#held.get(line);
      if (!held || "asked" in held || (line.hides && hidden.includes(line.run))) return [];
      const curve = refine(held.whole, this.range && held.part);
      drawn += curve.x.length;
      notFinite += held.notFinite;
      const found = extremes(curve);
      const { last, min, max } = found ?? {};
      if (found)
        said.push(
          `${line.label} last ${formatNumber(last)}, minimum ${formatNumber(min)}, maximum ${formatNumber(max)}`,
        );
      return [{ line, curve, values: smoothing > 0 ? smooth(curve.mean, smoothing) : curve.mean }];
    });
    if (notFinite > 0) said.push(`${notFinite} not finite`);
    this.#element.setAttribute("aria-label", `${this.#plotted.title}: ${said.join("; ") || "no values yet"}`);
    this.#element.dataset.points = String(drawn);
    this.#element.dataset.last = String(painted[0]?.curve.mean.findLast((value) => value !== null) ?? "");
    this.#plotted.onNotFinite(notFinite);
    return painted;
  }

  /** Says the values under the cursor, or the newest ones without a cursor. */
  #readOut(u: uPlot): void {
    if (this.#board.isMoving) return;
    const { left = -1 } = u.cursor;
    const found = (this.#painted ?? []).flatMap(({ line, curve: { x }, values }): Readout[] => {
      const at =
        left < 0 ? values.findLastIndex((value) => value !== null) : nearest(x, u.posToVal(left, "x"));
      const [place, value] = [x[at], values[at]];
      if (place === undefined || value === undefined) return [];
      const step =
        this.#board.axis === "time" ? formatDuration(place) : `${this.#plotted.axis} ${formatNumber(place)}`;
      return [{ line, at: step, value: formatNumber(value) }];
    });
    this.#plotted.onReadout(found);
  }

  #plot(): uPlot {
    const colour = (name: string) => () => this.#board.colour(name);
    const axis: uPlot.Axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--grid"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    const ticks = (_: uPlot, splits: number[]) => splits.map((one) => (one === null ? "" : formatTick(one)));
    return new uPlot(
      {
        width: this.#element.clientWidth,
        height: this.#element.clientHeight,
        padding: [8, 20, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: false },
          y: {
            ...(this.#log ? { distr: 3 } : {}),
            range: () => extent(this.#painted ?? [], this.visibleRange() ?? [0, 1], this.#log),
          },
        },
        axes: [
          {
            ...axis,
            size: 26,
            gap: 2,
            space: 64,
            values: ticks,
            ...(this.#board.axis === "time" ? timeAxis : {}),
          },
          { ...axis, size: 56, gap: 4, values: ticks },
        ],
        series: [{}],
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          sync: {
            key: `espalier-${this.group}`,
            setSeries: false,
            filters: {
              pub: (type) => type === "mousemove" || type === "mouseleave",
              sub: () => this.inSight,
            },
          },
          bind: {
            mousedown: (u, _, handler) => (event) => (event.shiftKey ? this.#pan(u, event) : handler(event)),
            dblclick: () => () => {
              setView({ zoom: undefined }, true);
              return null;
            },
          },
        },
        hooks: {
          // Clicks that end a drag do not come here.
          ready: [(u) => u.over.addEventListener("click", () => this.#pick(u))],
          setCursor: [(u) => this.#readOut(u)],
          setSelect: [(u) => this.#select(u)],
          draw: [(u) => paint(u, this.#painted ?? [], (name) => this.#board.colour(name))],
        },
      },
      // Scales are set from outside; without any data uPlot would draw none.
      [[0, 1]],
      this.#element,
    );
  }

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
    const { left = -1, top = -1 } = u.cursor;
    let [picked, distance] = ["", 30];
    for (const { line, curve, values } of this.#painted ?? []) {
      const value = values[nearest(curve.x, u.posToVal(left, "x"))];
      const away = value == null ? distance : Math.abs(u.valToPos(value, "y") - top);
      if (away < distance) [picked, distance] = [line.run, away];
    }
    const { run, runs } = view.peek();
    if (picked !== "" && picked !== run)
      setView({ run: picked, runs: run === undefined || runs.includes(run) ? runs : [run, ...runs] });
  }
}
