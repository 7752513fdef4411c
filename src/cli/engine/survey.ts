import { engine, type Plugin } from "../../engine/index.ts";
import type { Probe } from "./probe.ts";

/** One engine, or one plugin of the xla engine. */
export interface Entry {
  readonly engine: "xla" | "wasm";
  readonly kind: string;
  readonly source: Plugin["source"] | "package";
  readonly path?: string;
  readonly probe: Probe;
}

/** What runs, and the reason. */
export interface Pick {
  /** Undefined where nothing would run. */
  readonly engine: "xla" | "wasm" | undefined;
  readonly path?: string;
  readonly why: string;
}

export interface Survey {
  /** In the order in which they are tried. */
  readonly entries: readonly Entry[];
  /** What `auto` takes. */
  readonly auto: Pick;
  /** What a program gets that does not choose: `auto`, unless ESPALIER_ENGINE says otherwise. */
  readonly runs: Pick;
}

/** Looks at every engine there is; `probe` starts a plugin and says what came of it. */
export async function survey(
  plugins: readonly Plugin[],
  probe: (plugin: Plugin) => Promise<Probe>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Survey> {
  const found: Entry[] = [];
  // One after the other: two that use one GPU could be in each other's way.
  for (const plugin of plugins) {
    const { kind, source, path } = plugin;
    found.push({ engine: "xla", kind, source, path, probe: await probe(plugin) });
  }
  const auto = autoPick(found);
  return { entries: [...found, wasmEntry()], auto, runs: runningPick(env.ESPALIER_ENGINE, found, auto) };
}

function wasmEntry(): Entry {
  const { description, devices } = engine("wasm");
  const probe = { state: "starts", description, devices: devices.map((d) => d.description) } as const;
  return { engine: "wasm", kind: "cpu", source: "package", probe };
}

/** The first plugin that does not decline decides: a crash is not survived. */
function autoPick(found: readonly Entry[]): Pick {
  const first = found.find(({ probe }) => probe.state !== "declines");
  if (!first)
    return { engine: "wasm", why: found.length === 0 ? "no XLA plugin was found" : "no XLA plugin starts" };
  const { kind, path, probe } = first;
  const place = path === undefined ? {} : { path };
  if (probe.state === "crashes")
    return { engine: undefined, ...place, why: `it would try the ${kind} plugin, which crashes` };
  return { engine: "xla", ...place, why: `the ${kind} plugin is the first that starts` };
}

function runningPick(asked: string | undefined, found: readonly Entry[], auto: Pick): Pick {
  if (!asked || asked === "auto") return auto;
  const why = `ESPALIER_ENGINE=${asked}`;
  if (asked === "wasm") return { engine: "wasm", why };
  if (asked !== "xla") return { engine: undefined, why: `${why} names no engine: it is wasm, xla or auto` };
  if (auto.engine !== "wasm") return auto.engine === "xla" ? { ...auto, why } : auto;
  const missing = found.length === 0 ? "no XLA plugin was found" : "no XLA plugin starts";
  return { engine: undefined, why: `${why}, but ${missing}` };
}
