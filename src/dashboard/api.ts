// What the dashboard's server and page say to each other: the answers of routes.ts, and the events of live updates. Both
// sides import these types, and nothing of Node stands here.
//
//   GET /api/live?run=A&run=B    server-sent events: LiveEvents by name; read by fetch, with the token
//   GET /api/...                 read with any token or none, on this machine
//   POST, DELETE /api/...        with the token in the header `x-espalier-token`
//
// A failure is { error: ApiError } with its status.
import type { ControlRecord, ControlRequest, ControlState, RunMarks } from "../metrics/index.ts";
import type { LogPart } from "./live.ts";
import type { Answers } from "./routes.ts";

export type { ControlRecord, ControlRequest, ControlState, LogPart, RunMarks };

/** A failure, as an EspalierError has it. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

/** The state of a run: its outcome; `lost` where it never ended and its process is gone. */
export type RunState = "running" | "paused" | "completed" | "stopped" | "interrupted" | "failed" | "lost";

export type Session = Answers["GET /api/session"];
export type RunSummary = Answers["GET /api/runs"][number];
export type RunDetail = Answers["GET /api/runs/*"];
export type MetricSummary = RunDetail["metrics"][number];
export type Series = Answers["GET /api/series"][number];
export type Hooks = Answers["GET /api/runs/*/hooks"];
export type Why = Answers["GET /api/runs/*/why"];
export type CheckpointSummary = Answers["GET /api/runs/*/checkpoints"][number];
export type CheckpointDetail = Answers["GET /api/runs/*/checkpoints/*"];
export type Verified = Answers["POST /api/runs/*/checkpoints/*/verify"];
export type ReplaySummary = Answers["GET /api/runs/*/replays"][number];
export type Film = Answers["GET /api/runs/*/replays/*"];
export type Comparison = Answers["GET /api/compare"];
export type Sweep = Answers["GET /api/sweeps"][number];
export type ClusterStatus = Answers["GET /api/cluster"];

/** Events of `/api/live`, by name: what is new, never what was sent before. */
export interface LiveEvents {
  /** Runs that have changed; those of them that are new or go on from an earlier point; those that were deleted. */
  readonly runs: {
    readonly changed: readonly RunSummary[];
    readonly anew: readonly string[];
    readonly gone: readonly string[];
  };
  /** Values that came since: of each metric, steps, times and values in order. Null where one is not finite. */
  readonly metrics: {
    readonly run: string;
    readonly series: Readonly<
      Record<string, { readonly step: number[]; readonly time: number[]; readonly value: (number | null)[] }>
    >;
  };
  /** There are new rows of a kind in the stats store: evaluations, checkpoints, replays, interventions, decisions. */
  readonly event: { readonly run: string; readonly kind: string };
  /** New lines of the log, with their offsets as a `LogPart` has them. */
  readonly log: LogPart & { readonly run: string };
  /** What the run answers to requests, and its state as control sees it. */
  readonly control: {
    readonly run: string;
    readonly state: ControlState;
    readonly records: readonly ControlRecord[];
  };
}
