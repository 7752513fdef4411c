import { matcherOf } from "../../matching.ts";
import type { Entry } from "./entry.ts";

export interface ChoiceOptions {
  /** Shown before all others, and always. */
  readonly important: readonly string[];
  /** Shown in all. */
  readonly limit: number;
}

export interface Chosen {
  readonly entries: readonly Entry[];
  /** How many are left out. */
  readonly more: number;
}

const validation = /^(val|valid|validation|eval|evaluation|test)\b/i;

/**
 * Chooses what matters: what the user calls important, the loss, scores of validation and evaluation, then the others,
 * those of training first. A metric that is not finite is never left out for one that is. What is chosen stands in
 * that order, whatever became of the numbers.
 */
export function chooser({ important, limit }: ChoiceOptions): (entries: readonly Entry[]) => Chosen {
  const match = matcherOf(important);
  return (entries) => {
    const ranked = entries.map((entry, order) => {
      const asked = match(entry.record);
      return { entry, order, asked, rank: asked === undefined ? rankOf(entry) : asked - important.length };
    });
    const urgency = ({ entry, rank }: (typeof ranked)[number]): number =>
      entry.alarm !== undefined && rank > 0 ? 0.5 : rank;
    const room = Math.max(limit, ranked.filter(({ asked }) => asked !== undefined).length);
    const chosen = ranked
      .toSorted((a, b) => urgency(a) - urgency(b) || a.order - b.order)
      .slice(0, room)
      .sort((a, b) => a.rank - b.rank || a.order - b.order);
    return { entries: chosen.map(({ entry }) => entry), more: entries.length - chosen.length };
  };
}

function rankOf({ record, late }: Entry): number {
  if (late) return 5;
  if (/(^|\/)loss$/i.test(record.name)) return validation.test(record.category) ? 1 : 0;
  if (validation.test(record.category)) return 2;
  if (typeof record.value !== "number") return 4.5;
  if (/loss/i.test(record.name)) return 3;
  return record.category === "train" ? 3.5 : 4;
}
