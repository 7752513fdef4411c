import { EspalierError, ThreadCalls, type ThreadEnd } from "../../core/index.ts";
import { type EngineChoice, startThread } from "../../engine/index.ts";
import { evaluationScores, type Frozen, latestReplay, type TrainerContext } from "../../trainer/index.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { Space } from "../spaces/space.ts";
import { evaluationSeed } from "./evaluate-checkpoint.ts";
import type { EvaluationSettings } from "./evaluation-hook.ts";
import type { PlayerState } from "./player.ts";
import { firstTensor, type HostState, toHost } from "./policy-steps.ts";
import {
  episodeRecorder,
  insertEvaluation,
  openRun,
  type RecordedEpisode,
  writeRecorded,
} from "./publish.ts";
import { allScores, type EvaluateOptions, evaluateSuites, type SuiteResult } from "./suites.ts";

/** In the background `log` does nothing: it would log under a later step. */
type LocalContext = Pick<TrainerContext, "slots" | "log" | "clock" | "state" | "counters" | "signal">;

/** Options that are the same here and in a thread. */
type EvaluationOptions = Pick<
  EvaluateOptions,
  "suites" | "episodes" | "seed" | "deterministic" | "vectorCount" | "engine"
>;

/** Evaluates a run in this process: while training waits, or in a thread. */
export class LocalEvaluations {
  readonly #settings: EvaluationSettings;
  readonly #thread = new EvaluationThread();
  /** The evaluation in the thread. Never rejects. */
  #underWay: Promise<void> | undefined;
  #skipped = 0;
  #count = 0;
  /** The run's id in the stats store. */
  #run: string | undefined;

  constructor(settings: EvaluationSettings) {
    this.#settings = settings;
  }

  /** Evaluates while training waits. */
  async inline(context: TrainerContext): Promise<void> {
    const { player } = this.#settings;
    const { components: state } = await context.snapshot(player.reads);
    await this.#publish(context, async (signal) => {
      const recorder = episodeRecorder(this.#recordedCount());
      const options = { ...this.#options(context), player, state, signal, record: recorder.record };
      return { results: await evaluateSuites(options), recorded: recorder.episodes };
    });
  }

  /** Evaluates the run as it is now while training goes on. One at a time: the next one waits, or is skipped. */
  background(context: TrainerContext): void | Promise<void> {
    if (!this.#underWay) return this.#start(context);
    if (this.#settings.whenBusy === "skip") {
      this.#skipped++;
      context.log({ [`${this.#settings.name}.skipped`]: this.#skipped }, "evaluation");
      return;
    }
    return this.#underWay.then(() => this.#start(context));
  }

  /** Freezes the run and lets the thread work. Returns a promise only if freezing does. */
  #start(context: TrainerContext): void | Promise<void> {
    const { slots, clock, counters, state, signal } = context;
    const log = (): void => undefined;
    const begin = ({ components }: Frozen): void => {
      const work = this.#inThread(components, { slots, clock, counters, state, signal, log });
      const done = work
        .catch(() => undefined)
        .then(() => {
          if (this.#underWay === done) this.#underWay = undefined;
        });
      this.#underWay = done;
      context.inBackground(work);
    };
    const frozen = context.snapshot(this.#settings.player.reads);
    return frozen instanceof Promise ? frozen.then(begin) : begin(frozen);
  }

  #inThread(components: PlayerState, context: LocalContext): Promise<void> {
    const { observationSpace, actionSpace, spec } = this.#settings.player.policy;
    return this.#publish(context, async (signal) => {
      const { engine, ...options } = this.#options(context);
      const request = {
        ...options,
        policy: spec,
        observationSpace,
        actionSpace,
        state: await toHost(components),
        engine: engine ?? engineBeside(components),
        recorded: this.#recordedCount(),
      };
      return this.#thread.evaluate(request, signal);
    });
  }

  /** Evaluates and publishes the results, unless the run ends at once: then this does, too. */
  async #publish(
    context: LocalContext,
    evaluate: (signal: AbortSignal) => Promise<EvaluationAnswer>,
  ): Promise<void> {
    try {
      await this.#file(context, await evaluate(context.signal));
    } catch (error) {
      if (!context.signal.aborted) throw error;
    }
  }

  /** Publishes results: to slots or metrics, the stats store, and replay files. */
  async #file(context: LocalContext, { results, recorded }: EvaluationAnswer): Promise<void> {
    const { primary, store, fileEpisodes, replays } = this.#settings;
    const { slots, clock, state, counters } = context;
    const scores = allScores(results);
    // Metrics read the slot; if another hook provides it, this one logs by itself.
    if (primary) slots.set(evaluationScores, { scores, counters });
    else context.log(scores, "evaluation");
    const written = replays ? await writeRecorded(replays.directory, recorded, counters, state.run) : [];
    // One after the other: metrics file each of them.
    if (primary) for (const replay of written) slots.set(latestReplay, replay);
    if (!store) return;
    const { steps: step } = counters;
    this.#run ??= await openRun(store, this.#settings.run ?? state.run, clock);
    await insertEvaluation(store, this.#run, { step, results }, { clock, episodes: fileEpisodes });
    const wall = clock.wall();
    const rows = written.map(({ path, uri }) => ({ step, path, uri: uri ?? undefined, wall }));
    if (rows.length > 0) await store.add(this.#run, "replay", rows);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #options({ state }: LocalContext): EvaluationOptions {
    const { suites, episodes, deterministic, vectorCount, engine } = this.#settings;
    const seed = this.#settings.seed ?? evaluationSeed(state.seed);
    return { suites, episodes, deterministic, vectorCount, engine, seed };
  }

  /** How many episodes of each suite are recorded in this evaluation. */
  #recordedCount(): number {
    const { replays } = this.#settings;
    const due = this.#count++ % (replays?.every ?? 1) === 0;
    return replays && due ? replays.episodes : 0;
  }
}

/** The engine of a thread beside the run: that of the run, unless it has a GPU, which two would have to share. */
function engineBeside(state: PlayerState): EngineChoice | undefined {
  const device = firstTensor(state)?.device;
  if (!device) return undefined;
  return device.kind === "cpu" ? device.engine : "wasm";
}

/** An evaluation for the thread, in plain data. */
export interface EvaluationRequest extends EvaluationOptions {
  readonly policy: PolicySpec;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** States of the components that the player reads. */
  readonly state: HostState;
  /** How many episodes of each suite are recorded. */
  readonly recorded: number;
}

export interface EvaluationAnswer {
  readonly results: readonly SuiteResult[];
  readonly recorded: readonly RecordedEpisode[];
}

/** A thread that evaluates. It starts with the first request; only a request keeps the process alive. */
export class EvaluationThread {
  #calls: ThreadCalls<EvaluationRequest, EvaluationAnswer> | undefined;

  /** Rejects with the signal's reason if that is aborted, and ends the thread. */
  async evaluate(request: EvaluationRequest, signal: AbortSignal): Promise<EvaluationAnswer> {
    signal.throwIfAborted();
    if (!this.#calls || this.#calls.ended) {
      const imports = modulesOf(request);
      const worker = startThread("rl/evaluation/thread-main", { name: "espalier-evaluation", imports });
      this.#calls = new ThreadCalls(worker, ended);
    }
    const stop = (): void => void this.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await this.#calls.make(request);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Ends the thread; the next request starts another. */
  async close(): Promise<void> {
    const calls = this.#calls;
    this.#calls = undefined;
    await calls?.terminate();
  }
}

/** The user's files that the thread has to import. */
function modulesOf({ policy, suites }: EvaluationRequest): readonly string[] {
  const own = Object.values(suites).flatMap(({ env }) => (typeof env === "object" ? [env.module] : []));
  return policy.module ? [policy.module.url, ...own] : own;
}

const ended = (end: ThreadEnd): EspalierError => {
  const how = "cause" in end ? end.cause.message : `exit code ${end.code}`;
  return new EspalierError("EVALUATION_THREAD", `the thread that evaluates has ended: ${how}`, {
    fix: 'look at the environment and the policy, or evaluate inline: mode: "inline"',
    ...("cause" in end && end),
  });
};
