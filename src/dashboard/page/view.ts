// The whole view stands in the fragment of the URL: a link or a reload shows the same.
//
//   #run=ID&runs=A&runs=B&tab=charts&smoothing=0.6&zoom=100,200
import { computed, signal } from "@preact/signals";

/** Reads a field from all that the URL gives for it; from nothing, its default. */
type Parse<T> = (given: readonly string[]) => T;

const text =
  (initial: string): Parse<string> =>
  ([given]) =>
    given || initial;
const texts: Parse<readonly string[]> = (given) => [...new Set(given.filter((one) => one !== ""))];
const flag: Parse<boolean> = ([given]) => given === "1";
const oneOf =
  <T extends string>(initial: T, ...others: readonly T[]): Parse<T> =>
  ([given]) =>
    others.find((one) => one === given) ?? initial;

/** What the page shows. */
const fields = {
  /** The run in front; the list without one. */
  run: (([given]) => given || undefined) as Parse<string | undefined>,
  /** Runs that are selected in the list, and overlaid in charts and comparisons. */
  runs: texts,
  tab: text("charts"),
  /** What is open within the tab: a checkpoint, a replay, a hook. Another run or tab closes it. */
  item: text(""),
  search: text(""),
  /** Only runs with all of these tags. */
  tags: texts,
  showArchived: flag,
  /** Runs whose rows and curves are not shown. */
  hidden: texts,
  /** The column that the list is sorted by; with `-` in front, largest first. */
  sort: text("-started"),
  /** The metric of the list's spark lines. */
  spark: text("train/loss"),
  axis: oneOf("step", "time"),
  log: flag,
  /** From 0 (none) to 0.99. */
  smoothing: (([given]) => Math.min(0.99, Math.max(0, Number(given) || 0))) as Parse<number>,
  /** The visible part of the axis. */
  zoom: (([given = ""]) => {
    const [from = Number.NaN, to = Number.NaN] = given.split(",").map(Number);
    return Number.isFinite(to - from) && from < to ? [from, to] : undefined;
  }) as Parse<readonly [from: number, to: number] | undefined>,
  /** The counter that the zoom is on, or `time`: charts over another one show all. */
  zoomOn: text(""),
  metricFilter: text(""),
  /** Categories whose charts are folded away. */
  folded: texts,
  theme: oneOf("auto", "light", "dark"),
};

export type View = { readonly [Name in keyof typeof fields]: ReturnType<(typeof fields)[Name]> };

/** Reads a view from a URL's fragment. What it does not say, or says wrongly, is the default. */
export function parseView(fragment: string): View {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const parsed = Object.entries(fields).map(([name, parse]) => [name, parse(given.getAll(name))]);
  return Object.fromEntries(parsed) as View;
}

const defaults = parseView("");

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

/** The most runs whose curves are drawn: as many as a page may watch. */
export const mostOverlaid = 50;

/** The runs whose curves are drawn: the one in front and those overlaid, in an order that picking one does not change. */
export const overlaid = computed(() => JSON.parse(overlaidIds.value) as readonly string[]);
// A text, so that what else changes in the view leaves the charts as they are.
const overlaidIds = computed(() => {
  const { run, runs } = view.value;
  if (run === undefined) return "[]";
  const shown = runs.slice(0, mostOverlaid);
  return JSON.stringify(shown.includes(run) ? shown : [run, ...shown.slice(0, mostOverlaid - 1)]);
});

/**
 * Changes the view and the URL with it. Another run, tab or overlay is a step of the browser's history, so that back
 * returns from it; `step` decides otherwise.
 *
 * @example
 * setView({ run: "7f3a", tab: "log" });
 */
export function setView(patch: Partial<View>, step?: boolean): void {
  const before = view.peek();
  view.value = changed(before, patch);
  if (step ?? ("run" in patch || "tab" in patch || "runs" in patch)) {
    // The entry that is left keeps the view that it had.
    writeUrl(before);
    history.pushState(null, "", address(view.peek()));
  } else {
    // A browser refuses more than about a hundred changes of the URL in ten seconds: a drag makes more.
    later ??= setTimeout(() => writeUrl(view.peek()), 200);
  }
}

/** A link to another view: `linkTo({ tab: "log" })`. */
export const linkTo = (patch: Partial<View>): string => formatView(changed(view.value, patch)) || "#";

/** Another run or tab closes what is open within. */
const changed = (before: View, patch: Partial<View>): View => ({
  ...before,
  ...(("run" in patch || "tab" in patch) && { item: "" }),
  ...patch,
});

/** A list with a value that it did not have, or without one that it had. */
export const toggled = (list: readonly string[], value: string): readonly string[] =>
  list.includes(value) ? list.filter((one) => one !== value) : [...list, value];

let later: ReturnType<typeof setTimeout> | undefined;

function forgetUrl(): void {
  clearTimeout(later);
  later = undefined;
}

function writeUrl(shown: View): void {
  forgetUrl();
  history.replaceState(null, "", address(shown));
}

const address = (shown: View) => formatView(shown) || location.pathname + location.search;

if (inBrowser) {
  // The entry that a link leaves keeps the view that it had.
  addEventListener("click", () => later && writeUrl(view.peek()), true);
  addEventListener("popstate", () => {
    forgetUrl();
    view.value = parseView(location.hash);
  });
}
