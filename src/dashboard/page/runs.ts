// The runs that the page knows: asked for once, then kept by increments.
import { signal } from "@preact/signals";
import type { LiveEvents, RunDetail, RunSummary } from "../api.ts";
import { type Answer, apiOf, asker, type Changes, changesOfRun, follow, notify, onLive } from "./client.ts";

type RunsById = ReadonlyMap<string, RunSummary>;

/** Runs by id, newest first; undefined until they were answered. */
export const runs = signal<RunsById | undefined>(undefined);

/** Asks for the runs and follows their changes, for as long as the page is open. */
export function followRuns(): void {
  const ask = asker<readonly RunSummary[]>("/api/runs");
  follow<RunsById>(
    async () => byId(await ask()),
    (change) => onLive("runs", (event) => change((known) => withRuns(known, event))),
    ({ data, error }) => {
      if (error) notify(error);
      else runs.value = data;
    },
  );
}

const byId = (all: readonly RunSummary[]): RunsById => new Map(all.map((run) => [run.id, run]));

/** New ones come first. */
function withRuns(known: RunsById, { changed, gone }: LiveEvents["runs"]): RunsById {
  const added = changed.filter((run) => !known.has(run.id)).sort((a, b) => b.startedAt - a.startedAt);
  const all = new Map([...byId(added), ...known, ...byId(changed)]);
  for (const id of gone) all.delete(id);
  return all;
}

/** Runs in full, by id: those that are looked at, or why they are not there. */
export const details = signal<ReadonlyMap<string, Answer<RunDetail>>>(new Map());
const followed = new Map<string, () => void>();

/** Follows runs in full, and lets go of others. */
export function followDetails(ids: readonly string[]): void {
  for (const [id, end] of followed) {
    if (ids.includes(id)) continue;
    end();
    followed.delete(id);
  }
  details.value = new Map([...details.peek()].filter(([id]) => ids.includes(id)));
  for (const id of ids) {
    if (followed.has(id)) continue;
    const show = (answer: Answer<RunDetail>) => {
      details.value = new Map(details.peek()).set(id, answer);
    };
    followed.set(id, follow(asker<RunDetail>(apiOf(id)), changesOf(id), show));
  }
}

const changesOf = (id: string): Changes<RunDetail> =>
  changesOfRun(
    id,
    (change) => onLive("metrics", (event) => event.run === id && change((known) => knowing(known, event))),
    (change) =>
      onLive("control", (event) => event.run === id && change((known) => withControl(known, event))),
  );

/** What is logged for the first time is asked for: its axis and its unit. */
function knowing(run: RunDetail, { series }: LiveEvents["metrics"]): RunDetail | undefined {
  const keys = new Set(run.metrics.map(({ key }) => key));
  return Object.keys(series).every((key) => keys.has(key)) ? run : undefined;
}

/** What came before the answer may be older. */
const withControl = (run: RunDetail, { state, records }: LiveEvents["control"]): RunDetail => ({
  ...run,
  control: state.wall < (run.control?.wall ?? 0) ? run.control : state,
  answers: [...run.answers, ...records],
});
