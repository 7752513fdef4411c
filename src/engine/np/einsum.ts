import { dotGeneral } from "../ops/dot.ts";
import { mul } from "../ops/elementwise.ts";
import { reduceSum } from "../ops/reduce.ts";
import { broadcastInDim, reshape, transpose } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { diagonal } from "./diagonals.ts";
import { promoted, toNumber, type ValueLike } from "./operands.ts";

/** A value whose axes have names. */
interface Named {
  readonly value: Value;
  readonly names: readonly string[];
}

const position = ({ names }: Named, wanted: readonly string[]): number[] =>
  wanted.map((name) => names.indexOf(name));

/** Repeated names within one argument mean its diagonal. */
function withoutRepeats({ value, names }: Named): Named {
  const repeat = names.findIndex((name, i) => names.indexOf(name) !== i);
  if (repeat < 0) return { value, names };
  const first = names.indexOf(names[repeat] as string);
  const rest = names.filter((_, i) => i !== first && i !== repeat);
  return withoutRepeats({
    value: diagonal(value, { axes: [first, repeat] }),
    names: [...rest, names[repeat] as string],
  });
}

/** Drops axes of length 1 where the name is longer elsewhere: they broadcast. */
function withoutOnes({ value, names }: Named, { lengths }: Subscripts): Named {
  const stays = names.map((name, i) => value.shape[i] === lengths.get(name));
  return {
    value: reshape(
      value,
      value.shape.filter((_, i) => stays[i]),
    ),
    names: names.filter((_, i) => stays[i]),
  };
}

/** Sums over the names that are no longer needed. */
function summed(one: Named, needed: ReadonlySet<string>): Named {
  const gone = one.names.filter((name) => !needed.has(name));
  return {
    value: reduceSum(one.value, position(one, gone)),
    names: one.names.filter((name) => needed.has(name)),
  };
}

function product(left: Named, right: Named, needed: ReadonlySet<string>): Named {
  const shared = left.names.filter((name) => right.names.includes(name));
  const contract = shared.filter((name) => !needed.has(name));
  const batch = shared.filter((name) => needed.has(name));
  const mine = left.names.filter((name) => !shared.includes(name));
  const others = right.names.filter((name) => !shared.includes(name));
  const names = [...batch, ...mine, ...others];
  if (contract.length === 0 && (mine.length === 0 || others.length === 0))
    return multiplied(left, right, names);
  const value = dotGeneral(left.value, right.value, {
    lhsContract: position(left, contract),
    rhsContract: position(right, contract),
    lhsBatch: position(left, batch),
    rhsBatch: position(right, batch),
  });
  return { value, names };
}

/** With nothing to sum over and nothing to spread on one side, a plain product does. */
function multiplied(left: Named, right: Named, names: readonly string[]): Named {
  const shape = names.map((name) =>
    left.names.includes(name)
      ? (left.value.shape[left.names.indexOf(name)] as number)
      : (right.value.shape[right.names.indexOf(name)] as number),
  );
  const spread = (one: Named) => ordered(one, names, shape);
  return { value: mul(spread(left), spread(right)), names };
}

/** The value with its axes in the order of `names`, repeated over those it lacks. */
function ordered(one: Named, names: readonly string[], shape: readonly number[]): Value {
  const own = names.filter((name) => one.names.includes(name));
  return broadcastInDim(
    transpose(one.value, position(one, own)),
    shape,
    own.map((name) => names.indexOf(name)),
  );
}

/**
 * Sums of products by Einstein's convention: letters name axes, those missing from the result are summed over. Pairs
 * are multiplied from left to right, so put the arguments that make the small products first.
 *
 * @example
 * ```ts
 * np.einsum("ij,jk->ik", x, y);            // matmul
 * np.einsum("...qd,...kd->...qk", q, k);   // attention scores
 * np.einsum("ii", x);                      // trace
 * ```
 */
export function einsum(subscripts: string, ...xs: readonly ValueLike[]): Value {
  const values = promoted("einsum", xs, toNumber);
  const parsed = parseSubscripts(
    subscripts,
    values.map((value) => value.shape),
  );
  const { inputs, output, lengths } = parsed;
  const given = values.map((value, i) =>
    withoutOnes(withoutRepeats({ value, names: inputs[i] as readonly string[] }), parsed),
  );
  const neededAfter = (i: number) => new Set([...output, ...given.slice(i + 1).flatMap((one) => one.names)]);
  const [first, ...rest] = given as [Named, ...Named[]];
  let result = summed(first, neededAfter(0));
  rest.forEach((one, i) => {
    const needed = neededAfter(i + 1);
    const alone = summed(one, new Set([...needed, ...result.names]));
    result = summed(product(result, alone, needed), needed);
  });
  return ordered(
    result,
    output,
    output.map((name) => lengths.get(name) as number),
  );
}

/** The subscripts of einsum made plain: one name for each axis of each argument, and of the result. */
interface Subscripts {
  readonly inputs: readonly (readonly string[])[];
  readonly output: readonly string[];
  /** The length of each named axis; 1 only where it is 1 everywhere. */
  readonly lengths: ReadonlyMap<string, number>;
}

const wrong = (text: string, reason: string, fix: string) =>
  userError("EINSUM_INVALID", `einsum: "${text}": ${reason}`, fix);

const form = /^[A-Za-z]*(\.\.\.)?[A-Za-z]*$/;

/** Axes that stand for "..." are named by their place from the last: "...0" is the last. */
function names(part: string, hidden: number): string[] {
  const dots = Array.from({ length: hidden }, (_, i) => `...${hidden - 1 - i}`);
  const [before, behind] = part.split("...") as [string, string?];
  return behind === undefined ? [...before] : [...before, ...dots, ...behind];
}

/** Reads subscripts such as `bij,bjk->bik` for arguments of these shapes. */
function parseSubscripts(text: string, shapes: readonly Shape[]): Subscripts {
  const [left, right, extra] = text.replace(/\s+/g, "").split("->") as [string, string?, string?];
  const parts = left.split(",");
  if (extra !== undefined || [...parts, right ?? ""].some((part) => !form.test(part)))
    throw wrong(
      text,
      "is not of the form ij,jk->ik",
      "use letters, one for each axis, and ... for all others",
    );
  if (parts.length !== shapes.length)
    throw wrong(
      text,
      `names ${parts.length} arguments, but ${shapes.length} were given`,
      "put one group of letters, parted by commas, for each argument",
    );
  let most = 0;
  const inputs = parts.map((part, i) => {
    const shape = shapes[i] as Shape;
    const letters = part.replace("...", "").length;
    const hidden = shape.length - letters;
    if (hidden < 0 || (hidden > 0 && !part.includes("...")))
      throw wrong(
        text,
        `"${part}" names ${letters} axes, but argument ${i} has shape ${shapeText(shape)}`,
        "put one letter for each axis, or ... for those not named",
      );
    most = Math.max(most, part.includes("...") ? hidden : 0);
    return names(part, hidden);
  });
  const lengths = lengthsOf(text, inputs, shapes);
  return { inputs, output: outputOf(text, right, inputs, most), lengths };
}

function lengthsOf(text: string, inputs: readonly (readonly string[])[], shapes: readonly Shape[]) {
  const lengths = new Map<string, number>();
  const from = new Map<string, number>();
  inputs.forEach((axes, i) => {
    axes.forEach((name, axis) => {
      const n = shapes[i]?.[axis] as number;
      const known = lengths.get(name) ?? 1;
      if (known !== 1 && n !== 1 && known !== n)
        throw userError(
          "SHAPE_MISMATCH",
          `einsum: "${text}": ${name.startsWith("...") ? "an axis of ..." : `"${name}"`} has length ${known} in argument ${from.get(name)}, ${shapeText(shapes[from.get(name) as number] as Shape)}, and ${n} in argument ${i}, ${shapeText(shapes[i] as Shape)}`,
          "give axes of one name one length",
        );
      if (!lengths.has(name) || known === 1) {
        lengths.set(name, n);
        from.set(name, i);
      }
    });
  });
  return lengths;
}

/** Without "->": the axes of "...", then in alphabetical order every letter that stands once. */
function outputOf(
  text: string,
  right: string | undefined,
  inputs: readonly (readonly string[])[],
  hidden: number,
): string[] {
  const all = inputs.flat();
  const letters = all.filter((name) => !name.startsWith("..."));
  if (right === undefined) {
    const once = letters.filter((name) => letters.indexOf(name) === letters.lastIndexOf(name));
    return [...names("...", hidden), ...once.sort()];
  }
  const output = names(right, hidden);
  const unknown = output.find((name) => !all.includes(name));
  const twice = output.find((name, i) => output.indexOf(name) !== i);
  if (unknown !== undefined || twice !== undefined)
    throw wrong(
      text,
      unknown === undefined
        ? `the result names "${twice}" twice`
        : `the result names "${unknown}", which no argument has`,
      "name axes of the arguments in the result, each once",
    );
  return output;
}
