import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { didYouMean, EspalierError } from "../../core/index.ts";
import type { Policy } from "./policy.ts";
import type { PolicySpec } from "./spec.ts";
import type { PolicySpaces } from "./tower-policy.ts";

const parts = ["distribution", "init", "initialState", "step", "unroll"] as const;

/** What the function that a module exports makes of these spaces. */
export async function importedPolicy(
  module: NonNullable<PolicySpec["module"]>,
  spaces: PolicySpaces,
): Promise<Policy> {
  const { url, name } = module;
  const found = await imported(url);
  const make = found[name];
  if (typeof make !== "function") {
    const names = Object.keys(found);
    throw failure(
      `${url} exports no function "${name}"${didYouMean(name, names)}`,
      `export function ${name}(spaces) from it; it exports ${names.join(", ") || "nothing"}`,
    );
  }
  const policy: unknown = await make(spaces);
  const lacks = parts.filter((part) => !(policy as Partial<Policy> | undefined)?.[part]);
  if (lacks.length > 0)
    throw failure(`what "${name}" of ${url} made has no ${lacks.join(", ")}`, "make it return a Policy");
  return policy as Policy;
}

async function imported(url: string): Promise<Readonly<Record<string, unknown>>> {
  if (url.startsWith("."))
    throw failure(`"${url}" is relative to nothing`, "give new URL(file, import.meta.url).href");
  try {
    return (await import(isAbsolute(url) ? pathToFileURL(url).href : url)) as Record<string, unknown>;
  } catch (cause) {
    throw failure(`${url} could not be imported`, "see the cause", cause);
  }
}

const failure = (message: string, fix: string, cause?: unknown): EspalierError =>
  new EspalierError("POLICY_MODULE", `loadPolicy: ${message}`, { fix, cause });
