import { columns } from "../columns.ts";
import type { Entry, Pick, Survey } from "./survey.ts";

const sources: Readonly<Record<Entry["source"], string>> = {
  environment: "ESPALIER_XLA_PLUGIN",
  option: "a path given",
  cache: "espalier engine install",
  python: "a Python package",
  package: "this package",
};

/** What `espalier engine list` prints; `call` is how the program is called. */
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
    ...columns([["engine", "kind", "devices", "what it is", "comes from", "path"], ...rows]),
    ...entries.flatMap(troubleLines),
    "",
    `auto takes ${pickText(auto)}`,
    ...(runs.why === auto.why ? [] : [`programs that do not choose get ${pickText(runs)}`]),
    ...adviceLines(entries, call),
  ].join("\n");
}

const states = { declines: "does not start", crashes: "crashes" } as const;

/** How many, and what the first one is called. */
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

/** How to get the faster engine where there is none. */
function adviceLines(entries: readonly Entry[], call: string): readonly string[] {
  if (entries.some(({ engine }) => engine === "xla")) return [];
  return [`the xla engine is several times faster: ${call} engine install`];
}
