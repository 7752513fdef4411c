import { EspalierError, tableLines } from "../../core/index.ts";
import { engine, type Plugin, pluginAt, startXla } from "../../engine/index.ts";
import { type Self, startChild } from "../run-again.ts";

/** One engine, or one plugin of the xla engine. */
export interface Entry {
  readonly engine: "xla" | "wasm";
  readonly kind: string;
  readonly source: Plugin["source"] | "package";
  readonly path?: string;
  readonly probe: Probe;
}

export interface Pick {
  /** Undefined where nothing would run. */
  readonly engine: "xla" | "wasm" | undefined;
  readonly path?: string;
  readonly why: string;
}

/** Engines in the order in which they are tried, and the choices. */
type Survey = Awaited<ReturnType<typeof survey>>;

/** Looks at every engine there is; `probe` starts a plugin. */
export async function survey(
  plugins: readonly Plugin[],
  probe: (plugin: Plugin) => Promise<Probe>,
  env: Readonly<Record<string, string | undefined>>,
) {
  const found: Entry[] = [];
  // One after the other: two that use one GPU could be in each other's way.
  for (const plugin of plugins) {
    const { kind, source, path } = plugin;
    found.push({ engine: "xla", kind, source, path, probe: await probe(plugin) });
  }
  const auto = autoPick(found);
  // `runs` is the engine of programs that do not choose: that of ESPALIER_ENGINE, or `auto`.
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

/** The result of starting a plugin. */
export type Probe =
  | { readonly state: "starts"; readonly description: string; readonly devices: readonly string[] }
  /** It said why, and `auto` goes on to the next one; or it took the process down with it, or never answered. */
  | { readonly state: "declines" | "crashes"; readonly reason: string; readonly fix?: string };

const PATIENCE = 60_000;

/** Starts a plugin in this process. For the child that {@link probePlugin} runs. */
export function probeHere({ path, kind }: Plugin): Probe {
  try {
    const { description, devices } = startXla(pluginAt(path, kind));
    return { state: "starts", description, devices: devices.map((device) => device.description) };
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    const reason = error.message.split("\n  fix:")[0] ?? error.message;
    return { state: "declines", reason, ...(error.fix ? { fix: error.fix } : {}) };
  }
}

/**
 * Starts a plugin in a process of its own, because one that does not suit the machine may abort the process it is
 * loaded into.
 */
export async function probePlugin(plugin: Plugin, self: Self, patience = PATIENCE): Promise<Probe> {
  const start = performance.now();
  const { messages, gone, output } = startChild<Probe>(self, "engine-probe", plugin, {
    timeout: patience,
    killSignal: "SIGKILL",
  });
  const how = await gone;
  const [answer] = messages;
  if (answer && how === "exit code 0") return answer;
  const why =
    how === "SIGKILL" && performance.now() - start >= patience
      ? `it did not start within ${patience / 1000} s`
      : `starting it ended the process (${how})`;
  return { state: "crashes", reason: [why, output().split("\n").at(-1)].filter(Boolean).join(": ") };
}

const sources: Readonly<Record<Entry["source"], string>> = {
  environment: "ESPALIER_XLA_PLUGIN",
  option: "a path given",
  cache: "espalier engine install",
  python: "a Python package",
  package: "this package",
};

export function listText({ entries, auto, runs }: Survey, call = "npx espalier"): string {
  const rows = entries.map(({ engine, kind, source, path, probe }) => [
    engine,
    kind,
    probe.state === "starts" ? devicesText(probe.devices) : "-",
    probe.state === "starts" ? probe.description : states[probe.state],
    sources[source],
    path ?? "",
  ]);
  return [
    ...tableLines([["engine", "kind", "devices", "what it is", "comes from", "path"], ...rows]),
    ...entries.flatMap(troubleLines),
    "",
    `auto takes ${pickText(auto)}`,
    ...(runs.why === auto.why ? [] : [`programs that do not choose get ${pickText(runs)}`]),
    ...adviceLines(entries, call),
  ].join("\n");
}

const states = { declines: "does not start", crashes: "crashes" } as const;

const devicesText = ([first = "", ...others]: readonly string[]): string =>
  others.length === 0 ? `1: ${first}` : `${others.length + 1}: ${first}, ...`;

const pickText = ({ engine, why }: Pick): string => `${engine ?? "nothing"}: ${why}`;

function troubleLines({ kind, path, probe }: Entry): readonly string[] {
  if (probe.state === "starts") return [];
  const fix =
    probe.state === "declines"
      ? probe.fix
      : "mend what it names, take the plugin away, or set ESPALIER_ENGINE=wasm";
  const lines = probe.reason.split("\n").map((line) => `  ${line}`);
  return [
    "",
    `the ${kind} plugin at ${path} ${states[probe.state]}:`,
    ...lines,
    ...(fix ? [`  fix: ${fix}`] : []),
  ];
}

function adviceLines(entries: readonly Entry[], call: string): readonly string[] {
  if (entries.some(({ engine }) => engine === "xla")) return [];
  return [`the xla engine is several times faster: ${call} engine install`];
}
