import { type OptionRows, optionsOf } from "../core/index.ts";
import { trainingConfigTable } from "../trainer/index.ts";
import { type CatalogEntry, catalogEntries, type Kind } from "./names.ts";
import { runTable } from "./run-config.ts";

type Schema = Readonly<Record<string, unknown>>;

/** A call of anything, and a reference. */
const anyCall: Schema = {
  type: "object",
  properties: Object.fromEntries([
    ["use", { type: "string" }],
    ...["args", "then"].map((name) => [name, { type: "array" }]),
  ]),
  required: ["use"],
};
const reference: Schema = {
  type: "object",
  // biome-ignore lint/suspicious/noThenProperty: a member of the schema.
  properties: { get: { type: "string" }, then: { type: "array" } },
  required: ["get"],
  additionalProperties: false,
};

/** An option in a file: its plain values, where it has some, or a call or reference that makes one. */
const optionSchema = (schema: Schema | undefined, doc: string | undefined): Schema => ({
  ...(schema
    ? { anyOf: [schema, { $ref: "#/$defs/call" }, { $ref: "#/$defs/reference" }] }
    : // What a file cannot write down is made; lists and objects may have such values within.
      {}),
  ...(doc !== undefined && { description: doc }),
});

const membersOf = (table: OptionRows): Schema =>
  Object.fromEntries(
    Object.entries(table).map(([name, { schema, doc }]) => [name, optionSchema(schema, doc)]),
  );

/** The call of one function: its options by name, where it has a table. */
async function callOf({ name, load, door }: CatalogEntry): Promise<Schema> {
  const table = optionsOf((await load()) as () => unknown);
  return {
    type: "object",
    description: `${name} of ${door}`,
    properties: { ...(table && membersOf(table)), ...(anyCall.properties as Schema), use: { const: name } },
    required: ["use"],
    ...(table && { additionalProperties: false }),
  };
}

/**
 * The JSON schema of a run's configuration, for editors. It knows the names of the package and their options; names of
 * files and of other packages are accepted with any options.
 */
export async function configSchema(): Promise<Schema> {
  const calls = new Map<Kind, Schema[]>();
  const names: string[] = [];
  for (const entry of catalogEntries()) {
    names.push(entry.name);
    calls.set(entry.kind, [...(calls.get(entry.kind) ?? []), await callOf(entry)]);
  }
  const others: Schema = { ...anyCall, properties: { use: { type: "string", not: { enum: names } } } };
  const of = (kind: Kind): Schema => ({ anyOf: [...(calls.get(kind) ?? []), others] });
  const items = (kind: "hook" | "sink"): Schema => ({
    type: "array",
    items: { anyOf: [{ type: "string" }, { $ref: `#/$defs/${kind}` }] },
  });
  const kinds = [...calls.keys()].map((kind) => [kind, of(kind)] as const);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A run of Espalier",
    type: "object",
    properties: {
      ...membersOf(runTable),
      task: { $ref: "#/$defs/task", description: runTable.task.doc },
      training: { type: "object", properties: membersOf(trainingConfigTable), additionalProperties: false },
      hooks: { ...items("hook"), description: runTable.hooks.doc },
      sinks: { ...items("sink"), description: runTable.sinks.doc },
    },
    required: ["task"],
    additionalProperties: false,
    $defs: { call: anyCall, reference, ...Object.fromEntries(kinds) },
  };
}
