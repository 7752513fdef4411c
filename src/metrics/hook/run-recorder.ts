import type { Tensor } from "../../engine/index.ts";
import type { Slot } from "../../hooks/index.ts";
import type { Counters } from "../../schedule/index.ts";
import {
  type EvaluationScores,
  evaluationScores,
  type LatestMetrics,
  latestMetrics,
  type Phase,
  type TrainerContext,
  type Values,
} from "../../trainer/index.ts";
import type { Logger, OwnedLogger } from "../logger/logger.ts";
import { type MachineProbe, ProgressMeter, SystemProbe, ThroughputMeter } from "./meters.ts";
import type { MetricsHookSettings } from "./metrics-hook.ts";
import type { StoreRecorder } from "./store-recorder.ts";

/** Parts of a {@link RunRecorder}. */
export interface RunRecorderParts {
  readonly settings: MetricsHookSettings;
  readonly logger: Logger;
  readonly store: StoreRecorder | undefined;
  readonly warn: (text: string) => void;
  /** Valid for the whole run: it always shows the present. */
  readonly context: TrainerContext;
}

/** Hands what happens in a run that trains to its logger and its stats store. */
export class RunRecorder {
  readonly #parts: RunRecorderParts;
  readonly #log: OwnedLogger;
  readonly #progress: ProgressMeter | undefined;
  readonly #throughput: ThroughputMeter | undefined;
  readonly #machine: MachineProbe | undefined;

  constructor(parts: RunRecorderParts) {
    const { settings, logger, context } = parts;
    this.#parts = parts;
    this.#log = logger.as(settings.name);
    if (settings.progress) this.#progress = new ProgressMeter(context);
    if (settings.timing) this.#throughput = new ThroughputMeter(context);
    if (settings.system) this.#machine = settings.system.probe?.() ?? new SystemProbe(context.clock);
  }

  /** Logs the metrics of one call of the task, unread, so that nothing waits for the device. */
  batches(context: TrainerContext): Promise<void> | undefined {
    const { settings, logger } = this.#parts;
    const { values, counters } = context;
    if (values && settings.batches) logSpans(values, this.#log);
    if (this.#progress) logger.progress(this.#progress.read(context));
    if (settings.primary) context.slots.set(latestMetrics, latestOf(logger, counters));
    return logger.relief();
  }

  validated({ state, counters }: TrainerContext): void {
    if (state.validation) this.#log.log(state.validation, counters, "validation");
  }

  /** Logs what a hook provided by a slot. Scores belong to the counters at which they were measured. */
  provided(slot: Slot, value: unknown): void {
    if (slot.name === evaluationScores.name) {
      const { scores, counters } = value as EvaluationScores;
      this.#log.log(scores, counters, "evaluation");
    }
    this.#parts.store?.provided(slot, value);
  }

  time(context: TrainerContext): void {
    if (this.#throughput) this.#log.log(this.#throughput.read(context), context.counters, "time");
    this.#parts.store?.timed(context);
  }

  machine({ counters }: TrainerContext): void {
    if (this.#machine) this.#log.log(this.#machine.read(), counters, "system");
  }

  /** Logs what is left and closes the logger: everything is written or given up when it resolves. */
  async end(): Promise<void> {
    const { context, logger, store, warn } = this.#parts;
    const { counters, outcome = "stopped" } = context;
    const reason = context.reason ?? (outcome === "stopped" ? "the hook was removed" : undefined);
    if (this.#throughput) this.#log.log(this.#throughput.readLast(context), counters, "time");
    this.machine(context);
    this.#machine?.close();
    const lost = store?.end(context) ?? 0;
    if (lost > 0) warn(`the stats store is missing ${lost} events of the run`);
    await logger.flush();
    for (const { name, failures, lastError } of logger.summary().sinks)
      if (failures > 0) logger.message(`the sink "${name}" failed ${failures} times: ${lastError}`);
    await logger.close(reason === undefined ? { outcome, counters } : { outcome, counters, reason });
  }
}

/**
 * Logs all rows of a call, unread: those of batches as `train`, those of rollouts as `rollout`. Where the optimizer may
 * skip updates, `applied` says which took effect; its mean is their share. NaN of a rollout means that there was
 * nothing to measure, because no episode ended, and is left out.
 *
 * The ramps of the task go beside the metrics of its batches, each under its own name and as the program was given it:
 * of a window the last. One that the task reports itself is not logged twice.
 */
function logSpans(values: Values, logger: OwnedLogger): void {
  const { applied, ramps } = values;
  const batches = { ...(applied && { applied }), ...tensorsOf(values, "train") };
  const inUse = Object.entries(ramps).filter(([name]) => !Object.hasOwn(batches, name));
  const train = { ...batches, ...Object.fromEntries(inUse) };
  const rollout = tensorsOf(values, "rollout");
  const reductions = Object.fromEntries(inUse.map(([name]) => [name, "last"] as const));
  for (const { phase, from, rows } of values.spans) {
    const name = values.names.find((each) => values.phase(each) === phase);
    if (name === undefined) continue;
    const at = (row: number): Counters => values.at(name, from + row);
    if (phase === "train") logger.logRows({ values: train, rows, from, at, reductions }, phase);
    else logger.logRows({ values: rollout, rows, from, at, nanIsNone: true }, phase);
  }
}

function tensorsOf(values: Values, phase: Phase): Readonly<Record<string, Tensor>> {
  const found: Record<string, Tensor> = {};
  for (const name of values.names) {
    const tensor = values.phase(name) === phase ? values.tensor(name) : undefined;
    if (tensor) found[name] = tensor;
  }
  return found;
}

/** Categories that `latestMetrics` leaves out: what differs from run to run, and scores, which have counters of their own. */
const notLatest: readonly string[] = ["time", "system", "validation", "evaluation"];

/** The newest metrics, computed when they are read. Those of batches go by their names, others by their keys. */
export function latestOf(logger: Pick<Logger, "latest">, counters: Counters): LatestMetrics {
  let metrics: LatestMetrics["metrics"] | undefined;
  return {
    counters,
    get metrics() {
      metrics ??= Object.fromEntries(
        Object.entries(logger.latest()).flatMap(([key, value]) => {
          const category = key.slice(0, key.indexOf("/"));
          if (notLatest.includes(category)) return [];
          return [[category === "train" ? key.slice("train/".length) : key, value]];
        }),
      );
      return metrics;
    },
  };
}

/**
 * A readable id for a new run: its name, when it began, and random digits.
 *
 * @example
 * ```ts
 * newRunId("MNIST, small", Date.UTC(2025, 0, 2, 3, 4, 5)); // "mnist-small-20250102-030405-9f86d0"
 * ```
 */
export function newRunId(name: string, wall: number): string {
  const word = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  const digits = Buffer.from(crypto.getRandomValues(new Uint8Array(3))).toString("hex");
  const time = new Date(wall).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `${word || "run"}-${time}-${digits}`;
}
