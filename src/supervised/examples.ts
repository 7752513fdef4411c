import { checkNames, EspalierError, isPlainObject, treeLeaves, treeMap } from "../core/index.ts";
import {
  type ExampleArray,
  type ExampleArrayTree,
  type ExampleTree,
  hostNumbers,
  type Placement,
  placeArrays,
  type ShapedArray,
  type TensorTree,
  withName,
} from "../data/index.ts";
import {
  type Device,
  evalShape,
  type HostArray,
  Spec,
  type Specs,
  spec,
  Tensor,
  type Value,
} from "../engine/index.ts";
import { crossEntropy, type Params } from "../nn/index.ts";
import type { AnyOptions, SupervisedData } from "./options.ts";

/** Examples on the device. Without targets those follow from the inputs. */
export interface Examples {
  readonly data: { readonly x: TensorTree; readonly y?: TensorTree; readonly weight?: Tensor };
  readonly length: number;
  readonly device: Device;
}

/** Checks examples and puts them on a device. Default: where the tensors among them are. */
export function placeExamples(
  what: string,
  given: SupervisedData,
  place: Placement,
  withoutTargets: boolean,
): Examples {
  if (!isPlainObject(given) || given.x === undefined)
    throw new EspalierError("DATA_INVALID", `${what}: there is no x`, {
      fix: "give { x, y }: inputs and targets",
    });
  checkNames(what, given, ["x", "y", "weight"]);
  if (given.y === undefined && !withoutTargets)
    throw new EspalierError("DATA_INVALID", `${what}: there is no y`, {
      fix: "give targets, { x, y }, or the option targets, which makes them from x",
    });
  const tensor = treeLeaves<unknown>(given).find((leaf) => leaf instanceof Tensor);
  const where =
    place.engine === undefined && place.device === undefined && tensor instanceof Tensor
      ? { device: tensor.device }
      : place;
  const { x, y, weight } = given;
  const arrays = { x, ...(y !== undefined && { y }), ...(weight !== undefined && { weight }) };
  const { tree, length } = placeArrays(what, arrays, where);
  checkFinite(what, arrays, length);
  const [first] = treeLeaves<Tensor>(tree) as [Tensor];
  // A tree of arrays { x, y } becomes one of tensors with the same names.
  return { data: tree as Examples["data"], length, device: first.device };
}

/** A tree made of trees of arrays that are alike: `make` gets the arrays at one place of all of them, and its path. */
export function zipArrays<R>(
  trees: readonly ExampleArrayTree[],
  make: (arrays: readonly [ExampleArray, ...ExampleArray[]], path: string) => R,
  path = "",
): ExampleTree<R> {
  const [first] = trees as readonly [ExampleArrayTree];
  if (ArrayBuffer.isView(first.data)) return make(trees as readonly [ExampleArray], path);
  const parts = Object.keys(first).map((name) => {
    const inner = trees.map((tree) => (tree as Readonly<Record<string, ExampleArrayTree>>)[name]);
    return [name, zipArrays(inner as ExampleArrayTree[], make, path === "" ? name : `${path}.${name}`)];
  });
  return Object.fromEntries(parts);
}

/** The numbers of arrays one behind the other, in `into` or a new array. */
export function joined(arrays: readonly Pick<ExampleArray, "data">[], into?: HostArray): HostArray {
  const [{ data }] = arrays as readonly [ExampleArray];
  const length = arrays.reduce((sum, each) => sum + each.data.length, 0);
  const kind = data instanceof Uint8Array ? Uint8Array : data.constructor;
  const all = into ?? new (kind as new (length: number) => HostArray)(length);
  let at = 0;
  for (const each of arrays) {
    all.set(each.data, at);
    at += each.data.length;
  }
  return all;
}

export const batchSpec = (data: Examples["data"], size: number): Specs<{ x: unknown; y?: unknown }> =>
  treeMap(({ shape, dtype }: Tensor) => spec([size, ...shape.slice(1)], dtype), data);

export function inputSpec(
  data: Examples["data"],
  batchSize: number,
  targets: AnyOptions["targets"],
): Specs<ExampleTree<Value>> {
  const x = batchSpec(data, batchSize).x as Specs<ExampleTree<Value>>;
  return data.y === undefined && targets
    ? evalShape((inputs: ExampleTree<Value>) => targets(inputs).x, x)
    : x;
}

/** Refuses weights on the host that are below 0, and a set in which nothing counts. */
function checkWeights(what: string, { weight, rows }: CheckedData): void {
  for (const { numbers } of hostNumbers(weight)) {
    const bad = numbers.findIndex((number) => number < 0);
    if (bad >= 0) {
      const shape = (weight as Partial<ShapedArray>).shape ?? [rows?.length ?? numbers.length];
      const row = Math.floor((bad * (shape[0] as number)) / numbers.length);
      throw new EspalierError(
        "WEIGHTS_INVALID",
        `${what}: the weight of row ${rows?.[row] ?? row} is ${numbers[bad]}`,
        { fix: "give weights from 0 on; an example of weight 0 does not count" },
      );
    }
    // A batch of a stream may hold nothing that counts.
    if (rows === undefined && numbers.length > 0 && numbers.every((number) => number === 0))
      throw new EspalierError("WEIGHTS_INVALID", `${what}: all weights are 0, so that nothing counts`, {
        fix: "give some example a weight above 0, or leave weight out",
      });
  }
}

/** Refuses inputs, targets and weights on the host that are NaN or infinite. */
function checkFinite(what: string, arrays: SupervisedData, examples: number): void {
  for (const { path, numbers } of hostNumbers(arrays)) {
    if (!(numbers instanceof Float32Array || numbers instanceof Float64Array || Array.isArray(numbers)))
      continue;
    for (let i = 0; i < numbers.length; i++) {
      // Lists of numbers become f32.
      const number = Array.isArray(numbers) ? Math.fround(numbers[i] as number) : (numbers[i] as number);
      if (number - number === 0) continue;
      const width = numbers.length / examples;
      const field = width > 1 ? `, number ${i % width} of its ${width}` : "";
      throw new EspalierError(
        "DATA_NOT_FINITE",
        `${what}: ${path} is ${numbers[i]} in row ${Math.floor(i / width)}${field}`,
        {
          fix: "leave such rows out or replace the number; what a loss hides by a mask of its own is given as a tensor, put(...), which is not looked at",
        },
      );
    }
  }
}

/**
 * A loss of labels: whole numbers among the targets are indices of the model's last axis; or, of yes or no, they are
 * from 0 to 1.
 */
interface ClassLoss {
  readonly labels: { readonly ignored?: number | undefined; readonly binary?: boolean };
}

/** Marks a loss whose targets are labels, except for one number that does not count. */
export const ofClasses = <L extends object>(loss: L, labels: ClassLoss["labels"] = {}): L =>
  Object.assign(loss, { labels });

/** The labels of a task's losses; undefined where none of them is of classes. */
function labelsOf(loss: AnyOptions["loss"]): ClassLoss["labels"] | undefined {
  const losses: readonly object[] = Array.isArray(loss) ? loss : [loss];
  if (losses.includes(crossEntropy)) return {};
  return losses.map((one) => (one as Partial<ClassLoss>).labels).find((labels) => labels !== undefined);
}

/** Examples on the host. `rows` are their numbers in their source, where they are a batch of it. */
type CheckedData = SupervisedData & { readonly rows?: Int32Array };

/**
 * Gives what refuses bad weights, and labels that the model has no output for, where a loss is of classes and they are on the host.
 * Targets with as many axes as the outputs are distributions.
 */
export function targetCheck(
  what: string,
  { model, loss }: AnyOptions,
  { data, length }: Examples,
  params: Specs<Params>,
): (given: CheckedData) => void {
  const labels = labelsOf(loss);
  let classes = labels?.binary ? 2 : undefined;
  if (labels && !labels.binary && data.y instanceof Tensor && length > 0) {
    const apply = (p: Params, x: ExampleTree<Value>) => model.apply(p, x, { train: false });
    const outputs: unknown = withName(what, () => evalShape(apply, params, batchSpec(data, 1).x));
    if (outputs instanceof Spec && data.y.ndim < outputs.shape.length) classes = outputs.shape.at(-1);
  }
  return (given) => {
    checkWeights(what, given);
    if (labels && classes !== undefined) checkLabels(what, given, classes, labels);
  };
}

function checkLabels(
  what: string,
  { y, rows }: CheckedData,
  classes: number,
  { ignored, binary }: ClassLoss["labels"],
): void {
  for (const { path, numbers: labels } of hostNumbers(y)) {
    let [bad, first, counted] = [0, 0, 0];
    for (let i = 0; i < labels.length; i++) {
      const label = Number(labels[i]);
      if (label === ignored) continue;
      const fits = binary ? label <= 1 : Number.isInteger(label) && label < classes;
      if (fits && label >= 0) counted++;
      else if (bad++ === 0) first = i;
    }
    // A batch of a stream may hold nothing that counts.
    if (rows === undefined && labels.length > 0 && bad === 0 && counted === 0)
      throw new EspalierError(
        "LABELS_INVALID",
        `${what}: all labels are ${ignored}, so that nothing counts`,
        { fix: "give some example a label, or choose another number that is ignored" },
      );
    if (bad === 0) continue;
    const name = path === "" ? "y" : `y.${path}`;
    const at = rows
      ? `in row ${rows[Math.floor((first * rows.length) / labels.length)]}`
      : `at ${name}[${first}]`;
    throw new EspalierError(
      "LABELS_INVALID",
      `${what}: ${bad} of ${labels.length} labels${rows ? " of a batch" : ""} are ${binary ? "not from 0 to 1" : `none of the model's ${classes} classes`}; the first is ${Number(labels[first])}, ${at}`,
      {
        fix: binary
          ? "give 1 for yes and 0 for no"
          : `number the classes from 0 to ${classes - 1}, or give the model an output for each class`,
      },
    );
  }
}
