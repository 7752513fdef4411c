import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { evalShape, np, Value } from "../src/index.ts";
import { signaturesOf } from "./signatures.ts";

const text = readFileSync(new URL("../docs/math.md", import.meta.url), "utf8");

/** Where functions come from, by what stands before their names in the document. */
const modules = {
  np: "engine/np/index.ts",
  nn: "engine/nn/index.ts",
  random: "engine/random/index.ts",
  hostRandom: "engine/random/host.ts",
  "": "engine/transform/index.ts",
} as const;
type Prefix = keyof typeof modules;

interface Call {
  readonly prefix: string;
  readonly name: string;
  readonly parameters: string;
}

/** The calls in the first cells of the document's tables. */
const calls: readonly Call[] = [...text.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell = ""]) =>
  [...cell.matchAll(/`(?:(\w+)\.)?(\w+)\(([^`]*)\)`/g)].map(
    ([, prefix = "", name = "", parameters = ""]) => ({
      prefix,
      name,
      parameters,
    }),
  ),
);

/** Parameters without what is a matter of taste: names of positional ones, the order of options. */
function shapeOf(parameters: string): string {
  const parts = parameters.match(/\{[^}]*\}|[^,{}\s][^,]*/g) ?? [];
  return parts
    .map((part) => {
      if (!part.startsWith("{")) return part.replace(/\w+/, "x").trim();
      return `{ ${(part.match(/\w+/g) ?? []).sort().join(", ")} }`;
    })
    .join(", ");
}

const full = (prefix: string, name: string): string => (prefix ? `${prefix}.${name}` : name);

describe("the tables of docs/math.md", () => {
  const prefixes = Object.keys(modules) as Prefix[];
  const found = signaturesOf(Object.values(modules));
  const known = new Map(
    prefixes.flatMap((prefix, i) =>
      [...(found[i] ?? [])].map(([name, list]) => [full(prefix, name), list] as const),
    ),
  );

  it("name every function there is", () => {
    const named = new Set(calls.map(({ prefix, name }) => full(prefix, name)));
    expect([...known.keys()].filter((name) => !named.has(name))).toEqual([]);
  });

  it("name no other, and give its parameters and options", () => {
    const wrong = calls.flatMap(({ prefix, name, parameters }) => {
      const signatures = known.get(full(prefix, name)) ?? [];
      const fits = signatures.some((is) => shapeOf(is.slice(name.length + 1, -1)) === shapeOf(parameters));
      return fits
        ? []
        : [`${full(prefix, name)}(${parameters}), but there is ${signatures.join(" or ") || "none"}`];
    });
    expect(wrong).toEqual([]);
  });

  it("name each once", () => {
    const names = calls.map(({ prefix, name }) => full(prefix, name));
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});

describe("the lists of docs/math.md", () => {
  const listed = (start: string): string[] => {
    const line = text.split("\n").find((one) => one.startsWith(start)) ?? "";
    return [...line.matchAll(/`([\w.]+)`/g)].map(([, code = ""]) => code).sort();
  };

  it("name every method of values", () => {
    evalShape(() => np.zeros([1])); // methods come with the first trace
    const own = ["constructor", "shape", "dtype", "ndim", "size", "toString"];
    const methods = Object.getOwnPropertyNames(Value.prototype).filter((name) => !own.includes(name));
    expect(listed("Methods: ")).toEqual(methods.sort());
  });

  it("name every constant", () => {
    const constants = Object.entries(np).filter(([, value]) => typeof value !== "function");
    expect(listed("Constants: ")).toEqual(constants.map(([name]) => `np.${name}`).sort());
  });
});
