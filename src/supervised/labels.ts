import { EspalierError } from "../core/index.ts";
import { type ArrayTree, hostArrays } from "../data/index.ts";
import { crossEntropy } from "../nn/index.ts";
import type { LossInput } from "./objective.ts";
import type { SupervisedData } from "./task-options.ts";

/** A loss of classes: whole numbers among the targets are indices of the model's last axis. */
interface ClassLoss {
  readonly labels: { readonly ignored?: number };
}

/** Says of a loss that its targets are labels of classes, but for one number that does not count. */
export const ofClasses = <L extends object>(loss: L, labels: ClassLoss["labels"] = {}): L =>
  Object.assign(loss, { labels });

/** What the losses of a task say of its labels; undefined where none of them tells classes. */
export function labelsOf(loss: LossInput<never, never, never>): ClassLoss["labels"] | undefined {
  const losses: readonly object[] = Array.isArray(loss) ? loss : [loss];
  if (losses.includes(crossEntropy)) return {};
  return losses.map((one) => (one as Partial<ClassLoss>).labels).find((labels) => labels !== undefined);
}

/** Refuses labels that the model has no output for, where they are on the host. */
export function checkLabels(
  what: string,
  y: ArrayTree | undefined,
  classes: number,
  { ignored }: ClassLoss["labels"],
): void {
  for (const { path, data } of hostArrays(y)) {
    const labels = (Array.isArray(data) ? data.flat(Number.POSITIVE_INFINITY) : data) as ArrayLike<number>;
    let [bad, first] = [0, 0];
    for (let i = 0; i < labels.length; i++) {
      const label = Number(labels[i]);
      const whole = Math.trunc(label);
      if ((whole >= 0 && whole < classes) || whole === ignored) continue;
      if (bad++ === 0) first = i;
    }
    if (bad === 0) continue;
    const name = path === "" ? "y" : `y.${path}`;
    throw new EspalierError(
      "LABELS_INVALID",
      `${what}: ${bad} of ${labels.length} labels are none of the model's ${classes} classes; the first is ${Number(labels[first])}, at ${name}[${first}]`,
      { fix: `number the classes from 0 to ${classes - 1}, or give the model an output for each class` },
    );
  }
}

/** Refuses inputs and targets on the host that are NaN or infinite. */
export function checkFinite(what: string, { x, y }: SupervisedData, examples: number): void {
  for (const { path, data } of hostArrays({ x, ...(y !== undefined && { y }) })) {
    if (!(data instanceof Float32Array || data instanceof Float64Array || Array.isArray(data))) continue;
    const numbers = (Array.isArray(data) ? data.flat(Number.POSITIVE_INFINITY) : data) as ArrayLike<number>;
    for (let i = 0; i < numbers.length; i++) {
      const number = Number(numbers[i]);
      if (number - number === 0) continue;
      const width = numbers.length / examples;
      const field = width > 1 ? `, number ${i % width} of its ${width}` : "";
      throw new EspalierError(
        "DATA_NOT_FINITE",
        `${what}: ${path} is ${number} in row ${Math.floor(i / width)}${field}`,
        {
          fix: "leave such rows out or replace the number; what a loss hides by a mask of its own is given as a tensor, put(...), which is not looked at",
        },
      );
    }
  }
}
