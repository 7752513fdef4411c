// The drawn side of charts: a board holds the plots, tells them what comes near the viewport and what comes live, draws
// those that changed, and keeps zoom and cursor of plots over the same axis together.
//
//   a plot comes near the viewport ──> ask ──> one request per run for all of them ──> draw
//   live values ──> append ──> draw the plots in sight, at the next frame
//   zoom, pan ──> draw, as many as a frame has time for ──> when it rests: ask for the visible part, finer
import { computed, effect } from "@preact/signals";
import uPlot from "uplot";
import type { LiveEvents } from "../api.ts";
import { type Failure, getSeries, notify, onLive, reconnects } from "./client.ts";
import { formatDuration, formatNumber, formatTick } from "./format.ts";
import { append, type Curve, type CurvePoint, curveOf, extremes, refine, smooth, thin } from "./series.ts";
import { setView, view } from "./view.ts";

/** Points that a curve is asked with. Below this many values each one is a point. */
const points = 600;

type Range = readonly [from: number, to: number];

class Board {
  readonly #plots = new Map<Element, Plot>();
  readonly #due = new Set<Plot>();
  #resting: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;
  readonly #sight = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) this.#plots.get(target)?.see(isIntersecting);
    },
    { rootMargin: "250px" },
  );
  readonly #sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) this.#plots.get(target)?.changed();
  });

  constructor() {
    const each = (act: (plot: Plot) => void) => [...this.#plots.values()].forEach(act);
    const renew = () => each((plot) => plot.renew());
    const looks = computed(() => {
      const { log, smoothing, hidden, run, theme } = view.value;
      return JSON.stringify([log, smoothing > 0, hidden, run, theme]);
    });
    looks.subscribe(renew);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renew);
    const part = computed(() => {
      const { smoothing, zoom, zoomOn } = view.value;
      return JSON.stringify([smoothing, zoom, zoomOn]);
    });
    effect(() => {
      void part.value;
      each((plot) => plot.zoom());
      // Finer points are asked for once the view has stood still.
      clearTimeout(this.#resting);
      this.#resting = setTimeout(() => each((plot) => plot.ask()), 120);
    });
    onLive("metrics", ({ run, series }) => each((plot) => plot.append(run, series)));
    // A run that goes on from a checkpoint logs some steps again: what it had after them is gone.
    const resumes = new Map<string, number>();
    onLive("runs", ({ changed }) => {
      for (const { id, resumes: times } of changed) {
        if (times > (resumes.get(id) ?? times)) each((plot) => plot.forget(id));
        resumes.set(id, times);
      }
    });
    // What came while the connection was lost is asked for again.
    reconnects.subscribe((times) => times > 0 && each((plot) => plot.forget()));
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
      plot.close();
    };
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

  /** Shows a range in all plots over an axis; the URL follows when it rests. */
  move(group: string, range: Range): void {
    for (const plot of this.#plots.values()) if (plot.group === group) plot.move(range);
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => setView({ zoom: range, zoomOn: group }, false), 150);
  }

  /** Moves the visible part by a share of it, and makes it longer by a factor, as keys and buttons do. */
  shift(share: number, factor = 1): void {
    const all = [...this.#plots.values()];
    const sample = all.find((plot) => plot.range) ?? all.find((plot) => plot.visibleRange());
    const [from, to] = sample?.visibleRange() ?? [0, 0];
    const [middle, half] = [(from + to) / 2 + share * (to - from), ((to - from) / 2) * factor];
    if (sample) this.move(sample.group, [middle - half, middle + half]);
  }
}

/** All plots of the page. */
export const board = new Board();

/** A curve of a plot: the metric of a run. `colour` counts through the palette of style.css. */
export interface Line {
  readonly run: string;
  readonly label: string;
  readonly colour: number;
  /** Where the run began, in milliseconds since 1970: time is counted from there. */
  readonly startedAt: number;
}

/** What a plot draws. */
export interface Plotted {
  /** The metric. */
  readonly key: string;
  /** The counter of the steps. */
  readonly axis: string;
  readonly lines: readonly Line[];
  /** Where the values under the cursor stand, or the newest ones. */
  readonly readout: HTMLElement;
  readonly onNotFinite: (count: number) => void;
}

/** The points of a curve. */
interface Held {
  /** False until the answer is there; the points are the live values that came meanwhile. */
  answered: boolean;
  whole: CurvePoint[];
  /** Finer points of the part that is zoomed to. */
  part?: Curve;
  partRange?: Range | undefined;
  /** True while each value is a point. */
  exact: boolean;
  notFinite: number;
}

class Plot {
  readonly overTime = view.peek().axis === "time";
  readonly key: string;
  readonly group: string;
  range: Range | undefined;
  inSight = false;
  readonly #element: HTMLElement;
  readonly #plotted: Plotted;
  /** By line; those that were asked for. */
  readonly #held = new Map<Line, Held>();
  /** Undefined when the points, the smoothing or what is hidden changed. */
  #data: uPlot.AlignedData | undefined;
  #u: uPlot | undefined;

  constructor(element: HTMLElement, plotted: Plotted) {
    this.#element = element;
    this.#plotted = plotted;
    this.key = plotted.key;
    this.group = this.overTime ? "time" : plotted.axis;
    this.zoom();
  }

  see(inSight: boolean): void {
    this.inSight = inSight;
    this.ask();
    this.changed();
  }

  /** Shows the part that the view asks for. */
  zoom(): void {
    const { zoom, zoomOn } = view.peek();
    this.range = zoomOn === this.group ? zoom : undefined;
    this.changed();
  }

  move(range: Range): void {
    this.range = range;
    const { top, bottom } = this.#element.getBoundingClientRect();
    if (this.inSight && bottom > 0 && top < innerHeight) board.draw(this);
  }

  /** Draws it anew, where it is in sight. */
  changed(): void {
    this.#data = undefined;
    if (this.inSight) board.draw(this);
  }

  /** Makes it anew: its colours, series or scales are others. */
  renew(): void {
    this.#u?.destroy();
    this.#u = undefined;
    this.changed();
  }

  /** Asks again for the curves of a run, or of all. */
  forget(run?: string): void {
    for (const line of this.#plotted.lines)
      if (run === undefined || line.run === run) this.#held.delete(line);
    this.ask();
  }

  /** Asks for what lacks while it is in sight: of each line all of it first, then the part that is zoomed to. */
  ask(): void {
    const { range } = this;
    for (const line of this.inSight ? this.#plotted.lines : []) {
      const held = this.#held.get(line);
      if (!held) {
        const made = { answered: false, whole: [], exact: true, notFinite: 0 };
        this.#held.set(line, made);
        void this.#load(line, made);
      } else if (held.answered && range && !held.exact && held.partRange !== range) {
        held.partRange = range;
        void this.#load(line, held, range);
      }
    }
  }

  async #load(line: Line, held: Held, range?: Range): Promise<void> {
    const origin = this.overTime ? line.startedAt : 0;
    const [from, to] = (range ?? []).map((x) => x + origin);
    const series = await getSeries(line.run, this.key, {
      points: String(points),
      axis: this.overTime ? "time" : "step",
      ...(from !== undefined && { from: String(Math.floor(from)) }),
      ...(to !== undefined && { to: String(Math.ceil(to)) }),
    }).catch((error: Failure) => {
      notify(error);
      return "failed" as const;
    });
    if (this.#held.get(line) !== held) return;
    // A curve that comes near again is asked for again.
    if (series === "failed") return void (held.answered || this.#held.delete(line));
    const curve = series ? curveOf(series, origin) : [];
    if (!held.answered) {
      const came = held.whole;
      held.answered = true;
      held.whole = curve;
      held.exact = series === undefined || series.values <= series.x.length;
      held.notFinite = series?.notFinite ?? 0;
      for (const { x, mean } of came) this.#append(line, x, mean);
      this.ask();
    } else if (held.partRange === range) held.part = curve;
    this.changed();
  }

  append(run: string, series: LiveEvents["metrics"]["series"]): void {
    const came = series[this.key];
    for (const line of this.#plotted.lines) {
      if (!came || line.run !== run) continue;
      const [x, origin] = this.overTime ? [came.time, line.startedAt] : [came.step, 0];
      came.value.forEach((value, i) => this.#append(line, (x[i] ?? 0) - origin, value));
      this.changed();
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

  close(): void {
    // Answers that are under way draw nothing any more.
    this.inSight = false;
    this.renew();
  }

  draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#element;
    if (!this.inSight || width === 0) return;
    const grown = this.#data === undefined;
    const data = this.#data ?? this.#prepare();
    this.#data = data;
    if (data[0].length === 0) return;
    if (!this.#u) this.#u = this.#plot(data, width, height);
    else if (grown) {
      if (width !== this.#u.width || height !== this.#u.height) this.#u.setSize({ width, height });
      this.#u.setData(data);
    } else {
      const [min, max] = this.visibleRange() ?? [0, 1];
      this.#u.setScale("x", { min, max });
    }
  }

  /** The part of the axis that is seen: the zoomed one, or all that has points. */
  visibleRange(): Range | undefined {
    const [from, to] = [this.#data?.[0][0], this.#data?.[0].at(-1)];
    if (this.range || from === undefined || to === undefined) return this.range;
    return from < to ? [from, to] : [from - 0.5, to + 0.5];
  }

  #lines(): readonly Line[] {
    const { hidden } = view.peek();
    return this.#plotted.lines.filter(({ run }) => !hidden.includes(run));
  }

  /** Joins what there is of each curve, and says it to those who do not see it. */
  #prepare(): uPlot.AlignedData {
    const { smoothing, log } = view.peek();
    let [drawn, notFinite] = [0, 0];
    const said: string[] = [];
    const lasts: unknown[] = [];
    const tables = this.#lines().map((line): uPlot.AlignedData => {
      const held = this.#held.get(line);
      const curve = held?.answered ? refine(held.whole, this.range && held.part) : [];
      drawn += curve.length;
      notFinite += held?.notFinite ?? 0;
      const found = extremes(curve);
      lasts.push(found?.last ?? "");
      const [last, min, max] = [found?.last, found?.min, found?.max].map(formatNumber);
      if (found) said.push(`${line.label} last ${last}, minimum ${min}, maximum ${max}`);
      const means = curve.map(({ mean }) => mean);
      const columns = [curve.map((one) => one.max), curve.map((one) => one.min), means];
      if (smoothing > 0) columns.push(smooth(means, smoothing));
      // A logarithm needs a positive value.
      const placed = columns.map((column) => column.map((y) => (log && y !== null && y <= 0 ? null : y)));
      return [curve.map(({ x }) => x), ...placed];
    });
    if (notFinite > 0) said.push(`${notFinite} not finite`);
    this.#element.setAttribute("aria-label", `${this.key}: ${said.join("; ") || "no values yet"}`);
    this.#element.dataset.points = String(drawn);
    this.#element.dataset.last = String(lasts[0]);
    this.#plotted.onNotFinite(notFinite);
    return tables.length === 0 ? [[]] : uPlot.join(tables);
  }

  /** Of each line the largest and the smallest values with a band between them, means, and the smoothed ones. */
  #plot(data: uPlot.AlignedData, width: number, height: number): uPlot {
    const { log, smoothing, run } = view.peek();
    const lines = this.#lines();
    const each = smoothing > 0 ? 4 : 3;
    const place = (x: number) => (this.overTime ? formatDuration(x) : formatTick(x));
    const newest = (u: uPlot, series: number) => Array.from(u.data[series] ?? []).findLast((y) => y != null);
    const series = lines.flatMap((line): uPlot.Series[] => {
      const stroke = colourOf(`--curve-${line.colour % 8}`);
      const plain: uPlot.Series = { class: "unsaid", stroke, width: 0, points: { show: false } };
      const mean: uPlot.Series = {
        label: lines.length > 1 ? line.label : "value",
        stroke,
        // The run in front stands out among several.
        width: lines.length > 1 && line.run === run ? 2.5 : 1.5,
        dash: line.colour < 8 ? [] : [6, 3],
        value: (u, value, at) => formatNumber(u.cursor.idx == null ? newest(u, at) : value),
      };
      return [plain, plain, ...(smoothing > 0 ? [{ ...plain, width: 1, alpha: 0.35 }] : []), mean];
    });
    const bands = lines.map((line, i): uPlot.Band => {
      const fill = colourOf(`--curve-${line.colour % 8}`).replace(")", ", 0.18)");
      return { series: [1 + each * i, 2 + each * i], fill };
    });
    const axis: uPlot.Axis = {
      stroke: colourOf("--muted"),
      grid: { stroke: colourOf("--grid"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    let near: number | null = null;
    const options: uPlot.Options = {
      width,
      height,
      series: [
        {
          label: this.group,
          value: (u, x: number | null) => place(x ?? u.data[0].at(-1) ?? 0),
        },
        ...series,
      ],
      bands,
      padding: [8, 20, 0, 0],
      legend: {
        mount: (_, table) => this.#plotted.readout.replaceChildren(table),
        markers: { show: lines.length > 1 },
      },
      scales: {
        x: { time: false, range: (_, from, to) => [...(this.visibleRange() ?? [from, to])] },
        y: { distr: log ? 3 : 1 },
      },
      axes: [
        {
          ...axis,
          ...(this.overTime && { incrs: durations }),
          size: 26,
          gap: 2,
          space: 64,
          values: (_, splits) => splits.map(place),
        },
        {
          ...axis,
          size: 56,
          gap: 4,
          values: (_, splits) => splits.map((y) => (y === null ? "" : formatTick(y))),
        },
      ],
      cursor: {
        y: false,
        points: { show: false },
        focus: { prox: 30 },
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
      focus: { alpha: 1 },
      hooks: {
        // Clicks that end a drag do not come here.
        ready: [
          (u) => u.over.addEventListener("click", () => near && pick(lines[Math.floor((near - 1) / each)])),
        ],
        setSeries: [(_, at) => (near = at)],
        setSelect: [(u) => this.#select(u)],
      },
    };
    return new uPlot(options, data, this.#element);
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
}

/** Brings the run to the front whose curve was clicked. */
function pick(line: Line | undefined): void {
  const { run, runs } = view.peek();
  if (line && line.run !== run)
    setView({ run: line.run, runs: run === undefined || runs.includes(run) ? runs : [run, ...runs] });
}

const probe = document.body.appendChild(document.createElement("i"));

/** A colour of style.css as a canvas takes it. */
function colourOf(name: string): string {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Steps of an axis of milliseconds, as people count time. */
const durations = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1000, 60_000].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((n) => n * unit)),
  ...[1, 2, 4, 6, 12, 24, 48, 120, 240, 480, 1200].map((n) => n * 3_600_000),
];
