import { didYouMean, EspalierError, isPlainObject, nearest } from "../core/index.ts";
import { type DType, Value, type ValueLike } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { isRamp, type Ramp, type Schedule } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";

/** A tree of values by name: a batch, a forward pass's outputs. */
export type Named<T = Value> = { readonly [name: string]: T | Named<T> };

/** Inputs of a term, all of them traced. */
export interface LossInputs<B = Named, O = unknown> {
  readonly params: Params;
  readonly batch: B;
  /** Outputs of the shared forward pass. */
  readonly outputs: O;
  /** A value another term gave, of those that `reads` declares. */
  readonly read: (name: string) => Value;
  /** The present value of one of the loss's `rates`. */
  readonly rate: (name: string) => ValueLike;
  readonly train: boolean;
  /** A key of this term alone, for terms that draw random numbers. An error where the step was given none. */
  readonly key: Value;
}

/** Results of a term. */
export interface LossTerm {
  /** A scalar, before its weight. */
  readonly loss: Value;
  /** Scalars reported under the term's name: `policy.entropy`. */
  readonly metrics?: Readonly<Record<string, Value>>;
  /** Values for later terms, as `gives` declares them. */
  readonly values?: Readonly<Record<string, Value>>;
}

/** A field of the batch that a loss reads: the shape without the batch's own axis, and the element type. */
export interface Field {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/**
 * One term of an objective: what it adds, how much it counts, and when it is active.
 *
 * @example
 * ```ts
 * const entropy: Loss<Experience, Policy> = {
 *   name: "entropy",
 *   weight: linear({ from: 0.01, to: 0, over: { updates: 1000 } }),
 *   active: { train: cycle({ epochs: 8, active: [1, 2] }) },
 *   term: ({ outputs }) => ({ loss: np.mean(outputs.entropy).neg() }),
 * };
 * ```
 */
export interface Loss<B = Named, O = unknown> {
  readonly name: string;
  /** Default: 1. A ramp's values are inputs of the compiled program, a number is part of it. */
  readonly weight?: Ramp | number;
  /** Other numbers of it that may change over time, such as a clip range. A ramp's values are inputs of the program. */
  readonly rates?: Readonly<Record<string, Ramp | number>>;
  /**
   * When it is active while experience is gathered and in training, each by itself; asked at the counters a phase or
   * batch begins with. Default: always.
   */
  readonly active?: { readonly rollout?: Schedule; readonly train?: Schedule };
  /** Fields of the batch that it reads, so that buffers can be laid out. */
  readonly fields?: Readonly<Record<string, Field>>;
  /** Fields it adds while experience is gathered. No values of other terms are there to `read`. */
  rollout?(inputs: LossInputs<B, O>): Readonly<Record<string, Value>>;
  term(inputs: LossInputs<B, O>): LossTerm;
  /**
   * Inside a program: what its mean over a batch is divided by, such as the number of labels that are not masked. Parts
   * of a batch are weighted by it where supervised training accumulates gradients, and batches of its validation.
   * Default: the sum of the batch's weights, or its examples.
   */
  count?(batch: B): Value;
  /** Names of values it reads from other terms (those that give them come first) and of values it gives. */
  readonly reads?: readonly string[];
  readonly gives?: readonly string[];
  /** Saved and restored under the loss's name. */
  readonly state?: Stateful;
  /** Hooks that come with it; the trainer registers them. */
  readonly hooks?: readonly { readonly name: string }[];
}

/** Any loss. */
export type AnyLoss = Loss<never, never>;

/** The phases in which a loss may be active, each by a schedule of its own. */
export type LossPhase = "rollout" | "train";

/** A loss written as a plain function of the forward pass's outputs and the batch. */
export type LossFunction<B = Named, O = unknown> = (outputs: O, batch: B) => Value | LossTerm;

/**
 * A loss from a plain function, which is always active and has weight 1; a loss as it is. Default name: the function's
 * own.
 *
 * @example
 * ```ts
 * const loss = asLoss((y: Value, batch: { readonly labels: Value }) => nn.crossEntropy(y, batch.labels), "labels");
 * ```
 */
export function asLoss<B = Named, O = unknown>(
  loss: LossFunction<B, O> | Loss<B, O>,
  name?: string,
): Loss<B, O> {
  if (typeof loss === "function")
    return {
      name: name ?? (loss.name || "loss"),
      term: ({ outputs, batch }) => {
        const given = loss(outputs, batch);
        return given instanceof Value ? { loss: given } : given;
      },
    };
  if (typeof loss !== "object" || loss === null || typeof loss.term !== "function")
    throw new EspalierError(
      "LOSS_INVALID",
      `a loss is a function or an object with name and term, and this is ${described(loss)}`,
      {
        fix: "pass (outputs, batch) => value, or { name, term: ({ outputs, batch }) => ({ loss }) }",
      },
    );
  return loss;
}

function described(loss: unknown): string {
  if (typeof loss !== "object" || loss === null) return String(loss);
  const { name } = loss as { readonly name?: unknown };
  return typeof name === "string" ? `an object called "${name}" without term` : "an object without term";
}

const members = [
  "name",
  "weight",
  "rates",
  "active",
  "fields",
  "rollout",
  "term",
  "count",
  "reads",
  "gives",
  "state",
  "hooks",
];

/** Refuses losses that share a name, and objects that are no losses. */
export function checkLosses(losses: readonly AnyLoss[]): void {
  if (losses.length === 0)
    throw new EspalierError("LOSS_NONE", "an objective has no losses", { fix: "give it at least one loss" });
  const names = new Set<string>();
  for (const loss of losses) {
    checkLoss(loss);
    if (names.has(loss.name))
      throw new EspalierError("LOSS_DUPLICATE", `two losses are called "${loss.name}"`, {
        fix: 'give each a name of its own; plain functions are named by asLoss(fn, "name")',
      });
    names.add(loss.name);
  }
}

function checkLoss(loss: AnyLoss): void {
  if (typeof loss.name !== "string" || loss.name.trim() === "")
    throw new EspalierError("LOSS_INVALID", `a loss has the name ${JSON.stringify(loss.name)}`, {
      fix: "give it a name that is not empty",
    });
  const refuse = (what: string, fix: string): never => {
    throw new EspalierError("LOSS_INVALID", `loss "${loss.name}": ${what}`, { fix });
  };
  // A loss may carry things of its own; only what looks like a slip is refused.
  if (isPlainObject(loss))
    for (const member of Object.keys(loss)) {
      const meant = members.includes(member) ? undefined : nearest(member, members);
      if (meant !== undefined)
        refuse(
          `"${member}" means nothing; did you mean "${meant}"?`,
          `write ${meant}, or choose another name`,
        );
    }
  const { weight = 1, active = {} } = loss;
  if (!isNumber(weight))
    refuse(`its weight is ${String(weight)}`, "give a finite number or a ramp, such as linear({ ... })");
  for (const [name, rate] of Object.entries(loss.rates ?? {}))
    if (!isNumber(rate))
      refuse(
        `its rate "${name}" is ${String(rate)}`,
        "give a finite number or a ramp, such as linear({ ... })",
      );
  for (const [phase, schedule] of Object.entries(active)) {
    if (
      (phase !== "rollout" && phase !== "train") ||
      (schedule !== undefined && typeof schedule?.due !== "function")
    )
      refuse(
        `active has "${phase}", which is not a schedule for rollout or train`,
        "write active: { train: schedule, rollout: schedule }, either or both",
      );
  }
  for (const [name, { shape }] of Object.entries(loss.fields ?? {}))
    if (!Array.isArray(shape) || !shape.every((n) => Number.isInteger(n) && n >= 0))
      refuse(`its field "${name}" has the shape ${JSON.stringify(shape)}`, "use whole numbers from 0 on");
}

/** A finite number or a ramp. */
const isNumber = (given: unknown): boolean =>
  typeof given === "number" ? Number.isFinite(given) : isRamp(given);

/** The loss that gives each value. */
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
