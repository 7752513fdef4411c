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
import { getSeries, liveOpened, notify, onLive, reconnects } from "./client.ts";
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

class Board {
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

  constructor() {
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
    const plot = new Plot(element, plotted);
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

  /** Asks for the series of a plot, together with all others of the moment: one request for each run and range. */
  ask(plot: Plot): void {
    this.#waiting.add(plot);
    this.#asking ??= setTimeout(() => {
      this.#asking = undefined;
      const requests = new Map<string, Wanted[]>();
      for (const wanted of [...this.#waiting].flatMap((one) => one.wanted())) {
        const name = JSON.stringify([wanted.line.run, wanted.plot.overTime, wanted.range]);
        requests.set(name, [...(requests.get(name) ?? []), wanted]);
      }
      this.#waiting.clear();
      for (const together of requests.values()) void this.#fetch(together);
    }, 5);
  }

  async #fetch(together: readonly Wanted[]): Promise<void> {
    const [first] = together;
    if (!first) return;
    const { plot, line, range } = first;
    const origin = plot.overTime ? line.startedAt : 0;
    const keys = [...new Set(together.map((one) => one.line.key))];
    await liveOpened;
    const found = await getSeries(line.run, keys, {
      points: String(points),
      axis: plot.overTime ? "time" : "step",
      ...(range && {
        from: String(Math.floor(range[0] + origin)),
        to: String(Math.ceil(range[1] + origin)),
      }),
    }).catch(notify);
    const byKey = new Map(found?.map((series) => [series.key, series]));
    // Those that come near again are asked for again.
    for (const one of together)
      if (found === undefined) one.plot.fail(one.line);
      else one.plot.take(one, byKey.get(one.line.key), origin);
  }

  /** Shows a range in all plots over an axis; the URL follows when it rests. */
  move(group: string, range: Range): void {
    this.isMoving = true;
    for (const plot of this.#plots.values()) {
      if (plot.group !== group) continue;
      plot.range = range;
      if (plot.inSight && plot.isSeen()) this.draw(plot);
    }
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

/** All plots of the page. */
export const board = new Board();

/** A curve that lacks points, and the range of those; all of it without one. */
interface Wanted {
  readonly plot: Plot;
  readonly line: Line;
  readonly range?: Range | undefined;
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
  /** False until the answer is there; the points are the live values that came meanwhile. */
  answered: boolean;
  whole: Curve;
  /** Finer points of the part that is zoomed to. */
  part?: Curve;
  partRange?: Range | undefined;
  /** True while each value is a point. */
  exact: boolean;
  notFinite: number;
}

class Plot {
  readonly overTime = view.peek().axis === "time";
  readonly group: string;
  range: Range | undefined;
  inSight = false;
  readonly #element: HTMLElement;
  readonly #plotted: Plotted;
  /** By line; those that were asked for. */
  readonly #held = new Map<Line, Held>();
  /** Undefined when the points, the smoothing or what is hidden changed. */
  #painted: readonly Painted[] | undefined;
  #u: uPlot | undefined;
  #log = false;

  constructor(element: HTMLElement, plotted: Plotted) {
    this.#element = element;
    this.#plotted = plotted;
    this.group = this.overTime ? "time" : plotted.axis;
    this.adopt();
  }

  see(inSight: boolean): void {
    this.inSight = inSight;
    if (inSight) board.ask(this);
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
    if (this.inSight) board.draw(this);
  }

  /** Asks again for the curves of a run, or of all. */
  forget(run?: string): void {
    for (const line of this.#plotted.lines)
      if (run === undefined || line.run === run) this.#held.delete(line);
    if (this.inSight) board.ask(this);
  }

  /** What is to be asked for: of each line all of it first, then the part that is zoomed to. */
  wanted(): readonly Wanted[] {
    return this.#plotted.lines.flatMap((line): Wanted[] => {
      const held = this.#held.get(line);
      if (held === undefined) {
        this.#held.set(line, { answered: false, whole: emptyCurve(), exact: true, notFinite: 0 });
        return [{ plot: this, line }];
      }
      const { range } = this;
      if (!held.answered || !range || held.exact || held.partRange === range) return [];
      held.partRange = range;
      return [{ plot: this, line, range }];
    });
  }

  fail(line: Line): void {
    if (this.#held.get(line)?.answered === false) this.#held.delete(line);
  }

  /** Takes an answer; without a series the run has no such values. */
  take({ line, range }: Wanted, series: Series | undefined, origin: number): void {
    const held = this.#held.get(line);
    if (!held) return;
    const curve = series ? curveOf(series, origin) : emptyCurve();
    if (!held.answered) {
      const exact = series === undefined || series.values <= series.x.length;
      const { whole: came } = held;
      this.#held.set(line, { answered: true, whole: curve, exact, notFinite: series?.notFinite ?? 0 });
      came.x.forEach((x, i) => this.#append(line, x, came.mean[i] ?? null));
      if (this.inSight) board.ask(this);
    } else if (held.partRange === range) held.part = curve;
    this.#changed();
  }

  append(run: string, series: LiveEvents["metrics"]["series"]): void {
    for (const line of this.#plotted.lines) {
      const came = line.run === run ? series[line.key] : undefined;
      if (!came) continue;
      const [x, origin] = this.overTime ? [came.time, line.startedAt] : [came.step, 0];
      came.value.forEach((value, i) => this.#append(line, (x[i] ?? 0) - origin, value));
      this.#changed();
    }
  }

  #append(line: Line, x: number, value: number | null): void {
    const held = this.#held.get(line);
    // What was never asked for comes with the first answer.
    if (!held || !append(held.whole, x, value)) return;
    if (value === null) held.notFinite += 1;
    const thinned = thin(held.whole, Math.max(points, this.#element.clientWidth));
    held.exact &&= thinned === held.whole;
    held.whole = thinned;
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
      if (!held?.answered || (line.hides && hidden.includes(line.run))) return [];
      const curve = refine(held.whole, this.range && held.part);
      drawn += curve.x.length;
      notFinite += held.notFinite;
      const found = extremes(curve);
      const [last, min, max] = [found?.last, found?.min, found?.max].map(formatNumber);
      if (found) said.push(`${line.label} last ${last}, minimum ${min}, maximum ${max}`);
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
    if (board.isMoving) return;
    const { left = -1 } = u.cursor;
    const found = (this.#painted ?? []).flatMap(({ line, curve: { x }, values }): Readout[] => {
      const at =
        left < 0 ? values.findLastIndex((value) => value !== null) : nearest(x, u.posToVal(left, "x"));
      const [place, value] = [x[at], values[at]];
      if (place === undefined || value === undefined) return [];
      const step = this.overTime ? formatDuration(place) : `${this.#plotted.axis} ${formatNumber(place)}`;
      return [{ line, at: step, value: formatNumber(value) }];
    });
    this.#plotted.onReadout(found);
  }

  #plot(): uPlot {
    const colour = (name: string) => () => board.colour(name);
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
          { ...axis, size: 26, gap: 2, space: 64, values: ticks, ...(this.overTime && timeAxis) },
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
          draw: [(u) => paint(u, this.#painted ?? [], (name) => board.colour(name))],
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
      board.move(this.group, [range[0] + by, range[1] + by]);
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
