// The whole view stands in the fragment of the URL: a link or a reload shows the same.
//
//   #run=ID&runs=A&runs=B&tab=charts&smoothing=0.6&zoom=100,200
import { signal } from "@preact/signals";

/** What the page shows. */
export interface View {
  /** The run in front; the list without one. */
  readonly run: string | undefined;
  /** Runs that are selected in the list, and overlaid in charts and comparisons. */
  readonly runs: readonly string[];
  readonly tab: string;
  /** What is open within the tab: a checkpoint, a replay, a hook. Another run or tab closes it. */
  readonly item: string;
  readonly search: string;
  /** Only runs with all of these tags. */
  readonly tags: readonly string[];
  readonly showArchived: boolean;
  /** Runs whose rows and curves are not shown. */
  readonly hidden: readonly string[];
  /** The column that the list is sorted by; with `-` in front, largest first. */
  readonly sort: string;
  /** The metric of the list's spark lines. */
  readonly spark: string;
  readonly axis: "step" | "time";
  readonly log: boolean;
  /** From 0 (none) to 0.99. */
  readonly smoothing: number;
  /** The visible part of the axis. */
  readonly zoom: readonly [from: number, to: number] | undefined;
  /** The counter that the zoom is on, or `time`: charts over another one show all. */
  readonly zoomOn: string;
  readonly metricFilter: string;
  /** Categories whose charts are folded away. */
  readonly folded: readonly string[];
  readonly theme: "auto" | "light" | "dark";
}

const defaults: View = {
  run: undefined,
  runs: [],
  tab: "charts",
  item: "",
  search: "",
  tags: [],
  showArchived: false,
  hidden: [],
  sort: "-started",
  spark: "train/loss",
  axis: "step",
  log: false,
  smoothing: 0,
  zoom: undefined,
  zoomOn: "",
  metricFilter: "",
  folded: [],
  theme: "auto",
};

/** Reads a view from a URL's fragment. What it does not say, or says wrongly, is the default. */
export function parseView(fragment: string): View {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const texts = (name: string) => [...new Set(given.getAll(name).filter((one) => one !== ""))];
  const text = (name: "tab" | "item" | "zoomOn" | "search" | "sort" | "spark" | "metricFilter") =>
    given.get(name) || defaults[name];
  const zoom = (given.get("zoom") ?? "").split(",").map(Number);
  const [from = Number.NaN, to = Number.NaN] = zoom;
  const smoothing = Number(given.get("smoothing") ?? 0);
  const theme = given.get("theme");
  return {
    run: given.get("run") || undefined,
    runs: texts("runs"),
    tab: text("tab"),
    item: text("item"),
    search: text("search"),
    tags: texts("tags"),
    showArchived: given.get("showArchived") === "1",
    hidden: texts("hidden"),
    sort: text("sort"),
    spark: text("spark"),
    axis: given.get("axis") === "time" ? "time" : "step",
    log: given.get("log") === "1",
    smoothing: smoothing > 0 ? Math.min(smoothing, 0.99) : 0,
    zoom: Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : undefined,
    zoomOn: text("zoomOn"),
    metricFilter: text("metricFilter"),
    folded: texts("folded"),
    theme: theme === "light" || theme === "dark" ? theme : "auto",
  };
}

/** Writes a view as a URL's fragment, without what is as by default. */
export function formatView(view: View): string {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(view)) {
    if (value === undefined || value === defaults[name as keyof View]) continue;
    if (name === "zoomOn" && view.zoom === undefined) continue;
    if (name === "zoom") said.set(name, String(value));
    else if (Array.isArray(value)) for (const one of value) said.append(name, one);
    else said.set(name, value === true ? "1" : String(value));
  }
  return said.size === 0 ? "" : `#${said}`;
}

const inBrowser = typeof location !== "undefined";

/** What the page shows now. Read `view.value` while rendering to be rendered anew when it changes. */
export const view = signal<View>(parseView(inBrowser ? location.hash : ""));

/**
 * Changes the view and the URL with it. Another run, tab or overlay is a step of the browser's history, so that back
 * returns from it; `step` decides otherwise.
 *
 * @example
 * setView({ run: "7f3a", tab: "log" });
 */
export function setView(patch: Partial<View>, step?: boolean): void {
  const before = view.peek();
  const inside = "run" in patch || "tab" in patch ? { item: "" } : {};
  view.value = { ...before, ...inside, ...patch };
  const moved = "run" in patch || "tab" in patch || "runs" in patch;
  if (step ?? moved) {
    // The entry that is left keeps the view that it had.
    writeUrl(before);
    history.pushState(null, "", address(view.peek()));
  } else {
    // A browser refuses more than about a hundred changes of the URL in ten seconds: a drag makes more.
    later ??= setTimeout(() => writeUrl(view.peek()), 200);
  }
}

let later: ReturnType<typeof setTimeout> | undefined;

function writeUrl(shown: View): void {
  clearTimeout(later);
  later = undefined;
  history.replaceState(null, "", address(shown));
}

const address = (shown: View) => formatView(shown) || location.pathname + location.search;

if (inBrowser)
  addEventListener("popstate", () => {
    clearTimeout(later);
    later = undefined;
    view.value = parseView(location.hash);
  });
