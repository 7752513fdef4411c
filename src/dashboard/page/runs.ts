// The runs that the page knows: asked for once, then kept by increments.
import { signal } from "@preact/signals";
import type { LiveEvents, MetricSummary, RunDetail, RunSummary } from "../api.ts";
import { get, liveOpened, notify, onLive, reconnects } from "./client.ts";

/** Runs by id, newest first; undefined until they were answered. */
export const runs = signal<ReadonlyMap<string, RunSummary> | undefined>(undefined);

async function load(): Promise<void> {
  await liveOpened;
  const found = await get<readonly RunSummary[]>("/api/runs").catch(notify);
  if (found) runs.value = new Map(found.map((run) => [run.id, run]));
}

/** Takes over runs that were answered or came live. New ones come first. */
export function takeRuns(changed: readonly RunSummary[], gone: readonly string[] = []): void {
  const before = runs.peek() ?? new Map<string, RunSummary>();
  const added = changed.filter((run) => !before.has(run.id)).sort((a, b) => b.startedAt - a.startedAt);
  const next = new Map([...added.map((run) => [run.id, run] as const), ...before]);
  for (const run of changed) next.set(run.id, run);
  for (const id of gone) next.delete(id);
  runs.value = next;
}

/** Asks for the runs and follows their changes, for as long as the page is open. */
export function followRuns(): void {
  onLive("runs", ({ changed, gone }) => takeRuns(changed, gone));
  onLive("metrics", ({ run: id, series }) => changeDetail(id, (run) => withMetrics(run, series)));
  onLive("control", ({ run: id, state }) =>
    changeDetail(id, (run) => (state.wall < (run.control?.wall ?? 0) ? run : { ...run, control: state })),
  );
  // At once, and again whenever the live connection came back.
  reconnects.subscribe((times) => {
    void load();
    if (times > 0) void openDetails(wanted, true);
  });
}

/** Runs in full, by id: those that are looked at. */
export const details = signal<ReadonlyMap<string, RunDetail>>(new Map());
let wanted: readonly string[] = [];
/** The last request for runs in full: what comes live meanwhile waits for its answer. */
let asked: Promise<void> = Promise.resolve();

/** Asks for runs in full, and lets go of others. Those that are there already are kept up to date by increments. */
export function openDetails(ids: readonly string[], anew = false): Promise<void> {
  wanted = ids;
  asked = askDetails(ids, anew);
  return asked;
}

async function askDetails(ids: readonly string[], anew: boolean): Promise<void> {
  await liveOpened;
  const ask = (id: string) => get<RunDetail>(`/api/runs/${encodeURIComponent(id)}`).catch(notify);
  const missing = ids.filter((id) => anew || !details.peek().has(id));
  const found = (await Promise.all(missing.map(ask))).filter((run) => run !== undefined);
  const all = [...details.peek(), ...found.map((run) => [run.id, run] as const)];
  details.value = new Map(all.filter(([id]) => wanted.includes(id)));
}

async function changeDetail(id: string, change: (run: RunDetail) => RunDetail): Promise<void> {
  await asked;
  const run = details.peek().get(id);
  const changed = run && change(run);
  if (changed && changed !== run) details.value = new Map(details.peek()).set(id, changed);
}

/** Adds the metrics that a run logs for the first time. */
function withMetrics(run: RunDetail, series: LiveEvents["metrics"]["series"]): RunDetail {
  const known = new Set(run.metrics.map((metric) => metric.key));
  const added = Object.keys(series).filter((key) => !known.has(key));
  if (added.length === 0) return run;
  const metrics = added.map((key): MetricSummary => {
    const [category = key, ...name] = key.split("/");
    const like = run.metrics.find((one) => one.category === category) ?? run.metrics[0];
    const last = series[key]?.value.at(-1) ?? null;
    return { key, category, name: name.join("/"), axis: like?.axis ?? "steps", unit: undefined, last };
  });
  return { ...run, metrics: [...run.metrics, ...metrics] };
}
