import type { TrainerContext, TrainerHook } from "../../../trainer/index.ts";
import { Board } from "./board.ts";
import { markers } from "./markers.ts";
import { planOf, type WatchdogOptions } from "./options.ts";
import { watchThread } from "./watch-thread.ts";

/**
 * Watches how long a run's phases take, from a thread of its own, and reports the one that exceeds its deadline with
 * the stack of what the main thread runs: in the middle of an endless loop, and of a call that never comes back. With
 * `exit` it ends the process with code 124, so that whoever started it can start it again from its last checkpoint.
 *
 * - A thread that hangs in JavaScript or waits is asked to exit, and runs its exit handlers. One that hangs in native
 *   code is ended by the C library's `_exit`, for which koffi must be installed (it is an optional dependency), and
 *   otherwise by SIGKILL, with which the code is 137 (always so on Windows).
 * - `any` and `validation` cost nothing. To know rollouts, batches and hooks apart (`rollout`, `train`, `hook`) their
 *   events are watched, so that calls of the task do not go on over the end of a rollout or an epoch.
 * - Hooks at single batches count as training; `hook` is about all hooks of one event together.
 * - It goes by events. Take it out by `unregisterHook`, not by `disable`: a run that it does not hear of hangs.
 *
 * @example
 * ```ts
 * const hooks = [watchdogHook({ deadlines: { any: 600 }, onExceeded: "exit", file: "runs/mnist/watchdog.txt" })];
 * ```
 */
export function watchdogHook(options: WatchdogOptions): TrainerHook {
  const plan = planOf(options);
  const { name } = plan;
  const board = new Board();
  let warn: (text: string) => void = () => undefined;
  let stop: (() => Promise<unknown>) | undefined;
  const start = ({ state }: TrainerContext): void => {
    if (stop) return;
    try {
      stop = watchThread({ plan, board, run: state.run, warn });
    } catch (cause) {
      warn(`nobody watches: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  };
  return {
    name,
    children: markers(plan, {
      mark: (phase, event, counters) => board.mark(phase, event, counters),
      start,
    }),
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
    },
    onUnregister: async () => {
      const ending = stop?.();
      stop = undefined;
      await ending;
    },
  };
}
