import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { catalogEntries } from "./names.ts";
import { configSchema } from "./schema.ts";

type Schema = Readonly<Record<string, never>> & {
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly $defs: Readonly<Record<string, { readonly anyOf: readonly Schema[] }>>;
};

describe("the schema of configurations", () => {
  it("knows every name of the catalog, which exist, with their options", async () => {
    const schema = (await configSchema()) as unknown as Schema;
    for (const { name, kind, load } of catalogEntries()) {
      expect(await load(), name).toBeDefined();
      const calls = schema.$defs[kind]?.anyOf.map(({ properties }) => properties.use?.const);
      expect(calls, name).toContain(name);
    }
    const ppo = schema.$defs.task?.anyOf.find(({ properties }) => properties.use?.const === "ppo");
    expect(ppo?.properties.totalSteps).toMatchObject({ anyOf: [{ type: "integer" }, {}, {}] });
    expect(schema.properties.engine).toMatchObject({ anyOf: [{ enum: ["auto", "xla", "wasm"] }, {}, {}] });
  });

  it("has the options of the examples", async () => {
    const schema = (await configSchema()) as unknown as Schema;
    const examples = new URL("../../examples/runs/", import.meta.url);
    for (const file of readdirSync(examples).filter((name) => name.endsWith(".yaml"))) {
      const { task, ...rest } = parse(readFileSync(new URL(file, examples), "utf8"));
      for (const member of Object.keys(rest)) expect(schema.properties, file).toHaveProperty(member);
      const call = schema.$defs.task?.anyOf.find(({ properties }) => properties.use?.const === task.use);
      for (const option of Object.keys(task)) expect(call?.properties, file).toHaveProperty(option);
    }
  });
});
