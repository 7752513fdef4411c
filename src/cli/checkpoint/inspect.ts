import {
  Checkpoint,
  filedMetrics,
  type InspectedCheckpoint,
  inspectCheckpoint,
  inspectStore,
  type ListedCheckpoint,
} from "../../checkpoint/index.ts";
import { bytesText, printableText, tableLines } from "../../core/index.ts";
import { locate } from "./locate.ts";

function inspectText(found: InspectedCheckpoint): string {
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
  const inspected = await inspectCheckpoint(await Checkpoint.open(found.store, found.name));
  return asJson ? JSON.stringify(inspected, null, 2) : printableText(inspectText(inspected));
}
