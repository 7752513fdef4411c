import type { Generated } from "kysely";

/** The tables of a stats store, as kysely sees them. Both databases have the same. */
export interface Tables {
  readonly migrations: MigrationsTable;
  readonly runs: RunsTable;
  readonly run_heads: RunHeadsTable;
  readonly metric_keys: MetricKeysTable;
  readonly metric_blocks: MetricBlocksTable;
  readonly metrics: MetricsTable;
  readonly metric_sums: MetricSumsTable;
  readonly evaluations: EvaluationsTable;
  readonly episodes: EpisodesTable;
  readonly replays: FilesTable;
  readonly checkpoints: FilesTable;
  readonly heartbeats: HeartbeatsTable;
  readonly interventions: InterventionsTable;
  readonly hook_decisions: HookDecisionsTable;
  readonly hook_timings: HookTimingsTable;
}

interface MigrationsTable {
  version: number;
  name: string;
  applied_at: number;
}

interface RunsTable {
  number: Generated<number>;
  id: string;
  name: string;
  started_at: number;
  /** When and where the process that is at it now began: a second `startRun` of the same process changes nothing. */
  process: string;
  ended_at: number | null;
  outcome: string;
  reason: string | null;
  config: string;
  resumes: number;
}

/** Where filing a run stands: small, because every window changes it. */
interface RunHeadsTable {
  run: number;
  counters: string;
  /** Places given so far. Never goes back, so that a reader who follows misses nothing. */
  places: number;
  /** The latest wall time in blocks that are sealed: what is later than it cannot be in one of them. */
  sealed_wall: number | null;
  /** The block that goes on. Null where the next window begins one. */
  block: number | null;
  block_rows: number;
  first_wall: number | null;
  last_wall: number | null;
}

interface MetricKeysTable {
  id: Generated<number>;
  run: number;
  key: string;
  category: string;
  name: string;
  /** Empty where there is none. */
  unit: string;
  axis: string;
  reduction: string;
}

/**
 * Rows of a run that came one after the other, about a thousand. Within a block they are ordered by key and step: so a
 * window of many metrics changes few pages of the file, and the series of one metric is found by one look a block.
 */
interface MetricBlocksTable {
  id: Generated<number>;
  run: number;
  /** 1 where no more rows come: then its sums are in `metric_sums`, and the following is known. */
  sealed: number;
  first_wall: number | null;
  last_wall: number | null;
  last_place: number | null;
}

interface MetricsTable {
  block: number;
  key: number;
  step: number;
  /** What tells apart values of one metric at one step: see `identityOf`. */
  identity: number;
  place: number;
  wall: number;
  /** Null where `form` is not a number's. */
  value: number | null;
  form: number;
  /** A text or a histogram as JSON. */
  body: string | null;
  count: number;
  not_finite: number;
}

interface MetricSumsTable {
  block: number;
  key: number;
  points: number;
  last_step: number;
}

/** What all events have. */
interface EventColumns {
  number: Generated<number>;
  run: number;
  step: number;
  wall: number;
  identity: number;
}
interface EvaluationsTable extends EventColumns {
  name: string;
  scores: string;
  checkpoint: string | null;
}
interface EpisodesTable extends EventColumns {
  return: number | null;
  length: number | null;
  info: string | null;
}
interface FilesTable extends EventColumns {
  path: string;
  uri: string | null;
}
interface HeartbeatsTable extends EventColumns {
  pid: number;
  host: string;
  phase: string;
}
interface InterventionsTable extends EventColumns {
  who: string;
  what: string;
  details: string | null;
}

interface HookDecisionsTable {
  number: Generated<number>;
  run: number;
  hook: string;
  event: string;
  ran: number;
  why: string;
  from_step: number;
  to_step: number;
  times: number;
}

interface HookTimingsTable {
  run: number;
  hook: string;
  count: number;
  mean: number | null;
  p99: number | null;
  max: number | null;
  total: number | null;
}
