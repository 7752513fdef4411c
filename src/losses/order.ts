import { didYouMean, EspalierError } from "../core/index.ts";
import type { Loss } from "./loss.ts";

type AnyLoss = Loss<never, never>;

/** Which loss gives each value. */
export function giversOf<L extends AnyLoss>(losses: readonly L[]): ReadonlyMap<string, L> {
  const givers = new Map<string, L>();
  for (const loss of losses)
    for (const value of loss.gives ?? []) {
      const other = givers.get(value);
      if (other)
        throw new EspalierError(
          "LOSS_VALUE_CONFLICT",
          other === loss
            ? `loss "${loss.name}" says twice that it gives the value "${value}"`
            : `losses "${other.name}" and "${loss.name}" both give the value "${value}"`,
          { fix: "let one loss give it, under a name of its own" },
        );
      givers.set(value, loss);
    }
  return givers;
}

/** The losses as given, but each after those whose values it reads. */
export function inOrder<L extends AnyLoss>(losses: readonly L[], givers: ReadonlyMap<string, L>): L[] {
  const ordered = new Set<L>();
  const visit = (loss: L, path: readonly L[]): void => {
    if (ordered.has(loss)) return;
    if (path.includes(loss)) throw cycle([...path.slice(path.indexOf(loss)), loss], givers);
    for (const value of loss.reads ?? []) {
      const giver = givers.get(value);
      if (!giver)
        throw new EspalierError(
          "LOSS_VALUE_UNKNOWN",
          `loss "${loss.name}" reads the value "${value}", which no loss gives${didYouMean(value, givers.keys())}`,
          { fix: `add "${value}" to the gives of the loss that computes it, or leave it out of reads` },
        );
      visit(giver, [...path, loss]);
    }
    ordered.add(loss);
  };
  for (const loss of losses) visit(loss, []);
  return [...ordered];
}

/** `path` begins and ends with the same loss; each reads a value of the next. */
function cycle<L extends AnyLoss>(path: readonly L[], givers: ReadonlyMap<string, L>): EspalierError {
  const reads = path.slice(0, -1).map((loss, i) => {
    const next = path[i + 1];
    const value = (loss.reads ?? []).find((name) => givers.get(name) === next);
    return `"${loss.name}" reads "${value}" of "${next?.name}"`;
  });
  return new EspalierError("LOSS_CYCLE", `losses wait for each other: ${reads.join(", ")}`, {
    fix: "compute the value that closes the circle in the forward pass, or in a loss of its own",
  });
}

/** These losses and those whose values they read, directly or not, in order. */
export function withGivers<L extends AnyLoss>(
  wanted: ReadonlySet<L>,
  ordered: readonly L[],
  givers: ReadonlyMap<string, L>,
): L[] {
  const all = new Set(wanted);
  for (const loss of ordered.toReversed())
    if (all.has(loss)) for (const value of loss.reads ?? []) all.add(givers.get(value) as L);
  return ordered.filter((loss) => all.has(loss));
}
