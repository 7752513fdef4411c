import type { Slot } from "../../hooks/index.ts";
import {
  type EvaluationScores,
  evaluationScores,
  latestMetrics,
  type TrainerContext,
} from "../../trainer/index.ts";
import { type Heartbeat, heartbeat } from "../health/heartbeat.ts";
import type { Logger, OwnedLogger } from "../logger/index.ts";
import { latestOf } from "./latest.ts";
import { type MachineProbe, SystemProbe } from "./machine.ts";
import type { MetricsPlan } from "./options.ts";
import { Pace } from "./pace.ts";
import { ProgressMeter } from "./progress-meter.ts";
import { logStretch } from "./rows.ts";
import type { StorePart } from "./store-part.ts";

export interface RecordParts {
  readonly plan: MetricsPlan;
  readonly logger: Logger;
  readonly store: StorePart | undefined;
  /** The run's id. */
  readonly id: string;
  readonly warn: (text: string) => void;
  /** Lives as long as the run: what it says is always of now. */
  readonly context: TrainerContext;
}

/** Hands what happens in a run that trains to its logger and its stats store. */
export class RunRecord {
  readonly #parts: RecordParts;
  readonly #own: OwnedLogger;
  readonly #progress: ProgressMeter | undefined;
  readonly #pace: Pace | undefined;
  readonly #machine: MachineProbe | undefined;
  readonly #heart: Heartbeat | undefined;

  constructor(parts: RecordParts) {
    const { plan, logger, store, id, context, warn } = parts;
    const { clock } = context;
    this.#parts = parts;
    this.#own = logger.as(plan.name);
    if (plan.progress) this.#progress = new ProgressMeter(context);
    if (plan.timing) this.#pace = new Pace(context);
    if (plan.system) this.#machine = plan.system.probe?.() ?? new SystemProbe(clock);
    if (plan.heartbeat) {
      const { file } = plan.heartbeat;
      this.#heart = heartbeat({ file, statsStore: store?.pulse, run: id, clock, warn });
      this.beat(context);
    }
  }

  /** What a call gave: handed on unread, so that nothing waits for the device. */
  batches(context: TrainerContext): Promise<void> | undefined {
    const { plan, logger } = this.#parts;
    const { values, counters } = context;
    if (values && plan.batches) logStretch(values, this.#own);
    if (this.#progress) logger.progress(this.#progress.look(context));
    if (plan.primary) context.slots.set(latestMetrics, latestOf(logger, counters));
    return logger.relief();
  }

  /** A hook provided something: scores belong to the state that was looked at. */
  provided(slot: Slot, value: unknown): void {
    if (slot.name === evaluationScores.name) {
      const { scores, counters } = value as EvaluationScores;
      this.#own.log(scores, counters, "evaluation");
    }
    this.#parts.store?.provided(slot, value);
  }

  validated({ state, counters }: TrainerContext): void {
    if (state.validation) this.#own.log(state.validation, counters, "validation");
  }

  time(context: TrainerContext): void {
    if (this.#pace) this.#own.log(this.#pace.look(context), context.counters, "time");
    this.#parts.store?.timed(context);
  }

  machine({ counters }: TrainerContext): void {
    if (this.#machine) this.#own.log(this.#machine.read(), counters, "system");
  }

  beat({ counters, state, outcome }: TrainerContext): void {
    void this.#heart?.beat(counters, outcome ?? state.phase);
  }

  /** Everything that is left, then the end: on disk or given up when it resolves. */
  async end(): Promise<void> {
    const { context, logger, store, warn } = this.#parts;
    const { outcome = "stopped", reason = outcome === "stopped" ? "the hook was removed" : undefined } =
      context;
    const { counters } = context;
    if (this.#pace) this.#own.log(this.#pace.end(context), counters, "time");
    this.machine(context);
    this.#machine?.close();
    this.beat(context);
    const lost = store?.end(context) ?? 0;
    if (lost > 0) warn(`the stats store is missing ${lost} events of the run`);
    await this.#heart?.close();
    await logger.flush();
    for (const { name, failures, lastError } of logger.summary().sinks)
      if (failures > 0) logger.message(`the sink "${name}" failed ${failures} times: ${lastError}`);
    await logger.close({ outcome, counters, ...(reason !== undefined && { reason }) });
  }
}
