import type { HeartbeatRow, MetricRow, RunRow, StatsStore } from "../../metrics/index.ts";

/** What is known of a run that has not ended, by what it filed last. */
export interface LastSigns {
  /** Milliseconds since 1970 of the newest heartbeat, checkpoint or metric. */
  readonly wall: number;
  /** Milliseconds since 1970 at which its last process was first heard of. */
  readonly began: number | undefined;
  /** How far it was by then, as far as that was filed. */
  readonly counters: Readonly<Record<string, number>>;
  /** Its process was one of this machine, and is no more. */
  readonly gone: boolean;
}

/** Reads what a run that has not ended filed last. Of one that has, its row says all. */
export async function readSigns(
  store: StatsStore,
  run: RunRow,
  latest: readonly MetricRow[],
): Promise<LastSigns | undefined> {
  if (run.outcome !== "running") return undefined;
  const heartbeats = await store.list(run.id, "heartbeat");
  const checkpoints = await store.list(run.id, "checkpoint");
  const beat = heartbeats.at(-1);
  const walls = [...heartbeats, ...checkpoints, ...latest].map(({ wall }) => wall);
  const steps = [...heartbeats, ...checkpoints].map((row) => ({ step: row.step, axis: "steps" }));
  return {
    wall: walls.reduce((a, b) => Math.max(a, b), run.startedAt),
    began: heartbeats.find(({ pid, host }) => pid === beat?.pid && host === beat.host)?.wall,
    counters: furthest(run.counters, [...steps, ...latest]),
    gone: beat !== undefined && (await isGone(beat)),
  };
}

/** Whatever the last beat said: only its process is looked for, where it is one of this machine. */
async function isGone(beat: HeartbeatRow): Promise<boolean> {
  // Here, because commands that need no database start faster without.
  const { isAlive } = await import("../../metrics/index.ts");
  return !isAlive({ ...beat, wall: 0, phase: "" }, { now: 0 });
}

/** Counters of where a run was last heard of. Those of an earlier moment would say less than was done. */
function furthest(
  filed: RunRow["counters"],
  rows: readonly { readonly step: number; readonly axis: string }[],
): Readonly<Record<string, number>> {
  const counters: Record<string, number> = {};
  for (const { step, axis } of rows) counters[axis] = Math.max(counters[axis] ?? 0, step);
  return (counters.steps ?? 0) > (filed.steps ?? 0) ? counters : { ...counters, ...filed };
}
