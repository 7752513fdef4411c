import { EspalierError, isPlainObject } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { Frozen } from "../trainer/index.ts";

/** The state of a run to go on from: states of all its components by name, alone or as a snapshot gives them. */
export type ResumeFrom = Frozen | Readonly<Record<string, StateTree>>;

/** Restores a run exactly: every component there is, and no other. */
export async function restore(
  components: Readonly<Record<string, Stateful>>,
  from: ResumeFrom | string | URL,
): Promise<void> {
  if (typeof from === "string" || from instanceof URL)
    throw new EspalierError("CHECKPOINT_UNAVAILABLE", `resumeFrom is the path ${String(from)}`, {
      fix: "pass the state itself: what a hook's snapshot() gave, or what state() of the trainer gave",
    });
  const states = statesIn(from);
  const missing = Object.keys(components).filter((name) => !(name in states));
  const extra = Object.keys(states).filter((name) => !(name in components));
  if (missing.length > 0 || extra.length > 0)
    throw new EspalierError(
      "STATE_MISMATCH",
      `the state does not fit this run:${said(" it lacks", missing)}${said(" it has besides", extra)}`,
      { fix: "resume with the same model, losses and hooks, or restore single components by hand" },
    );
  for (const [name, component] of Object.entries(components))
    await component.setState(states[name] as StateTree);
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
