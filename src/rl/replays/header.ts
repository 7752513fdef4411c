import type { Replay } from "./replay.ts";

/** What stands in a replay as JSON; the numbers of actions follow it. */
export interface Header extends Omit<Replay, "actions" | "observations" | "return"> {
  readonly actions: { readonly type: "u8" | "f32"; readonly count: number };
  readonly observations: {
    readonly digest: string;
    readonly every: number;
    readonly marks: readonly number[];
  };
}

/** What is wrong with a header; undefined where nothing is. */
export function problemIn(header: Header): string | undefined {
  const whole = (value: unknown, least: number): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least;
  const { actions, observations, returns } = header ?? {};
  const right: Readonly<Record<string, boolean>> = {
    environment: typeof header?.environment === "string",
    seed: Number.isSafeInteger(header?.seed),
    lesson: whole(header?.lesson, 0),
    agents: whole(header?.agents, 1),
    length: whole(header?.length, 0),
    end: ["terminated", "truncated", "cut"].includes(header?.end),
    returns: Array.isArray(returns) && returns.length === header.agents && returns.every(Number.isFinite),
    actions: ["u8", "f32"].includes(actions?.type) && whole(actions.count, 0),
    observations:
      typeof observations?.digest === "string" &&
      whole(observations.every, 1) &&
      Array.isArray(observations.marks),
    about: typeof header?.about === "object" && header.about !== null,
  };
  const wrong = Object.keys(right).find((name) => !right[name]);
  return wrong && `its ${wrong} ${wrong.endsWith("s") ? "are" : "is"} not as it should be`;
}
