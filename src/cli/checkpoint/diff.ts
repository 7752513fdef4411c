import { type Checkpoint, type CheckpointStore, readTensor, type SavedLeaf } from "../../checkpoint/index.ts";
import { didYouMean, EspalierError } from "../../core/index.ts";
import { type NumberDifference, numberDifference } from "./difference.ts";
import { type OpenComponent, withComponent } from "./leaves.ts";
import { openCheckpoint } from "./locate.ts";

/** A leaf in which two components differ. */
export interface LeafDifference {
  readonly path: string;
  /** Types or plain values on both sides; undefined where it is missing. */
  readonly sides: readonly [string | undefined, string | undefined];
  /** Where types and shapes are the same. */
  readonly numbers: NumberDifference | undefined;
}

export interface ComponentDifference {
  readonly component: string;
  /** Where it is missing, if it is. */
  readonly missing: "first" | "second" | undefined;
  /** Leaves that differ, in a fixed order. None where it is the same. */
  readonly leaves: readonly LeafDifference[];
}

type Opened = { readonly checkpoint: Checkpoint; readonly store: CheckpointStore };

/** Compares two checkpoints component by component, those of `ignore` left out. Both must be whole. */
export async function diffCheckpoints(
  a: string,
  b: string,
  ignore: readonly string[] = [],
): Promise<readonly ComponentDifference[]> {
  const sides = [await openWhole(a), await openWhole(b)] as const;
  const [here, there] = sides.map(({ checkpoint }) => checkpoint.components) as [
    readonly string[],
    readonly string[],
  ];
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

async function openWhole(path: string): Promise<Opened> {
  const opened = await openCheckpoint(path);
  const problems = await opened.checkpoint.verify();
  if (problems.length === 0) return opened;
  throw new EspalierError("CHECKPOINT_DAMAGED", `${path} is damaged: ${problems.join("; ")}`, {
    fix: "compare checkpoints that are whole",
  });
}

function diffComponent(
  [a, b]: readonly [Opened, Opened],
  component: string,
): Promise<readonly LeafDifference[]> {
  const [x, y] = [a, b].map(({ checkpoint }) => checkpoint.manifest.components[component]?.sha256);
  if (x === y) return Promise.resolve([]);
  return withComponent(a, component, (left) =>
    withComponent(b, component, (right) => diffLeaves(left, right)),
  );
}

async function diffLeaves(left: OpenComponent, right: OpenComponent): Promise<readonly LeafDifference[]> {
  const others = new Map(right.leaves.map((leaf) => [leaf.path, leaf]));
  const found: LeafDifference[] = [];
  for (const leaf of left.leaves) {
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
