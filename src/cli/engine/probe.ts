import { spawn } from "node:child_process";
import { EspalierError } from "../../core/index.ts";
import { type Plugin, type PluginKind, pluginAt, startXla } from "../../engine/index.ts";
import type { Self } from "../self.ts";

/** What came of starting a plugin. */
export type Probe =
  | { readonly state: "starts"; readonly description: string; readonly devices: readonly string[] }
  /** It said why; `auto` goes on to the next one. */
  | { readonly state: "declines"; readonly reason: string; readonly fix?: string }
  /** It took the process down with it, or never answered. */
  | { readonly state: "crashes"; readonly reason: string };

/** The longest a plugin may take to start, in milliseconds. */
const PATIENCE = 60_000;

/** Starts a plugin in this process and says what came of it. For the child that {@link probePlugin} runs. */
export function probeHere(path: string, kind: PluginKind): Probe {
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
export function probePlugin(
  { path, kind }: Plugin,
  [node, ...args]: Self,
  patience = PATIENCE,
): Promise<Probe> {
  return new Promise((resolve) => {
    const child = spawn(node, [...args, "engine", "probe", kind, path], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: patience,
      killSignal: "SIGKILL",
    });
    let out = "";
    let complaints = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints += text;
    });
    const start = performance.now();
    child.on("error", (error) => resolve({ state: "crashes", reason: error.message }));
    child.on("close", (code, signal) => {
      const answer = code === 0 ? parse(out) : undefined;
      if (answer) return resolve(answer);
      const late = signal === "SIGKILL" && performance.now() - start >= patience;
      const how = late
        ? `it did not start within ${patience / 1000} s`
        : `starting it ended the process (${signal ?? `exit ${code}`})`;
      resolve({ state: "crashes", reason: [how, lastLine(complaints)].filter(Boolean).join(": ") });
    });
  });
}

/** A plugin may print, too: the answer is the last line. */
function parse(out: string): Probe | undefined {
  try {
    return JSON.parse(lastLine(out)) as Probe;
  } catch {
    return undefined;
  }
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";
