import {
  Checkpoint,
  CheckpointManager,
  type CheckpointStore,
  filedMetrics,
  type Manifest,
  type PartedStore,
  type SavedLeaf,
} from "../../checkpoint/index.ts";
import { bytesText, printableText, tableLines } from "../../core/index.ts";
import { locate, openCheckpoint, withComponent } from "./locate.ts";

/** A component as it is shown: its file and what lies in it. */
interface InspectedComponent {
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly tensors: readonly Extract<SavedLeaf, { readonly dtype: unknown }>[];
  /** Plain values by path. */
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
}

/** The content of a checkpoint. */
interface Inspected extends Omit<Manifest, "components"> {
  readonly path: string;
  readonly bytes: number;
  readonly components: readonly InspectedComponent[];
}

/** Reads the content of a checkpoint, without its numbers. */
async function inspectCheckpoint(path: string): Promise<Inspected> {
  const opened = await openCheckpoint(path);
  const { manifest } = opened.checkpoint;
  const components: InspectedComponent[] = [];
  for (const [name, { file, bytes, sha256 }] of Object.entries(manifest.components)) {
    const leaves = await withComponent(opened, name, async ({ leaves }) => leaves);
    const tensors = leaves.filter((leaf) => leaf.kind !== "value");
    const values = leaves.flatMap((leaf) =>
      leaf.kind === "value" ? [[leaf.path, leaf.value] as const] : [],
    );
    components.push({ name, file, bytes, sha256, tensors, values: Object.fromEntries(values) });
  }
  const bytes = components.reduce((sum, component) => sum + component.bytes, 0);
  return { path: opened.checkpoint.path, ...manifest, bytes, components };
}

/** The text that `inspect` prints of one checkpoint. */
function inspectText(found: Inspected): string {
  const { engine, device, plugin, espalier, node } = found.computedBy;
  const facts: readonly (readonly [string, string])[] = [
    ["run", found.run],
    ["saved", `${found.savedAt}, number ${found.sequence} of its directory`],
    ["counters", listText(found.counters)],
    ["metrics", listText(filedMetrics(found))],
    ["computed by", `${engine}, ${device}, ${plugin.name}; espalier ${espalier}, Node ${node}`],
    ["config", jsonText(found.config)],
    ["metadata", jsonText(found.metadata)],
    [
      "size",
      `${bytesText(found.bytes)} in ${found.components.length} components, format version ${found.version}`,
    ],
  ];
  const rows = found.components.flatMap(({ name, bytes, tensors, values }) => {
    const plain = Object.keys(values).length;
    return [
      [name, "", "", bytesText(bytes)],
      ...tensors.map((leaf) => [
        "",
        leaf.path,
        `${leaf.dtype}[${leaf.shape.join(",")}]`,
        bytesText(leaf.bytes),
      ]),
      ...(plain > 0 ? [["", `${plain} plain ${plain === 1 ? "value" : "values"}`, "", ""]] : []),
    ];
  });
  return [
    found.path,
    ...tableLines(
      facts.filter(([, text]) => text !== "").map(([what, text]) => [`  ${what}`, text]),
      { longest: 2000 },
    ),
    "",
    ...tableLines([["component", "tensor", "type", "size"], ...rows]),
  ].join("\n");
}

const listText = (values: Readonly<Record<string, number | undefined>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

const jsonText = (value: unknown): string => (value === null ? "" : JSON.stringify(value));

/** One line for each checkpoint of a store. */
interface ListedCheckpoint {
  readonly name: string;
  /** Number of ranks that wrote it, each its part. */
  readonly ranks: number;
  readonly savedAt: string | undefined;
  readonly counters: Manifest["counters"] | undefined;
  /** Metrics and scores by their full names. */
  readonly metrics: Manifest["metrics"] | undefined;
  readonly bytes: number | undefined;
  readonly problem: string | undefined;
}

export async function inspectStore(
  store: CheckpointStore | PartedStore,
): Promise<readonly ListedCheckpoint[]> {
  const entries = await new CheckpointManager({ store }).list();
  return Promise.all(
    entries.map(async ({ name, manifest, problem }) => {
      const parts = "partsOf" in store ? await store.partsOf(name) : [store];
      const sizes = await Promise.all(
        parts.map(async (part) => sizeOf((await Checkpoint.open(part, name)).manifest)),
      ).catch(() => undefined);
      return {
        name,
        ranks: parts.length,
        savedAt: manifest?.savedAt,
        counters: manifest?.counters,
        metrics: manifest && filedMetrics(manifest),
        bytes: sizes?.reduce((sum, bytes) => sum + bytes, 0),
        problem,
      };
    }),
  );
}

/** Bytes of a checkpoint's components. */
const sizeOf = (manifest: Manifest): number =>
  Object.values(manifest.components).reduce((sum, { bytes }) => sum + bytes, 0);

function storeText(location: string, found: readonly ListedCheckpoint[]): string {
  if (found.length === 0) return `${location} holds no checkpoints`;
  const rows = found.map(({ name, ranks, savedAt = "", bytes, metrics = {}, problem }) => [
    ranks > 1 ? `${name} (${ranks} ranks)` : name,
    savedAt,
    bytes === undefined ? "" : bytesText(bytes),
    problem ? `cannot be read: ${problem}` : listText(metrics),
  ]);
  return [location, ...tableLines([["checkpoint", "saved", "size", "metrics"], ...rows])].join("\n");
}

/** The text that `inspect PATH` prints: of a checkpoint everything but its numbers, of a directory its checkpoints. */
export async function inspect(path: string, asJson: boolean): Promise<string> {
  const found = await locate(path);
  if (found.kind !== "checkpoint") {
    const store = found.kind === "ranks" ? found.parts : found.store;
    const listed = await inspectStore(store);
    return asJson ? JSON.stringify(listed, null, 2) : printableText(storeText(store.location, listed));
  }
  const inspected = await inspectCheckpoint(path);
  return asJson ? JSON.stringify(inspected, null, 2) : printableText(inspectText(inspected));
}
