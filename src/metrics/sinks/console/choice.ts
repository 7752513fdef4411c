import { matcherOf } from "../../metric.ts";
import type { Entry } from "./entry.ts";

export interface ChoiceOptions {
  /** Shown before all others, and always. */
  readonly important: readonly string[];
  /** Shown in all. */
  readonly limit: number;
  /** Categories that are left out, but for what is important. Default none. */
  readonly leftOut?: readonly string[];
}

export interface Chosen {
  readonly entries: readonly Entry[];
  /** How many there was no room for. */
  readonly more: number;
}

const validation = /^(val|valid|validation|eval|evaluation|test)\b/i;

/** What a run does to the machine, and how fast: it says nothing of how good the model is. */
export const figures: readonly string[] = ["system", "time"];

/**
 * Chooses what matters: what the user calls important, the loss, scores of validation, of evaluation and of episodes,
 * then the others: training, rollouts, and last the rest. A metric that is not finite is never left out for one that is. What is chosen stands in
 * that order, whatever became of the numbers.
 */
export function chooser({
  important,
  limit,
  leftOut = [],
}: ChoiceOptions): (entries: readonly Entry[]) => Chosen {
  const match = matcherOf(important, "important");
  return (entries) => {
    const ranked = entries.flatMap((entry, order) => {
      const asked = match(entry.record);
      if (asked === undefined && leftOut.includes(entry.record.category)) return [];
      return { entry, order, asked, rank: asked === undefined ? rankOf(entry) : asked - important.length };
    });
    const urgency = ({ entry, rank }: (typeof ranked)[number]): number =>
      entry.alarm !== undefined && rank > 0 ? 0.5 : rank;
    const room = Math.max(limit, ranked.filter(({ asked }) => asked !== undefined).length);
    const chosen = ranked
      .toSorted((a, b) => urgency(a) - urgency(b) || a.order - b.order)
      .slice(0, room)
      .sort((a, b) => a.rank - b.rank || a.order - b.order);
    return { entries: chosen.map(({ entry }) => entry), more: ranked.length - chosen.length };
  };
}

function rankOf({ record, late }: Entry): number {
  const { category, name, value } = record;
  if (late) return 5;
  if (/(^|\/)loss$/i.test(name)) return validation.test(category) ? 1 : 0;
  if (validation.test(category)) return /^eval/i.test(category) ? 2.5 : 2;
  if (typeof value !== "number") return 4.5;
  if (category === "rollout") return name === "episode.return" ? 2.7 : 3.7;
  if (/loss/i.test(name)) return 3;
  return category === "train" ? 3.5 : 4;
}
