import { xlaBackend } from "../xla/backend.ts";
import type { EngineName } from "./backend.ts";
import { engine } from "./choose.ts";

/** The engines tests run on: both, or wasm alone where no plugin is found. `ESPALIER_REQUIRE=xla` makes that a failure. */
export function testEngines(): readonly EngineName[] {
  const required = (process.env.ESPALIER_REQUIRE ?? "").split(",").includes("xla");
  if (required) engine("xla");
  return xlaBackend() ? ["wasm", "xla"] : ["wasm"];
}
