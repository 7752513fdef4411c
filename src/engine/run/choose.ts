import { didYouMean, EspalierError, environmentVariable } from "../../core/index.ts";
import { wasmBackend } from "../wasm/backend.ts";
import { xlaBackend, xlaProblem } from "../xla/backend.ts";
import type { Backend, Device, Engine, EngineName, Mesh } from "./backend.ts";

/** `auto` is xla where a plugin is found, else wasm. */
export type EngineChoice = EngineName | "auto";

const choices: readonly EngineChoice[] = ["auto", "xla", "wasm"];
let chosen: EngineChoice | undefined;

/** Chooses the engine for everything that does not name one. Overrides `ESPALIER_ENGINE`. */
export function setEngine(choice: EngineChoice): void {
  check(choice, "setEngine");
  chosen = choice;
}

function check(choice: string, from: string): EngineChoice {
  const known = choices.find((name) => name === choice);
  if (known) return known;
  throw new EspalierError(
    "ENGINE_UNKNOWN",
    `${from}: there is no engine "${choice}"${didYouMean(choice, choices)}`,
    {
      fix: `use one of ${choices.join(", ")}`,
    },
  );
}

/**
 * The engine behind a choice, started on first use.
 *
 * @example
 * ```ts
 * console.log(engine().name, engine().description); // xla cpu, PJRT API 0.81
 * ```
 */
export const engine = (choice?: EngineChoice): Engine => backendOf(choice);

/** The engine behind a choice, with all that the rest of this room needs of it. */
export function backendOf(choice?: EngineChoice): Backend {
  const asked =
    choice === undefined
      ? (chosen ?? check(environmentVariable("ESPALIER_ENGINE") || "auto", "ESPALIER_ENGINE"))
      : check(choice, "engine");
  if (asked === "wasm") return wasmBackend();
  const found = xlaBackend();
  if (found) return found;
  if (asked === "auto") return wasmBackend();
  const problem = xlaProblem();
  throw new EspalierError("XLA_UNAVAILABLE", `the xla engine was asked for, but ${problem.reason}`, {
    fix: problem.fix,
    cause: problem.cause,
  });
}

/** The devices of an engine. */
export const devices = (choice?: EngineChoice): readonly Device[] => engine(choice).devices;

/** The engine and device behind the options a caller gave. */
export function resolveDevice(
  choice: EngineChoice | undefined,
  device: number | Device | undefined,
): { backend: Backend; device: Device } {
  const own = typeof device === "object" ? device : undefined;
  const backend = own?.mesh ? meshOf(own.engine, own.mesh.count) : backendOf(choice ?? own?.engine);
  const index = typeof device === "object" ? device.index : (device ?? 0);
  const found = backend.devices[index];
  if (!found)
    throw new EspalierError("DEVICE_UNKNOWN", `the ${backend.name} engine has no device ${index}`, {
      fix: `it has ${backend.devices.length}: use an index from 0 to ${backend.devices.length - 1}, or list them with devices()`,
    });
  return { backend, device: found };
}

/** Several devices of an engine as one device, on which programs run in parts. */
export const meshDevice = (choice: EngineChoice | undefined, { count, shardOptimizer }: Mesh): Device =>
  meshOf(choice, count).devices[shardOptimizer ? 1 : 0] as Device;

function meshOf(choice: EngineChoice | undefined, count: number): Backend {
  const backend = backendOf(choice);
  if (backend.mesh) return backend.mesh(count);
  throw new EspalierError(
    "DEVICES_UNAVAILABLE",
    `${count} devices were asked for, and the ${backend.name} engine has one`,
    {
      fix: `leave devices out, or use the xla engine${xlaBackend() ? ': engine: "xla"' : `: ${command()} engine install`}`,
    },
  );
}

/** The command line's name: from a checkout or from an installed package. */
const command = (): string =>
  import.meta.url.includes("/src/engine/") ? "npm run --silent espalier --" : "npx espalier";

/** One line for people: which engine runs, and how to get the faster one where it is not there. */
export function engineHint(): string {
  const running = engine();
  if (running.name === "xla") return `engine: xla (${running.description})`;
  const forced = (chosen ?? environmentVariable("ESPALIER_ENGINE")) === "wasm";
  return forced
    ? "engine: wasm (asked for); the xla engine is several times faster"
    : `engine: wasm; the xla engine is several times faster: ${command()} engine install`;
}
