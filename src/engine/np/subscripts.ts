import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import { shapeText } from "../trace/type.ts";

/** The subscripts of einsum made plain: one name for each axis of each argument, and of the result. */
export interface Subscripts {
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
export function parseSubscripts(text: string, shapes: readonly Shape[]): Subscripts {
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
