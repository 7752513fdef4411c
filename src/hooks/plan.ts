import { printable } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import type { OrderEdge } from "./order.ts";

/** The order in which hooks run, and why. */
export interface HookPlan {
  readonly order: readonly string[];
  readonly edges: readonly OrderEdge[];
  /** Drawn for a terminal. */
  readonly text: string;
}

/** Prints the order with the reason for every edge. */
export function planOf(order: readonly Entry[], edges: readonly OrderEdge[]): HookPlan {
  const rows = order.map((entry, i) => {
    const { hook } = entry;
    const why = edges
      .filter(({ next }) => next === hook.name)
      .map(({ first, why }) => printable(`after ${first} (${why})`));
    const marks = [
      entry.enabled ? "" : "disabled",
      hook.background ? "in the background" : "",
      hook.ranks === "all" ? "on all ranks" : "",
      hook.priority ? `priority ${hook.priority}` : "",
    ].filter((mark) => mark !== "");
    return [
      `${i + 1}.`,
      printable(hook.name),
      hook.schedule?.describe() ?? "at every event",
      [...entry.handlers.keys()].join(", "),
      [...marks, ...why].join("; "),
    ];
  });
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(0, ...rows.map((row) => (row[column] as string).length)),
  );
  const text = rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
  return { order: order.map(({ name }) => name), edges, text: text || "no hooks" };
}
