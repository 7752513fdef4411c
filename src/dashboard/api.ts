// What the dashboard's server and page say to each other: routes with their answers, and the events of live updates.
// Both sides import these types, and nothing of Node stands here.
//
//   GET    /api/session                          Session
//   GET    /api/runs                             RunSummary[], newest first
//   GET    /api/sparks?key=K&run=A&run=B         Sparks: a few values of one metric of each run
//   GET    /api/runs/ID                          RunDetail
//   GET    /api/runs/ID/series?key=K&key=L&points=N&from=&to=&axis=step|time     Series[]
//   GET    /api/runs/ID/events?kind=evaluation   rows of the stats store: RunEvents[kind][]
//   GET    /api/runs/ID/hooks                    Hooks: order with reasons, timings, which are enabled
//   GET    /api/runs/ID/why?hook=H&at=STEP       Why
//   GET    /api/runs/ID/log?before=OFFSET        LogPart: the last lines before an offset, the newest without one
//   GET    /api/runs/ID/checkpoints              CheckpointSummary[], newest first
//   GET    /api/runs/ID/checkpoints/NAME         CheckpointDetail
//   GET    /api/runs/ID/replays                  ReplaySummary[], newest first
//   GET    /api/runs/ID/replays/NAME             Film
//   GET    /api/compare?run=A&run=B              Comparison
//   GET    /api/sweeps                           Sweep[]
//   GET    /api/cluster                          ClusterStatus
//   GET    /api/live?run=A&run=B                 server-sent events: LiveEvents by name; read by fetch, with the token
//
// With the token in the header `x-espalier-token`:
//
//   POST   /api/runs/ID/control                  ControlRequest -> ControlRequest; the run's answer comes as an event
//   POST   /api/runs/ID/marks                    Marks -> RunSummary
//   DELETE /api/runs/ID?confirm=ID               {}
//   POST   /api/runs/ID/checkpoints/NAME/verify  Verified
//   POST   /api/runs/ID/checkpoints/NAME/protect { protected: boolean } -> CheckpointSummary
//
// A failure is { error: ApiError } with its status.
import type { ControlRecord, ControlRequest, ControlState } from "../metrics/index.ts";

export type { ControlRecord, ControlRequest, ControlState };

/** A failure, as an EspalierError has it. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

/** The server, and what this page may do. */
export interface Session {
  readonly version: string;
  /** The stats store, without passwords. */
  readonly store: string;
  /** The directory of runs. */
  readonly directory: string;
  /** True where the request had the token: the page may steer. */
  readonly control: boolean;
  /** Milliseconds since 1970 at the server. */
  readonly now: number;
}

/** The state of a run: its outcome; `lost` where it never ended and its process is gone. */
export type RunState = "running" | "paused" | "completed" | "stopped" | "interrupted" | "failed" | "lost";

/** A run in the list. */
export interface RunSummary {
  readonly id: string;
  readonly name: string;
  readonly state: RunState;
  readonly reason?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly heartbeat?: number;
  readonly resumes: number;
  readonly counters: Readonly<Record<string, number>>;
  /** Counters at which it ends, where they are known. */
  readonly limits: Readonly<Record<string, number>>;
  /** The share that is done, from 0 to 1, where the length is known. */
  readonly progress?: number;
  readonly tags: readonly string[];
  readonly archived: boolean;
  /** The sweep that it is a trial of. */
  readonly sweep?: string;
}

/** Marks that a person gives a run. What is left out stays as it is. */
export interface Marks {
  readonly tags?: readonly string[];
  readonly archived?: boolean;
}

/** The newest values of one metric, evenly chosen, by run. Null where a value is not finite. */
export type Sparks = Readonly<Record<string, readonly (number | null)[]>>;

/** A metric of a run. */
export interface MetricSummary {
  /** Category and name: `train/loss`. */
  readonly key: string;
  readonly category: string;
  readonly name: string;
  readonly unit?: string;
  /** The counter that its steps count: `updates`, `epochs`, ... */
  readonly axis: string;
  readonly points: number;
  /** The newest value; null where it is not finite, missing where it is no number. */
  readonly last?: number | null;
}

/** A run in full. */
export interface RunDetail extends RunSummary {
  /** The resolved configuration as YAML where the run has a directory, else the settings filed in the store. */
  readonly config: string;
  /** Settings as paths and values: what comparisons go by. */
  readonly settings: Readonly<Record<string, string>>;
  readonly metrics: readonly MetricSummary[];
  /** How many rows of each kind the store has. */
  readonly events: Readonly<Record<string, number>>;
  /** False where there is no directory of this run here: no log, no checkpoints to look into, no control. */
  readonly hasDirectory: boolean;
  /** False where it is in no stats store: no metrics, no evaluations, no marks. */
  readonly isFiled: boolean;
  /** What the run can be told; missing where nothing listens. */
  readonly control?: ControlState;
}

/**
 * A metric over steps or time, thinned by the server: each point stands for the values between two pixels. Arrays have
 * the same length. Null where no value there was finite.
 */
export interface Series {
  readonly run: string;
  readonly key: string;
  /** The step, or milliseconds since 1970, of the last value of each point. */
  readonly x: readonly number[];
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
  readonly mean: readonly (number | null)[];
  /** Values that the points stand for, those that are not finite among them. */
  readonly values: number;
  readonly notFinite: number;
}

/** The hooks of a run. */
export interface Hooks {
  /** The plan as text, with the reason for each place. Missing without a directory. */
  readonly plan?: string;
  readonly hooks: readonly {
    readonly name: string;
    readonly enabled: boolean;
    readonly count: number;
    /** Milliseconds. */
    readonly mean: number;
    readonly p99: number;
    readonly max: number;
    readonly total: number;
  }[];
}

/** Why a hook did or did not run. */
export interface Why {
  readonly hook: string;
  readonly lines: readonly string[];
}

/** Lines of a run's log. `from` and `to` are offsets in the file, in bytes. */
export interface LogPart {
  readonly lines: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** A checkpoint in the list. */
export interface CheckpointSummary {
  readonly name: string;
  readonly step: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bytes: number;
  readonly protected: boolean;
  readonly metrics: Readonly<Record<string, number>>;
}

/** A checkpoint and what lies in it. */
export interface CheckpointDetail extends CheckpointSummary {
  readonly counters: Readonly<Record<string, number>>;
  readonly components: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly tensors: readonly {
      readonly path: string;
      readonly dtype: string;
      readonly shape: readonly number[];
    }[];
    readonly values: Readonly<Record<string, string>>;
  }[];
}

/** Whether every file of a checkpoint has the bytes that its manifest promises. */
export interface Verified {
  readonly whole: boolean;
  readonly problem?: string;
}

/** A recorded episode in the list. */
export interface ReplaySummary {
  readonly name: string;
  readonly step: number;
  readonly at: number;
  readonly steps?: number;
  readonly return?: number;
}

/** A recorded episode as pictures: SVG documents without scripts, one a frame. */
export interface Film {
  readonly fps: number;
  readonly frames: readonly string[];
}

/** Settings in which runs differ, and the newest metrics of each. */
export interface Comparison {
  readonly runs: readonly RunSummary[];
  /** By path: a value for each run, null where it has none. Only paths that differ. */
  readonly settings: Readonly<Record<string, readonly (string | null)[]>>;
  readonly metrics: Readonly<Record<string, readonly (number | null)[]>>;
}

/** The trials of a sweep. */
export interface Sweep {
  readonly id: string;
  readonly metric: string;
  /** Which results are better, where the sweep's file says it. */
  readonly direction?: "minimize" | "maximize";
  readonly parameters: readonly string[];
  readonly trials: readonly {
    readonly run: string;
    readonly state: RunState;
    readonly values: Readonly<Record<string, string>>;
    readonly result: number | null;
  }[];
}

/** Workers and evaluators of runs over a NATS server. `problem` says why there is nothing to see. */
export interface ClusterStatus {
  readonly server?: string;
  readonly problem?: string;
  readonly runs: readonly {
    readonly run: string;
    readonly state: string;
    /** Rollouts that wait for the trainer. */
    readonly queued?: number;
    readonly members: readonly {
      readonly name: string;
      readonly role: string;
      readonly host: string;
      readonly doing: string;
      /** Trainer steps by which its weights are behind. */
      readonly staleness?: number;
      readonly rate?: number;
      readonly seen: number;
    }[];
  }[];
}

/** Events of `/api/live`, by name: increments, never what was sent before. */
export interface LiveEvents {
  /** Runs that are new or have changed; `gone` were deleted. */
  readonly runs: { readonly changed: readonly RunSummary[]; readonly gone: readonly string[] };
  /** Values that came since: of each metric, steps, times and values in order. Null where one is not finite. */
  readonly metrics: {
    readonly run: string;
    readonly series: Readonly<
      Record<string, { readonly step: number[]; readonly time: number[]; readonly value: (number | null)[] }>
    >;
  };
  /** New rows of a kind in the stats store: evaluations, checkpoints, replays, interventions, decisions. */
  readonly event: { readonly run: string; readonly kind: string; readonly rows: readonly unknown[] };
  /** New lines of the log, with their offsets as a `LogPart` has them. */
  readonly log: LogPart & { readonly run: string };
  /** What the run answers to requests, and its state as control sees it. */
  readonly control: {
    readonly run: string;
    readonly state: ControlState;
    readonly records: readonly ControlRecord[];
  };
}
