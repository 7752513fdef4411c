/**
 * An evaluator on any machine, as `espalier evaluator` runs it. What it shares with the trainer is in evaluations.ts.
 *
 *     wait for the run's trainer, join under a name
 *     until the run ends, the signal is aborted, or it did as many jobs as it was asked for:
 *       take a job                      of a session that is over, or with an outcome: acknowledge it, nothing else
 *       claim it                        another plays it: leave it, it is delivered again if that one dies
 *       five began it and died:         its outcome is a failure
 *       play                            meanwhile extend it, renew the claim, look whether the trainer still wants it
 *       write the outcome, acknowledge the job
 *     leave; a job that it plays is given back
 */
import { EspalierError, errorText, node, sendError, toStandardError } from "../core/index.ts";
import type { EngineChoice } from "../engine/index.ts";
import { type EvaluationJob, type EvaluationOutcome, evaluateJob } from "../rl/index.ts";
import { type Broker, type Delivery, type MessageQueue, pause } from "./broker.ts";
import {
  type EvaluationParts,
  type JobRecord,
  lookAgain,
  openParts,
  repeat,
  type SentOutcome,
  tryAgain,
} from "./evaluations.ts";
import { awaitRun, decode, encode, findRun, Membership, type RunDescription, watchRun } from "./members.ts";

/** What an evaluator tells of: that it has joined, and each job when it is over. */
export type EvaluatorEvent =
  | { readonly kind: "joined" }
  | ({
      /** `returned`: given back because the evaluator leaves. `cancelled`: the trainer does not want it any more. */
      readonly kind: "done" | "failed" | "returned" | "cancelled";
      readonly seconds: number;
    } & EvaluationOutcome);

/** Options of {@link runEvaluator}. */
export interface EvaluatorOptions {
  readonly broker: Broker;
  readonly run: string;
  /** Its name among the evaluators of the run. */
  readonly name: string;
  /** Where policies run. Default: on the engine of this process. */
  readonly engine?: EngineChoice;
  /** Jobs after which it leaves. Default: it stays until the run ends. */
  readonly jobs?: number;
  /** Seconds to wait for the run's trainer. Default: 60. */
  readonly patience?: number;
  /** Aborted, it gives back the job that it plays, and leaves. */
  readonly signal?: AbortSignal;
  /** Default: standard error. */
  readonly warn?: (text: string) => void;
  readonly told?: (event: EvaluatorEvent) => void;
  /** Default: plays episodes with the checkpoint's policy. */
  readonly evaluate?: typeof evaluateJob;
}

/** Milliseconds between two words of an evaluator about its job. */
const extendEvery = 5000;
/** Evaluators that may die while they have a job. Some are killed for other reasons. */
const attempts = 5;
/** Jobs that all evaluators of a run may have at once. */
const ahead = 1000;

/**
 * Evaluates checkpoints of a run until that ends, as `espalier evaluator` does. Resolves to the reason for which it
 * left, and its number of jobs.
 *
 * @example
 * ```ts
 * const broker = await natsBroker({ servers: "nats://trainer:4222" });
 * await runEvaluator({ broker, run: "maze", name: "evaluator-1" });
 * await broker.close();
 * ```
 */
export async function runEvaluator(
  options: EvaluatorOptions,
): Promise<{ readonly why: "ended" | "stopped" | "jobs"; readonly jobs: number }> {
  const { broker, run, name, jobs = Number.POSITIVE_INFINITY } = options;
  const { patience = 60, warn = toStandardError } = options;
  const ended = new AbortController();
  const check = (found: RunDescription | undefined): void => {
    if (found?.state === "ended") ended.abort();
  };
  check(await awaitRun(broker, run, { seconds: patience, warn }));
  const stopWatching = await watchRun(broker, run, check);
  const stopLooking = repeat(broker, lookAgain, async () => check(await findRun(broker, run)));
  const leaving = AbortSignal.any([ended.signal, options.signal ?? []].flat());
  let playing: EvaluationJob | undefined;
  const counts = { jobs: 0, failed: 0 };
  try {
    const parts = await openParts(broker, run);
    const member = await Membership.join(broker, run, { kind: "evaluator", name }, () => ({
      doing: playing ? `evaluates step ${playing.step}` : "waits for a job",
      numbers: counts,
    }));
    options.told?.({ kind: "joined" });
    try {
      while (!leaving.aborted && counts.jobs < jobs) {
        const delivery = await nextDelivery(broker, parts.queue, leaving);
        if (!delivery) break;
        playing = decode(delivery.bytes) as EvaluationJob;
        // The broker is away, or was: it delivers the job again.
        const event = await perform(playing, delivery, { ...options, parts, leaving }).catch(
          (error: unknown) => warn(error instanceof Error ? error.message : String(error)),
        );
        playing = undefined;
        if (event?.kind === "done" || event?.kind === "failed") counts.jobs++;
        if (event?.kind === "failed") counts.failed++;
        if (event) options.told?.(event);
      }
    } finally {
      await member.leave();
    }
    return { why: ended.signal.aborted ? "ended" : leaving.aborted ? "stopped" : "jobs", jobs: counts.jobs };
  } finally {
    stopWatching();
    stopLooking();
  }
}

/** Takes one message from the queue, however long that takes. Undefined when the signal is aborted. */
async function nextDelivery(
  { timers }: Broker,
  queue: MessageQueue,
  signal: AbortSignal,
): Promise<Delivery | undefined> {
  while (!signal.aborted)
    try {
      return await new Promise((resolve, reject) => {
        let state: "waiting" | "over" = "waiting";
        let end = async (): Promise<void> => undefined;
        const over = (delivery?: Delivery): void => {
          if (state === "over") delivery?.release();
          else {
            state = "over";
            signal.removeEventListener("abort", abort);
            void ending(); // At once, so that the server sends no other.
            resolve(delivery);
          }
        };
        const abort = (): void => over();
        const ending = (): Promise<void> =>
          end().catch(() =>
            pause(timers, tryAgain, signal).then(() => (signal.aborted ? undefined : ending())),
          );
        signal.addEventListener("abort", abort, { once: true });
        queue.consume(over, { ahead, each: 1 }).then(
          (stop) => {
            end = stop;
            if (state === "over") void ending();
          },
          (error: unknown) => {
            signal.removeEventListener("abort", abort);
            reject(error);
          },
        );
      });
    } catch {
      // The broker is away, and says so by itself.
      await pause(timers, tryAgain, signal);
    }
  return undefined;
}

interface PerformOptions extends EvaluatorOptions {
  readonly parts: EvaluationParts;
  readonly leaving: AbortSignal;
}

/** Does a job. Resolves to what became of it; to undefined where it was not to be done. */
async function perform(
  job: EvaluationJob,
  delivery: Delivery,
  options: PerformOptions,
): Promise<Exclude<EvaluatorEvent, { readonly kind: "joined" }> | undefined> {
  const { broker, name, engine, leaving, evaluate = evaluateJob } = options;
  const { records, claims } = options.parts;
  const key = delivery.id;
  const session = key.slice(0, key.indexOf("."));
  if (!(await records.get(session))) return void delivery.acknowledge();
  const claim = encode(name);
  if ((await claims.put(key, claim, { revision: 0 })) === undefined) return undefined;
  const began = broker.timers.now();
  const cancelled = new AbortController();
  const stop = repeat(broker, extendEvery, async () => {
    delivery.extend();
    await claims.put(key, claim);
    if (!(await records.get(session))) cancelled.abort();
  });
  const write = (record: JobRecord) => writeRecord(key, record, options);
  let release = (): void => undefined;
  try {
    const { begun = [], outcome } = await recordOf(key, options.parts);
    if (outcome) return void delivery.acknowledge();
    const signal = AbortSignal.any([leaving, cancelled.signal]);
    const about = () => ({ job, seconds: (broker.timers.now() - began) / 1000 });
    try {
      if (begun.length >= attempts) throw abandoned(job, begun);
      await write({ begun: [...begun, name] });
      const played = await evaluate(job, { signal, ...(engine !== undefined && { engine }) });
      await write({ begun, outcome: sendable(played) });
      delivery.acknowledge();
      return { kind: "done", ...about(), ...played };
    } catch (cause) {
      if (leaving.aborted) {
        release = () => delivery.release();
        await write({ begun });
        return { kind: "returned", ...about() };
      }
      const failure = inWords(cause, job, name);
      if (!cancelled.signal.aborted) await write({ begun, outcome: { failure: sendError(failure) } });
      delivery.acknowledge();
      return cancelled.signal.aborted
        ? { kind: "cancelled", ...about() }
        : { kind: "failed", ...about(), failure };
    }
  } finally {
    stop();
    await claims.delete(key).catch(() => undefined);
    release();
  }
}

/** Writes the record of a job until the broker has it; one who is to leave tries once. The first outcome stays. */
async function writeRecord(key: string, record: JobRecord, options: PerformOptions): Promise<void> {
  const { broker, leaving, parts } = options;
  for (;;) {
    try {
      const { outcome, revision } = await recordOf(key, parts);
      // By its revision: what was given up before, and arrives late, is refused.
      if (outcome || (await parts.records.put(key, encode(record), { revision }))) return;
    } catch (error) {
      if (leaving.aborted) throw error;
      await pause(broker.timers, tryAgain, leaving);
    }
  }
}

async function recordOf(
  key: string,
  { records }: EvaluationParts,
): Promise<Partial<JobRecord> & { readonly revision: number }> {
  const found = await records.get(key);
  return found ? { ...(decode(found.bytes) as JobRecord), revision: found.revision } : { revision: 0 };
}

/** Scores that JSON has no numbers for become texts. */
const sendable = ({ results = [], replays = [] }: SentOutcome): SentOutcome => ({
  results: results.map(({ suite, scores }) => ({
    suite,
    scores: Object.fromEntries(
      Object.entries(scores).map(([name, value]) => [name, Number.isFinite(value) ? value : String(value)]),
    ),
  })),
  replays,
});

/** The error of a job, with the evaluator's name and what to change. */
function inWords(cause: unknown, { checkpoint }: EvaluationJob, name: string): EspalierError {
  const known = cause instanceof EspalierError ? cause : undefined;
  const text = known ? errorText(known) : cause instanceof Error ? cause.message : String(cause);
  const unread = known && /^(CHECKPOINT|STORE|S3)_/.test(known.code);
  const shared = `let this machine read ${checkpoint}: save or publish checkpoints to a directory that all machines share, or to s3://BUCKET/RUN`;
  const fix = unread ? [known.fix, shared].filter(Boolean).join("; or ") : known?.fix;
  return new EspalierError(
    known?.code ?? "EVALUATOR_FAILED",
    `evaluator ${name} on ${node.os.hostname()}: ${text}`,
    { ...(fix !== undefined && { fix }), cause },
  );
}

const abandoned = ({ checkpoint }: EvaluationJob, begun: readonly string[]): EspalierError =>
  new EspalierError("EVALUATOR_FAILED", `${begun.length} evaluators have died with it: ${begun.join(", ")}`, {
    fix: `look for what ends them, often memory: espalier evaluate ${checkpoint}`,
  });
