import { badOption, type Clock, checkNames, shown, systemClock } from "../../../core/index.ts";
import { every, type Schedule } from "../../../schedule/index.ts";
import type { TrainerContext, TrainerHook } from "../../../trainer/index.ts";
import { checkPlaces, type Heartbeat, type HeartbeatOptions, heartbeat } from "./heartbeat.ts";

/** Options of {@link heartbeatHook}. */
export interface HeartbeatHookOptions extends Pick<HeartbeatOptions, "file" | "statsStore"> {
  /** Default `heartbeat`. */
  readonly name?: string;
  /** The run's id in the stats store. Default: the run's name. */
  readonly run?: string;
  /** How often. Default every 30 seconds. */
  readonly schedule?: Schedule;
}

/**
 * Beats while a run trains, for runs without a metrics hook, which does the same: at the start, on its schedule, and at
 * the end, when the phase is how the run ended. It looks at its schedule after each call of the task, so that it never
 * prevents fusing; a call that takes longer beats when it is done. Training never waits for it, but for the last beat.
 *
 * @example
 * ```ts
 * const hooks = [heartbeatHook({ file: "runs/mnist/heartbeat.json" })];
 * ```
 */
export function heartbeatHook(options: HeartbeatHookOptions): TrainerHook {
  checkNames("heartbeatHook", options, ["name", "run", "schedule", "file", "statsStore"]);
  const { name = "heartbeat", schedule = every({ seconds: 30 }), file, statsStore, run } = options;
  checkPlaces("heartbeatHook", file, statsStore);
  if (typeof schedule?.due !== "function")
    throw badOption("heartbeatHook", `schedule is ${shown(schedule)}`, "write every({ seconds: 30 })");
  let host: { readonly clock: Clock; warn(text: string): void } = {
    clock: systemClock,
    warn: () => undefined,
  };
  let heart: Heartbeat | undefined;
  const heartOf = ({ state }: TrainerContext): Heartbeat => {
    const warn = (text: string) => host.warn(`${name}: ${text}`);
    heart ??= heartbeat({ file, statsStore, run: run ?? state.run, clock: host.clock, warn });
    return heart;
  };
  const beat = (context: TrainerContext): void => {
    void heartOf(context).beat(context.counters, context.state.phase);
  };
  const edges: TrainerHook = {
    name: `${name}.edges`,
    onTrainingStart: beat,
    onTrainingEnd: async (context) => {
      void heartOf(context).beat(context.counters, context.outcome ?? "completed");
      await heart?.close();
    },
  };
  return {
    name,
    schedule,
    onRegister: (given) => {
      host = given;
      heart = undefined;
    },
    // None of these events is watched: see fuse.ts of the trainer.
    onBatchesEnd: beat,
    onValidationStart: beat,
    onValidationEnd: beat,
    children: [edges],
  };
}
