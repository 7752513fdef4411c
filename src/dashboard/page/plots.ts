// The drawn side of charts: what comes near the viewport is asked for and followed, and what changed is drawn.
//
//   a plot comes near the viewport ──> follow ──> one request for all of them ──> draw
//   live values ──> append ──> draw the plots in sight, at the next frame
//   zoom, pan ──> draw, as many as a frame has time for ──> when it rests: ask for the visible part, finer
import { computed, signal } from "@preact/signals";
import uPlot from "uplot";
import type { LiveEvents } from "../api.ts";
import { type Answer, type Changes, changesOfRun, follow, getSeries, notify, onLive } from "./client.ts";
import { formatDuration, formatNumber, formatTick } from "./format.ts";
import { append, type Curve, type CurvePoint, curveOf, extremes, refine, smooth, thin } from "./series.ts";
import { overlaid, setView, view } from "./view.ts";

/** Points that a curve is asked with. Below this many values each one is a point. */
const points = 600;

type Range = readonly [from: number, to: number];

const darkness = matchMedia("(prefers-color-scheme: dark)");
const dark = signal(darkness.matches);
darkness.addEventListener("change", () => (dark.value = darkness.matches));

/** What a plot is made anew for: its colours, series or scales are others. */
const looks = computed(() => {
  const { log, smoothing, hidden, run, theme } = view.value;
  return JSON.stringify([log, smoothing, hidden, run, theme, dark.value]);
});
const zoomed = computed(() => JSON.stringify([view.value.zoom, view.value.zoomOn]));

const plots = new Set<Plot>();

/** Draws curves in an element from the time that it comes near the viewport. Returns a function that ends this. */
export function plotIn(element: HTMLElement, plotted: Plotted): () => void {
  const plot = new Plot(element, plotted);
  plots.add(plot);
  return () => {
    plots.delete(plot);
    plot.close();
  };
}

/** Moves the visible part by a share of it, and makes it longer by a factor, as keys and buttons do. */
export function shiftZoom(share: number, factor = 1): void {
  const all = [...plots];
  const sample = all.find((plot) => plot.range) ?? all.find((plot) => plot.visibleRange());
  const [from, to] = sample?.visibleRange() ?? [0, 0];
  const [middle, half] = [(from + to) / 2 + share * (to - from), ((to - from) / 2) * factor];
  if (sample) setView({ zoom: [middle - half, middle + half], zoomOn: sample.group }, false);
}

const due = new Set<Plot>();

/** Frames stay short: plots that wait longest come first, the others in the next ones. */
function drawSome(): void {
  const end = performance.now() + 12;
  for (const plot of due) {
    if (performance.now() > end) break;
    due.delete(plot);
    plot.draw();
  }
  if (due.size > 0) requestAnimationFrame(drawSome);
}

/** A curve of a plot: the metric of a run. `colour` counts through the palette of style.css. */
export interface Line {
  readonly run: string;
  readonly label: string;
  readonly colour: number;
  /** Where the run began, in milliseconds since 1970: time is counted from there. */
  readonly startedAt: number;
}

export interface Plotted {
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
  readonly whole: CurvePoint[];
  /** True while each value is a point. */
  readonly exact: boolean;
  readonly notFinite: number;
  /** The part that was zoomed to, and finer points: those of the part before until they are there. */
  part?: { readonly range: Range; points?: Curve | undefined };
}

class Plot {
  readonly overTime = view.peek().axis === "time";
  readonly group: string;
  range: Range | undefined;
  #inSight = false;
  readonly #element: HTMLElement;
  readonly #plotted: Plotted;
  readonly #held = new Map<Line, Held>();
  /** The lines that were asked for, and what ends following them. */
  readonly #followed = new Map<Line, () => void>();
  readonly #ends: readonly (() => void)[];
  #resting: ReturnType<typeof setTimeout> | undefined;
  /** Undefined when the points have changed. */
  #data: uPlot.AlignedData | undefined;
  #u: uPlot | undefined;

  constructor(element: HTMLElement, plotted: Plotted) {
    this.#element = element;
    this.#plotted = plotted;
    this.group = this.overTime ? "time" : plotted.axis;
    const see = (entries: readonly IntersectionObserverEntry[]) => {
      this.#inSight = entries.at(-1)?.isIntersecting === true;
      this.#ask();
      this.#changed();
    };
    const sight = new IntersectionObserver(see, { rootMargin: "250px" });
    const sizes = new ResizeObserver(() => this.#changed());
    for (const observer of [sight, sizes]) observer.observe(element);
    this.#ends = [
      () => sight.disconnect(),
      () => sizes.disconnect(),
      looks.subscribe(() => this.#renew()),
      zoomed.subscribe(() => this.#zoom()),
    ];
  }

  close(): void {
    for (const end of [...this.#ends, ...this.#followed.values()]) end();
    // Answers that are under way draw nothing any more.
    this.#inSight = false;
    this.#renew();
  }

  /** Shows the part that the view asks for, and finer points of it once the view has stood still. */
  #zoom(): void {
    const { zoom, zoomOn } = view.peek();
    const before = this.range;
    this.range = zoomOn === this.group ? zoom : undefined;
    // Wherever a zoom is moved to, the points are the same.
    if (!before || !this.range) this.#data = undefined;
    this.#drawSoon();
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#ask(), 120);
  }

  #changed(): void {
    this.#data = undefined;
    this.#drawSoon();
  }

  #drawSoon(): void {
    if (!this.#inSight) return;
    if (due.size === 0) requestAnimationFrame(drawSome);
    due.add(this);
  }

  #renew(): void {
    this.#u?.destroy();
    this.#u = undefined;
    this.#changed();
  }

  /** Asks for what lacks while it is in sight: of each line all of it first, then the part that is zoomed to. */
  #ask(): void {
    for (const line of this.#inSight ? this.#plotted.lines : []) {
      const held = this.#held.get(line);
      if (!this.#followed.has(line)) this.#follow(line);
      else if (held && this.range && !held.exact && held.part?.range !== this.range)
        void this.#refine(line, held, this.range);
    }
  }

  #follow(line: Line): void {
    const show = ({ data, error }: Answer<Held>) => {
      if (data) {
        this.#held.set(line, data);
        this.#ask();
        this.#changed();
      } else if (error) notify(error);
    };
    this.#followed.set(
      line,
      follow(() => this.#load(line), this.#changesOf(line), show),
    );
  }

  #changesOf = (line: Line): Changes<Held> =>
    changesOfRun(line.run, (change) =>
      onLive("metrics", ({ run, series: { [this.#plotted.key]: came } }) => {
        if (came && run === line.run) change((held) => this.#appended(line, held, came));
      }),
    );

  #appended(line: Line, held: Held, came: LiveEvents["metrics"]["series"][string]): Held {
    let { notFinite } = held;
    const x = this.overTime ? came.time : came.step;
    came.value.forEach((value, i) => {
      const isNew = append(held.whole, (x[i] ?? 0) - this.#origin(line), value);
      if (isNew && value === null) notFinite += 1;
    });
    const whole = thin(held.whole, Math.max(points, this.#element.clientWidth));
    return { ...held, whole, notFinite, exact: held.exact && whole === held.whole };
  }

  async #refine(line: Line, held: Held, range: Range): Promise<void> {
    const part: Held["part"] = { range, points: held.part?.points };
    held.part = part;
    part.points = (await this.#load(line, range).catch(notify))?.whole;
    this.#changed();
  }

  async #load(line: Line, range?: Range): Promise<Held> {
    const origin = this.#origin(line);
    const [from, to] = (range ?? []).map((x) => x + origin);
    const series = await getSeries(line.run, this.#plotted.key, {
      points: String(points),
      axis: this.overTime ? "time" : "step",
      ...(from !== undefined && { from: String(Math.floor(from)) }),
      ...(to !== undefined && { to: String(Math.ceil(to)) }),
    });
    if (!series) return { whole: [], exact: true, notFinite: 0 };
    const { values, x, notFinite } = series;
    return { whole: curveOf(series, origin), exact: values <= x.length, notFinite };
  }

  #origin = (line: Line): number => (this.overTime ? line.startedAt : 0);

  draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#element;
    if (!this.#inSight || width === 0) return;
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
      const curve = held ? refine(held.whole, this.range && held.part?.points) : [];
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
    this.#element.setAttribute("aria-label", `${this.#plotted.key}: ${said.join("; ") || "no values yet"}`);
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
        points: { filter: loneValues },
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
        { label: this.group, value: (u, x: number | null) => place(x ?? u.data[0].at(-1) ?? 0) },
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
          ...(this.overTime && { incrs: timeSteps }),
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
            sub: () => this.#inSight,
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
          (u) =>
            u.over.addEventListener(
              "click",
              () => near && bringToFront(lines[Math.floor((near - 1) / each)]),
            ),
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
      setView({ zoom: [range[0] + by, range[1] + by], zoomOn: this.group }, false);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", () => removeEventListener("mousemove", move), { once: true });
    return null;
  }
}

/** Values between two that are not finite, which no line reaches: they are drawn as points. */
const loneValues: uPlot.Series.Points.Filter = (u, series, areAllShown) => {
  if (areAllShown) return null;
  // Where only another curve has a value, there is undefined.
  const own = Array.from(u.data[series] ?? [], (y, i) => [i, y] as const).filter(([, y]) => y !== undefined);
  const isGap = (at: number) => (own[at]?.[1] ?? null) === null;
  return own.flatMap(([i, y], at) => (y === null || !isGap(at - 1) || !isGap(at + 1) ? [] : [i]));
};

function bringToFront(line: Line | undefined): void {
  if (line && line.run !== view.peek().run) setView({ run: line.run, runs: overlaid.peek() });
}

const probe = document.body.appendChild(document.createElement("i"));

/** A colour of style.css as a canvas takes it. */
function colourOf(name: string): string {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

const timeSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1000, 60_000].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((n) => n * unit)),
  ...[1, 2, 4, 6, 12, 24, 48, 120, 240, 480, 1200].map((n) => n * 3_600_000),
];
