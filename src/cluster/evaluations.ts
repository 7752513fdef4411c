/**
 * Evaluation of checkpoints on other machines, over a broker (broker.ts, nats.ts):
 *
 *     trainer: natsEvaluations         broker, for run RUN                             evaluator.ts
 *       begin     SESSION            ▶   values RUN=evaluation-records             ▶     drops jobs of other sessions
 *       submit    SESSION.JOB        ▶   queue RUN=evaluations                     ▶     takes one at a time
 *                                        values RUN=evaluation-claims, 20 s        ◀     claims it while it plays
 *       results ◀ watch, or get          values RUN=evaluation-records, outcomes   ◀     writes the outcome,
 *                                        queue RUN=evaluations                     ◀     then acknowledges the job
 *       close     SESSION is deleted ▶   values RUN=evaluation-records             ▶     stops playing its jobs
 *
 * An evaluator that dies stops extending: its claim ends, the job is delivered again, and another plays it. The record of
 * a job names those who began it: after five that did not come back, the job is a failure. Outcomes are values under
 * the job's key, so that writing one twice changes nothing, and the trainer takes each once. Only the trainer files
 * scores in a stats store: evaluators need none.
 */
import { isStoreAddress } from "../checkpoint/index.ts";
import {
  EspalierError,
  node,
  type Options,
  option,
  receiveError,
  resolveOptions,
  type SentError,
  systemClock,
} from "../core/index.ts";
import { openStatsStore, type StatsStore } from "../metrics/index.ts";
import {
  type EvaluationJob,
  type EvaluationOutcome,
  type EvaluationQueue,
  insertEvaluation,
  openRun,
  SubmittedJobs,
} from "../rl/index.ts";
import { type Broker, type BrokerValues, type MessageQueue, pause } from "./broker.ts";
import {
  checkClusterName,
  decode,
  describeRun,
  encode,
  findRun,
  listMembers,
  Membership,
  partOf,
} from "./members.ts";
import { natsBroker, natsRows } from "./nats.ts";
import { connectionOf } from "./transport.ts";

const optionTable = {
  ...natsRows,
  /** The run's name: evaluators find it by that. */
  run: option.text({ required: true, doc: "The run's name." }),
  /** Location of a stats store that gets a row for each suite: a SQLite file or a postgres:// URL. Evaluators need none. */
  store: option.text({ doc: "Location of a stats store that gets a row for each suite." }),
  /** Jobs that may wait for an evaluator. Default: 1000. */
  capacity: option.integer({ min: 1, default: 1000, doc: "Jobs that may wait for an evaluator." }),
  /** Seconds for which training waits with a job where the server is away, or full of jobs. Default: 120. */
  submitWithin: option.number({
    min: 0,
    default: 120,
    doc: "Seconds for which training waits with a job where the server is away, or full of jobs.",
  }),
};

/** Options of {@link natsEvaluations}. */
export interface NatsEvaluationsOptions extends Options<typeof optionTable> {}

/**
 * Has checkpoints evaluated on other machines, by a NATS server: `espalier evaluator --run NAME` starts an evaluator,
 * anywhere where the checkpoints can be read. It connects when training starts. Evaluators come and go as they like.
 *
 * @example
 * ```ts
 * const queue = natsEvaluations({ servers: "nats://trainer:4222", run: "maze", store: "runs/stats.db" });
 * evaluationHook({ player: task.player, suites, schedule: every({ epochs: 10 }), mode: "remote", queue });
 * ```
 */
export function natsEvaluations(options: NatsEvaluationsOptions): EvaluationQueue {
  const { run, store, capacity, submitWithin } = resolveOptions("natsEvaluations", options, optionTable);
  checkClusterName("run", run);
  const connect = (): Promise<Broker> => natsBroker(connectionOf(options));
  return new ClusterEvaluations({ run, store, capacity, submitWithin, connect });
}

interface EvaluationsSettings {
  readonly run: string;
  readonly store?: string | undefined;
  readonly capacity: number;
  readonly submitWithin: number;
  readonly connect: () => Promise<Broker>;
  /** Tells jobs of this process from those of another trainer of the run. Default: random. */
  readonly process?: string;
}

/** Milliseconds without a word of its evaluator after which a job is delivered again. */
const acknowledgeWithin = 30_000;
/** Seconds after which a claim that is not renewed is gone: before the job is delivered again. */
const claimSeconds = 20;
/** Milliseconds between two looks for what was not heard of. */
export const lookAgain = 5000;
/** Milliseconds after which a request that the broker did not answer is made again. */
export const tryAgain = 1000;
/** Outcomes that stay with the broker: a job whose acknowledgement was lost is not played again. */
const keptOutcomes = 100;

/** What the broker keeps of a run's evaluations. */
export interface EvaluationParts {
  readonly queue: MessageQueue;
  /** Sessions of trainers, and the {@link JobRecord} of each job. */
  readonly records: BrokerValues;
  /** Jobs that are played now. */
  readonly claims: BrokerValues;
}

export async function openParts(broker: Broker, run: string, capacity?: number): Promise<EvaluationParts> {
  const size = capacity === undefined ? {} : { capacity };
  return {
    queue: await broker.queue(partOf(run, "evaluations"), { acknowledgeWithin, ...size }),
    records: await broker.values(partOf(run, "evaluation-records")),
    claims: await broker.values(partOf(run, "evaluation-claims"), { seconds: claimSeconds }),
  };
}

/** What is known of a job, beside the job. */
export interface JobRecord {
  /** Evaluators that began it and have not come back. */
  readonly begun: readonly string[];
  readonly outcome?: SentOutcome;
}

/** An outcome as JSON: scores that are not finite are texts. */
export interface SentOutcome {
  readonly results?: readonly {
    readonly suite: string;
    readonly scores: Readonly<Record<string, number | string>>;
  }[];
  readonly replays?: EvaluationOutcome["replays"];
  readonly failure?: SentError;
}

/** Does something every so many milliseconds, until the function that it returns is called. Failures do not matter. */
export function repeat({ timers }: Broker, milliseconds: number, work: () => Promise<void>): () => void {
  let cancel = (): void => undefined;
  const next = (): void => {
    cancel = timers.after(milliseconds, () => {
      next();
      work().catch(() => undefined);
    });
  };
  next();
  return () => cancel();
}

/** The trainer's side once it is connected. */
interface OpenedQueue extends EvaluationParts {
  readonly broker: Broker;
  readonly session: string;
  readonly member: Membership;
  stopLooking(): void;
}

/** The trainer's side: a queue of evaluations over a broker. */
export class ClusterEvaluations implements EvaluationQueue {
  readonly recordsReplays = true;
  readonly #settings: EvaluationsSettings;
  readonly #jobs = new SubmittedJobs();
  /** Jobs under way, by key. */
  readonly #underWay = new Map<
    string,
    { readonly job: EvaluationJob; readonly done: (outcome?: EvaluationOutcome) => void }
  >();
  /** Keys of outcomes that the broker keeps. */
  readonly #kept: string[] = [];
  #opening: Promise<OpenedQueue> | undefined;
  #store: Promise<StatsStore> | undefined;
  /** The newest row of the stats store, once it is there. */
  #filed: Promise<Error | undefined> = Promise.resolve(undefined);

  constructor(settings: EvaluationsSettings) {
    this.#settings = settings;
  }

  opens(address: string): boolean {
    return isStoreAddress(address);
  }

  async begin(): Promise<void> {
    await this.#open();
  }

  /** Connects, once. After a failure the next call tries again. */
  #open(): Promise<OpenedQueue> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<OpenedQueue> {
    const { connect, submitWithin } = this.#settings;
    const broker = await connect();
    const until = broker.timers.now() + submitWithin * 1000;
    for (;;)
      try {
        return await this.#begin(broker);
      } catch (error) {
        if (isPassing(error) && broker.timers.now() < until) await pause(broker.timers, tryAgain);
        else {
          await broker.close();
          throw error;
        }
      }
  }

  async #begin(broker: Broker): Promise<OpenedQueue> {
    const { run, capacity, process = markOfProcess() } = this.#settings;
    await describeRun(broker, { ...(await findRun(broker, run)), run, state: "running" });
    const parts = await openParts(broker, run, capacity);
    const { records } = parts;
    // Those of a trainer that was killed count no more.
    for (const key of await records.keys()) if (!key.startsWith(`${process}-`)) await records.delete(key);
    const session = `${process}-${++sessions}`;
    await records.put(session, encode({}));
    const about = { kind: "trainer", name: `evaluations-${session}` } as const;
    const member = await Membership.join(broker, run, about, () => ({
      doing: "has checkpoints evaluated",
      numbers: { underWay: this.#underWay.size },
    }));
    const unwatch = records.watch((key, bytes) => this.#heard(key, bytes, records));
    const stop = repeat(broker, lookAgain, async () => {
      for (const key of this.#underWay.keys()) {
        const found = await records.get(key);
        if (found) this.#heard(key, found.bytes, records);
      }
    });
    const stopLooking = (): void => {
      unwatch();
      stop();
    };
    return { ...parts, broker, session, member, stopLooking };
  }

  async submit(job: EvaluationJob, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const { broker, queue, session } = await this.#open();
    const { timers } = broker;
    const key = `${session}.${keyOf(job.id)}`;
    const done = this.#jobs.add(job);
    this.#underWay.set(key, { job, done });
    const until = timers.now() + this.#settings.submitWithin * 1000;
    try {
      for (;;) {
        const failure = await queue.put(key, encode(job)).then(
          (answer) => (answer === "full" ? this.#full() : undefined),
          (error: unknown) => error,
        );
        if (failure === undefined) return;
        if (timers.now() >= until || !isPassing(failure)) throw failure;
        await pause(timers, tryAgain, signal);
        signal?.throwIfAborted();
      }
    } catch (error) {
      this.#underWay.delete(key);
      done();
      throw error;
    }
  }

  #full(): EspalierError {
    const { run, capacity } = this.#settings;
    return new EspalierError("EVALUATIONS_FULL", `${capacity} evaluations of run "${run}" wait already`, {
      fix: `start evaluators: espalier evaluator --run ${run}; or evaluate less often`,
    });
  }

  #heard(key: string, bytes: Uint8Array, records: BrokerValues): void {
    const found = this.#underWay.get(key);
    const { outcome } = decode(bytes) as Partial<JobRecord>;
    if (!found || !outcome) return;
    this.#underWay.delete(key);
    this.#kept.push(key);
    if (this.#kept.length > keptOutcomes) records.delete(this.#kept.shift() ?? "").catch(() => undefined);
    void this.#outcome(found.job, outcome).then(found.done);
  }

  async #outcome(job: EvaluationJob, sent: SentOutcome): Promise<EvaluationOutcome> {
    if (sent.failure) return { job, failure: receiveError(sent.failure) };
    const results = (sent.results ?? []).map(({ suite, scores }) => ({
      suite,
      scores: Object.fromEntries(Object.entries(scores).map(([name, value]) => [name, Number(value)])),
    }));
    // One after the other: the first starts the run there.
    this.#filed = this.#filed.then(() => this.#file(job, results));
    const failure = await this.#filed;
    return { job, results, replays: sent.replays ?? [], ...(failure && { failure }) };
  }

  /** Files scores in the stats store, where there is one. Returns the reason where that fails. */
  async #file(
    { run, step, checkpoint }: EvaluationJob,
    results: NonNullable<EvaluationOutcome["results"]>,
  ): Promise<Error | undefined> {
    const { store: location } = this.#settings;
    if (location === undefined) return undefined;
    try {
      this.#store ??= openStatsStore(location).catch((error: unknown) => {
        this.#store = undefined;
        throw error;
      });
      const store = await this.#store;
      const id = await openRun(store, run, systemClock);
      const evaluation = { step, results, checkpoint };
      await insertEvaluation(store, id, evaluation, { clock: systemClock, episodes: false });
      return undefined;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      return new EspalierError("EVALUATION_UNFILED", `its scores are not in ${location}: ${why}`, { cause });
    }
  }

  results: EvaluationQueue["results"] = (run, options) => this.#jobs.results(run, options);

  async close(): Promise<void> {
    const { run } = this.#settings;
    const opening = this.#opening;
    this.#opening = undefined;
    for (const { done } of this.#underWay.values()) done();
    this.#underWay.clear();
    this.#jobs.clear();
    this.#kept.length = 0;
    const opened = await opening?.catch(() => undefined);
    if (opened) {
      const { broker, session, records, member, stopLooking } = opened;
      stopLooking();
      await member.leave();
      try {
        for (const key of await records.keys())
          if (key === session || key.startsWith(`${session}.`)) await records.delete(key);
        // Where rollouts are trained on, or others have checkpoints evaluated, it is not over.
        const isOver = (await listMembers(broker, run)).every(({ kind }) => kind !== "trainer");
        const found = await findRun(broker, run);
        if (isOver && found) await describeRun(broker, { ...found, state: "ended" });
      } catch {
        // The broker is away: the next trainer of the run deletes what is left.
      }
      await broker.close();
    }
    const store = this.#store;
    this.#store = undefined;
    await (await store?.catch(() => undefined))?.close();
  }
}

/** Sessions of this process, and its mark in keys. */
let sessions = 0;
let mark = "";

function markOfProcess(): string {
  mark ||= node.crypto.randomBytes(6).toString("hex");
  return mark;
}

/** A job's id in letters that keys take; no two ids become one. */
const keyOf = (id: string): string =>
  id.replace(/[^A-Za-z0-9-]/g, (letter) => `_${letter.charCodeAt(0).toString(16)}_`);

/** True for errors that pass when the broker is back or has room again. */
const isPassing = (error: unknown): boolean =>
  error instanceof EspalierError &&
  ["CLUSTER_NO_ANSWER", "CLUSTER_SERVER_FULL", "EVALUATIONS_FULL"].includes(error.code);
