import type { Json } from "../../json.ts";
import { mlflowName } from "./names.ts";

/** What all versions of MLflow take. */
const LONGEST = 500;

export interface Param {
  readonly key: string;
  readonly value: string;
}

/** Settings as MLflow's parameters: `model.width` for what lies deeper, lists as JSON, long values cut. */
export function paramsOf(config: Json): Param[] {
  return [...leaves(config, "")].map(([name, value]) => ({
    key: mlflowName(name === "" ? "config" : name),
    value: (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST),
  }));
}

function* leaves(value: Json, name: string): Generator<[name: string, value: Json], void, undefined> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    if (name !== "" || value !== null) yield [name, value];
    return;
  }
  for (const [part, inner] of Object.entries(value))
    yield* leaves(inner, name === "" ? part : `${name}.${part}`);
}
