import { isPlainObject } from "../../core/index.ts";
import { type EngineChoice, Tensor } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Frozen, TrainerContext } from "../../trainer/index.ts";
import { Delivery, type Telling } from "./delivery.ts";
import { evaluationSeed } from "./evaluate-checkpoint.ts";
import { evaluateSuites } from "./evaluate-suites.ts";
import type { EvaluationPlan } from "./evaluation-options.ts";
import { toHost } from "./host-state.ts";
import type { PlayerState } from "./player.ts";
import { episodeRecorder } from "./replays.ts";
import { EvaluationThread } from "./thread.ts";

/** Where the run was when an evaluation was due. */
type Moment = Telling & Pick<TrainerContext, "counters" | "signal">;

/** Evaluates a run in this process: while training waits, or in a thread. */
export class LocalEvaluations {
  readonly #plan: EvaluationPlan;
  readonly #delivery: Delivery;
  readonly #thread = new EvaluationThread();
  /** The one in the thread. Never rejects. */
  #underWay: Promise<void> | undefined;
  #skipped = 0;
  #count = 0;

  constructor(plan: EvaluationPlan) {
    this.#plan = plan;
    this.#delivery = new Delivery(plan);
  }

  /** Training waits for it. */
  async inline(context: TrainerContext): Promise<void> {
    const { player, suites, episodes, deterministic, vectorCount, engine } = this.#plan;
    const { counters, signal } = context;
    const { components } = await context.snapshot(player.reads);
    const recorder = episodeRecorder(this.#recorded());
    try {
      const results = await evaluateSuites({
        ...{ player, state: components, suites, episodes, deterministic, vectorCount, signal },
        ...{ seed: this.#seed(context), record: recorder.record },
        ...(engine !== undefined && { engine }),
      });
      await this.#delivery.tell(context, { results, counters, recorded: recorder.episodes });
    } catch (error) {
      if (!signal.aborted) throw error; // The run ends at once, and so does this.
    }
  }

  /** Training goes on meanwhile, on the run as it is now. One at a time: the next waits, or is left out. */
  background(context: TrainerContext): void | Promise<void> {
    if (!this.#underWay) return this.#start(context);
    if (this.#plan.whenBusy === "skip") {
      this.#skipped++;
      context.log({ [`${this.#plan.name}.skipped`]: this.#skipped }, "evaluation");
      return;
    }
    return this.#underWay.then(() => this.#start(context));
  }

  /** Freezes the run and lets the thread work. A promise only where freezing gives one. */
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
    const frozen = context.snapshot(this.#plan.player.reads);
    return frozen instanceof Promise ? frozen.then(begin) : begin(frozen);
  }

  async #inThread(components: PlayerState, context: Moment): Promise<void> {
    const { player, suites, episodes, deterministic, vectorCount, engine } = this.#plan;
    const { observationSpace, actionSpace, spec } = player.policy;
    const { counters, signal } = context;
    const names = Object.keys(components);
    try {
      const parts = await Promise.all(names.map((name) => toHost(components[name] as StateTree)));
      const state = Object.fromEntries(names.map((name, i) => [name, parts[i]]));
      const { results, recorded } = await this.#thread.evaluate(
        {
          ...{
            policy: spec,
            observationSpace,
            actionSpace,
            state,
            suites,
            episodes,
            deterministic,
            vectorCount,
          },
          ...{ seed: this.#seed(context), engine: engine ?? engineBeside(components) },
          recorded: this.#recorded(),
        },
        signal,
      );
      await this.#delivery.tell(context, { results, counters, recorded });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #seed({ state }: Pick<TrainerContext, "state">): number {
    return this.#plan.seed ?? evaluationSeed(state.seed);
  }

  /** How many episodes of each suite are recorded in this evaluation. */
  #recorded(): number {
    const { replays } = this.#plan;
    const due = this.#count++ % (replays?.every ?? 1) === 0;
    return replays && due ? (replays.episodes ?? 1) : 0;
  }
}

/** The engine of a thread: that of the run, unless it has a GPU, which two would have to share. */
function engineBeside(state: PlayerState): EngineChoice | undefined {
  const device = firstTensor(state)?.device;
  if (!device) return undefined;
  return device.kind === "cpu" ? device.engine : "wasm";
}

function firstTensor(state: StateTree): Tensor | undefined {
  if (state instanceof Tensor) return state;
  const parts = Array.isArray(state) ? state : isPlainObject(state) ? Object.values(state) : [];
  for (const part of parts) {
    const found = firstTensor(part as StateTree);
    if (found) return found;
  }
  return undefined;
}
