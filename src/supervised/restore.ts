import { fileURLToPath } from "node:url";
import { type ResumeOptions, resumeTrainer } from "../checkpoint/index.ts";
import { EspalierError, isPlainObject } from "../core/index.ts";
import type { StateTree } from "../state/index.ts";
import { type Frozen, type Trainer, withoutStop } from "../trainer/index.ts";

/** The state of a run to go on from: states of all its components by name, alone or as a snapshot gives them. */
export type ResumeFrom = Frozen | Readonly<Record<string, StateTree>>;

/**
 * Restores a run: from files as `options` say, exactly unless told; from states exactly: every component there is, and
 * no other. Of the options `allow: ["stopped"]` counts there too.
 */
export async function restore(
  trainer: Trainer,
  from: ResumeFrom | string | URL,
  options: ResumeOptions = {},
): Promise<void> {
  if (typeof from === "string" || from instanceof URL) {
    await resumeTrainer(trainer, typeof from === "string" ? from : fileURLToPath(from), options);
    return;
  }
  const { components } = trainer;
  const states = statesIn(from);
  const missing = Object.keys(components).filter((name) => !(name in states));
  const extra = Object.keys(states).filter((name) => !(name in components));
  if (missing.length > 0 || extra.length > 0)
    throw new EspalierError(
      "STATE_MISMATCH",
      `the state does not fit this run:${said(" it lacks", missing)}${said(" it has besides", extra)}`,
      { fix: "resume with the same model, losses and hooks, or restore single components by hand" },
    );
  const goesOn = options.allow?.includes("stopped");
  for (const [name, component] of Object.entries(components)) {
    const state = states[name] as StateTree;
    await component.setState(goesOn && name === "trainer" ? withoutStop(state) : state);
  }
}

function statesIn(from: unknown): Readonly<Record<string, StateTree>> {
  if (isPlainObject(from))
    return (isPlainObject(from.components) ? from.components : from) as Readonly<Record<string, StateTree>>;
  throw new EspalierError("STATE_INVALID", `resumeFrom is ${String(from)}, which is no state of a run`, {
    fix: "pass { components } or the components' states by name",
  });
}

const said = (what: string, names: readonly string[]): string =>
  names.length === 0 ? "" : `${what} ${names.join(", ")};`;
