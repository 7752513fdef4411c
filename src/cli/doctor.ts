import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { bytesText, EspalierError, errorText, printableText } from "../core/index.ts";
import type { Plugin } from "../engine/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { callName, type Self, thisProgram } from "./run-again.ts";
import { type Style, type Surroundings, styleFor, thisProcess } from "./terminal.ts";
import { headedTable, jsonText } from "./text.ts";

/** What was found of one thing: a problem keeps runs from working, a note tells of a part that is not here. */
interface Finding {
  readonly name: string;
  readonly state: "ok" | "note" | "problem";
  readonly found: string;
  readonly fix?: string;
}

/** What `espalier doctor` looks at. Tests bring others. */
export interface Patient {
  readonly node: string;
  readonly engines: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory of runs, and the store beside them. */
  readonly runs: string;
  readonly self: Self;
  plugins(): readonly Plugin[] | Promise<readonly Plugin[]>;
  free(directory: string): number;
}

const doctorOptions = {
  runs: option.runs("where runs are, or will be"),
  json: option.json(),
};

export function registerDoctor(program: Command, around: Surroundings = thisProcess()): void {
  withOptions(program.command("doctor"), doctorOptions)
    .addHelpText(
      "after",
      `
Exit codes: 0 all that is required works, 1 something that is required does not.

Examples:
  espalier doctor
  espalier doctor --runs /data/runs --json`,
    )
    .action(async ({ runs, json }: Values<typeof doctorOptions>) => {
      const findings = await examine({
        node: process.versions.node,
        engines: manifest.engines.node,
        env: around.env,
        runs,
        self: thisProgram(),
        free: freeBytes,
        plugins: async () => (await import("../engine/index.ts")).findPlugins(),
      });
      const style = styleFor(around.out, around.env, false);
      await around.out.write(`${json ? jsonText(findings) : printableText(findingsText(findings, style))}\n`);
      if (findings.some(({ state }) => state === "problem")) process.exitCode = 1;
    });
}

const freeBytes = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
};

export async function examine(patient: Patient): Promise<readonly Finding[]> {
  const { env } = patient;
  return [
    nodeFinding(patient),
    await koffiFinding(env),
    ...(await engineFindings(patient)),
    ...directoryFindings(patient),
    await storeFinding(patient),
    await natsFinding(callName(patient.self)),
    packageFinding("@aws-sdk/client-s3", "checkpoints in s3://"),
    packageFinding("pg", "stats stores in postgres://"),
  ];
}

function nodeFinding({ node, engines }: Patient): Finding {
  const parts = (version: string): readonly number[] =>
    version
      .replace(/[^\d.]/g, "")
      .split(".")
      .map(Number);
  const [major = 0, minor = 0] = parts(node);
  const [leastMajor = 0, leastMinor = 0] = parts(engines);
  const fits = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  if (fits) return ok("Node", node);
  const fix = `install Node ${leastMajor}.${leastMinor} or newer`;
  return { name: "Node", state: "problem", found: `${node}, and it has to be ${engines}`, fix };
}

const ok = (name: string, found: string): Finding => ({ name, state: "ok", found });

async function koffiFinding(env: Patient["env"]): Promise<Finding> {
  const { native } = await import("../engine/index.ts");
  try {
    native();
    return ok("koffi", "loads");
  } catch (error) {
    const state = env.ESPALIER_ENGINE === "xla" ? "problem" : "note";
    return failed("koffi", state, error, "npm install koffi; without it the wasm engine runs alone");
  }
}

async function engineFindings({ env, self, plugins: find }: Patient): Promise<readonly Finding[]> {
  const { probePlugin, survey } = await import("./engine/list.ts");
  const call = callName(self);
  const { entries, runs } = await survey(await find(), (plugin) => probePlugin(plugin, self), env);
  const plugins = entries.flatMap(({ engine, kind, path = "", probe }): readonly Finding[] => {
    if (engine === "wasm") return [];
    const name = `plugin ${kind}`;
    if (probe.state === "starts") return [ok(name, `${probe.description}, ${path}`)];
    const fix = probe.fix ?? `take ${path} away, or set ESPALIER_ENGINE=wasm`;
    return [{ name, state: probe.state === "crashes" ? "problem" : "note", found: probe.reason, fix }];
  });
  const fix = `${call} engine install`;
  const runsFinding: Finding =
    runs.engine !== undefined
      ? ok("engine", `${runs.engine}: ${runs.why}`)
      : { name: "engine", state: "problem", found: runs.why, fix: `${fix}, or ESPALIER_ENGINE=auto` };
  const slow = "none: the xla engine is several times faster than wasm";
  const faster: Finding = { name: "plugin", state: "note", found: slow, fix };
  return [runsFinding, ...(plugins.length > 0 ? plugins : [faster])];
}

/** Bytes on the disk below which runs cannot be expected to end, and below which a note says so. */
const LEAST_FREE = 100 * 2 ** 20;
const FEW_FREE = 2 * 2 ** 30;

function directoryFindings({ runs, free }: Patient): readonly Finding[] {
  let there = resolve(runs);
  while (!existsSync(there) && there !== dirname(there)) there = dirname(there);
  const bytes = free(there);
  const disk = { name: "disk", found: `${bytesText(bytes)} free at ${there}` };
  const fix = "make room, or choose another disk: directory in the configuration, --runs here";
  const state = bytes < LEAST_FREE ? "problem" : bytes < FEW_FREE ? "note" : "ok";
  const space: Finding = state === "ok" ? { ...disk, state } : { ...disk, state, fix };
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
    const found = there === resolve(runs) ? `${there} can be written` : `${resolve(runs)} can be made`;
    return [ok("runs", found), space];
  } catch (error) {
    return [failed("runs", "problem", error, `give yourself the right to write in ${there}`), space];
  }
}

/** Opens the store of the runs, or one in a directory for temporary files where there is none yet. */
async function storeFinding({ runs, env }: Patient): Promise<Finding> {
  const { openStatsStore } = await import("../metrics/index.ts");
  const location = env.ESPALIER_STORE || join(runs, "stats.db");
  const isDatabase = location.includes("://");
  const isThere = isDatabase || existsSync(location);
  const trial = isThere ? undefined : mkdtempSync(join(tmpdir(), "espalier-doctor-"));
  try {
    const store = await openStatsStore(trial ? join(trial, "stats.db") : location, { create: !isThere });
    await store.runs({ limit: 1 }).finally(() => store.close());
    const found = isThere
      ? `${store.location} opens`
      : `SQLite works; ${location} will be made by the first run`;
    return ok("stats store", found);
  } catch (error) {
    const fix = isDatabase
      ? "name another database in ESPALIER_STORE"
      : `move ${location} away, and a new one is made`;
    return failed("stats store", "problem", error, fix);
  } finally {
    if (trial) rmSync(trial, { recursive: true, force: true });
  }
}

async function natsFinding(call: string): Promise<Finding> {
  const { findNatsServer } = await import("../cluster/index.ts");
  const found = findNatsServer();
  if (found !== undefined) return ok("NATS server", found);
  const none = "none, for runs on several machines";
  return { name: "NATS server", state: "note", found: none, fix: `${call} cluster install` };
}

function packageFinding(name: string, use: string): Finding {
  try {
    createRequire(join(process.cwd(), "espalier.js")).resolve(name);
    return ok(name, `for ${use}`);
  } catch {
    return { name, state: "note", found: `not installed, for ${use}`, fix: `npm install ${name}` };
  }
}

const failed = (name: string, state: "note" | "problem", error: unknown, fix: string): Finding => ({
  name,
  state,
  found: error instanceof EspalierError ? errorText(error) : (error as Error).message,
  fix: (error instanceof EspalierError && error.fix) || fix,
});

const signs = { ok: "ok", note: "note", problem: "PROBLEM" } as const;

function findingsText(findings: readonly Finding[], { colors }: Style): string {
  const rows = findings.map(({ name, state, found }) => [signs[state], name, found.split("\n")[0] ?? ""]);
  const fixes = findings.filter(({ fix }) => fix !== undefined);
  const problems = findings.filter(({ state }) => state === "problem").length;
  return [
    ...headedTable(["", "what", "found"], rows, colors),
    ...(fixes.length === 0 ? [] : ["", ...fixes.map(({ name, fix }) => `${name}: ${fix}`)]),
    "",
    problems === 0 ? "all that is required works" : colors.red(`${problems} to be mended`),
  ].join("\n");
}
