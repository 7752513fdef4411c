import { storedName } from "./epoch-means.ts";
import type { Run } from "./run.ts";

/** A plain value of a set-up. */
export type Setting =
  | string
  | number
  | boolean
  | null
  | readonly Setting[]
  | { readonly [name: string]: Setting };

/** Settings in plain values, as checkpoints file and compare them. */
export type Settings = Readonly<Record<string, Setting>>;

/**
 * What a resumed run must share with the one before to go on with the same bits, as far as plain values tell it: the
 * seed, how many ranks there are, when validation happens, which ramps the program gets, and what the task says of
 * itself. Left out is what never changes a bit: the run's name, how far it goes, how work is cut, what is printed.
 */
export function settingsOf({ config, task }: Pick<Run, "config" | "task">): Settings {
  const ramps = Object.entries(task.ramps).map(([name, ramp]) => {
    // As every checkpoint has it: names in full are younger than these texts.
    let text = ramp.describe();
    for (const full of ramp.follows ?? []) text = text.replaceAll(full, storedName(full));
    return [name, text];
  });
  return {
    seed: config.seed,
    ranks: config.ranks,
    ...(task.validate && { validate: config.validate.describe() }),
    ramps: Object.fromEntries(ramps),
    task: task.settings ?? {},
  };
}
