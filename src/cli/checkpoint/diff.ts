import {
  type Checkpoint,
  type HostTensor,
  type OpenComponent,
  openCheckpoint,
  readTensor,
  type SavedLeaf,
  savedLeaves,
} from "../../checkpoint/index.ts";
import { didYouMean, EspalierError, numberText, tableLines } from "../../core/index.ts";
import type { HostArray } from "../../engine/index.ts";

interface LeafDifference {
  readonly path: string;
  /** Types or plain values on both sides; undefined where it is missing. */
  readonly sides: readonly [string | undefined, string | undefined];
  /** Set if types and shapes are the same. */
  readonly numbers: NumberDifference | undefined;
}

export interface ComponentDifference {
  readonly component: string;
  /** The checkpoint that does not have it. */
  readonly missing: "first" | "second" | undefined;
  /** Leaves that differ, in a fixed order. None where it is the same. */
  readonly leaves: readonly LeafDifference[];
}

/** Compares two checkpoints component by component, those of `ignore` left out. Both must be whole. */
export async function diffCheckpoints(
  a: string,
  b: string,
  ignore: readonly string[] = [],
): Promise<readonly ComponentDifference[]> {
  const sides = [await openWhole(a), await openWhole(b)] as const;
  const [here, there] = sides.map(({ components }) => components) as [readonly string[], readonly string[]];
  const all = [...new Set([...here, ...there])];
  for (const name of ignore)
    if (!all.includes(name))
      throw new EspalierError(
        "COMPONENT_UNKNOWN",
        `--ignore ${name}: neither checkpoint has such a component${didYouMean(name, all)}`,
        { fix: `the components are ${all.join(", ")}` },
      );
  const names = all.filter((name) => !ignore.includes(name));
  const found: ComponentDifference[] = [];
  for (const component of names) {
    if (!here.includes(component)) found.push({ component, missing: "first", leaves: [] });
    else if (!there.includes(component)) found.push({ component, missing: "second", leaves: [] });
    else found.push({ component, missing: undefined, leaves: await diffComponent(sides, component) });
  }
  return found;
}

export const differs = ({ missing, leaves }: ComponentDifference): boolean =>
  missing !== undefined || leaves.length > 0;

async function openWhole(path: string): Promise<Checkpoint> {
  const checkpoint = await openCheckpoint(path, console.error);
  const problems = await checkpoint.verify();
  if (problems.length === 0) return checkpoint;
  const told = problems.map((problem) => problem.replace(/ \[\w+\]$/, "")).join("; ");
  throw new EspalierError("CHECKPOINT_DAMAGED", `${path} is damaged: ${told}`, {
    fix: "compare checkpoints that are whole",
  });
}

function diffComponent(
  [a, b]: readonly [Checkpoint, Checkpoint],
  component: string,
): Promise<readonly LeafDifference[]> {
  const [x, y] = [a, b].map(({ manifest }) => manifest.components[component]?.sha256);
  if (x === y) return Promise.resolve([]);
  return a.withComponent(component, (left) => b.withComponent(component, (right) => diffLeaves(left, right)));
}

async function diffLeaves(left: OpenComponent, right: OpenComponent): Promise<readonly LeafDifference[]> {
  const others = new Map(savedLeaves(right.header).map((leaf) => [leaf.path, leaf]));
  const found: LeafDifference[] = [];
  for (const leaf of savedLeaves(left.header)) {
    const other = others.get(leaf.path);
    others.delete(leaf.path);
    const sides = [sideText(leaf), other && sideText(other)] as const;
    const { path } = leaf;
    if (sides[0] !== sides[1]) found.push({ path, sides, numbers: undefined });
    else if (leaf.kind !== "value") {
      const [p, q] = await Promise.all(
        [left, right].map(({ file, header }) => readTensor(file, header, path)),
      );
      // Both were read.
      const numbers = p && q && numberDifference(p, q);
      if (numbers) found.push({ path, sides, numbers });
    }
  }
  for (const leaf of others.values())
    found.push({ path: leaf.path, sides: [undefined, sideText(leaf)], numbers: undefined });
  return found;
}

function sideText(leaf: SavedLeaf): string {
  if (leaf.kind !== "value") return `${leaf.dtype}[${leaf.shape.join(",")}]`;
  if (typeof leaf.value !== "number") return JSON.stringify(leaf.value);
  return Object.is(leaf.value, -0) ? "-0" : String(leaf.value);
}

type NumberDifference = NonNullable<ReturnType<typeof numberDifference>>;

/** Compares bit for bit: NaN equals the same NaN, and 0 differs from -0. Undefined where nothing differs. */
export function numberDifference(a: HostTensor, b: HostTensor) {
  const [x, y] = [bitsOf(a.data), bitsOf(b.data)];
  let first = -1;
  let count = 0;
  let greatest = 0;
  for (let i = 0; i < x.length; i++) {
    if (x[i] === y[i]) continue;
    if (count++ === 0) first = i;
    const [p, q] = [a.data[i] as number, b.data[i] as number];
    // Math.max keeps NaN.
    greatest = Math.max(greatest, p === q ? 0 : Math.abs(p - q));
  }
  if (count === 0) return undefined;
  return {
    /** Of the first difference. */
    index: placeOf(first, a.shape),
    values: [a.data[first] as number, b.data[first] as number] as const,
    /** Elements that differ, and all. */
    count,
    of: x.length,
    /** The greatest absolute difference; NaN where a number stands against none. */
    greatest,
  };
}

/** The same memory as whole numbers, which are equal exactly where bits are. */
function bitsOf(array: HostArray): ArrayLike<number | bigint> {
  const { buffer, byteOffset, length } = array;
  if (array instanceof Float32Array) return new Uint32Array(buffer, byteOffset, length);
  return array instanceof Float64Array ? new BigUint64Array(buffer, byteOffset, length) : array;
}

export function placeOf(flat: number, shape: readonly number[]): readonly number[] {
  return shape.reduceRight<{ readonly rest: number; readonly place: readonly number[] }>(
    ({ rest, place }, size) => ({ rest: Math.floor(rest / size), place: [rest % size, ...place] }),
    { rest: flat, place: [] },
  ).place;
}

/** The most leaves of one component that are told one by one. */
const mostLeaves = 20;

export function diffText(found: readonly ComponentDifference[]): string {
  const different = found.filter(differs);
  if (different.length === 0) return `the same, bit for bit, in all ${found.length} components`;
  const rows = different.flatMap(({ component, missing, leaves }) => {
    if (missing) return [[component, `is missing in the ${missing}`]];
    const more = leaves.length - mostLeaves;
    return [
      ...leaves.slice(0, mostLeaves).map((leaf) => [component, ...cells(leaf)]),
      ...(more > 0 ? [[component, `and ${more} more`]] : []),
    ];
  });
  const same = found.length - different.length;
  return [
    `first difference: ${firstText(found)}`,
    "",
    ...tableLines([
      ["component", "tensor or value", "type", "differ", "greatest difference", "first"],
      ...rows,
    ]),
    "",
    `${different.length} of ${found.length} components differ, ${same} are the same`,
  ].join("\n");
}

/** The first difference of all in one line: component, tensor and index. */
export function firstText(found: readonly ComponentDifference[]): string {
  const first = found.find(differs);
  if (!first) return "none";
  const [leaf] = first.leaves;
  if (!leaf) return `component ${first.component} is missing in the ${first.missing}`;
  return `component ${first.component}, ${leaf.path}${placeText(leaf)}: ${valuesText(leaf)}`;
}

function cells(leaf: LeafDifference): readonly string[] {
  const { path, sides, numbers } = leaf;
  if (!numbers) return [path, "", "", "", valuesText(leaf)];
  const { count, of, greatest } = numbers;
  return [
    path,
    sides[0] ?? "",
    `${count} of ${of}`,
    numberText(greatest, { digits: 3 }),
    `${placeText(leaf)} ${valuesText(leaf)}`.trimStart(),
  ];
}

const placeText = ({ numbers }: LeafDifference): string =>
  numbers && numbers.index.length > 0 ? `[${numbers.index.join(",")}]` : "";

function valuesText({ sides: [a, b], numbers }: LeafDifference): string {
  if (numbers)
    return numbers.values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join(" and ");
  if (a === undefined || b === undefined)
    return `${a ?? b} is missing in the ${a === undefined ? "first" : "second"}`;
  return `${a} and ${b}`;
}
