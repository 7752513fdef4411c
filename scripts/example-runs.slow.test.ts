import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requireNats } from "../src/cluster/server.test-support.ts";
import { root } from "./compiler-options.ts";
import type { ExampleRun, TrainingReport } from "./example-runs.test-support.ts";

/** Examples, and folders of them, that have no file: why. */
const withoutFile: Readonly<Record<string, string>> = {
  "17-rollout-worker": "its trainer is a loop of its own around a RolloutWorker: it is no run",
  math: "there is no trainer in them",
};

/** Which training of the program the file is, and which of the file's, where other ones come before. Default: the first. */
const which: Readonly<Record<string, Partial<Record<"code" | "file" | "updates", number>>>> = {
  "15-fine-tuning": { code: 2 }, // from scratch, of parity
  "19-language-rl": { code: 2, updates: 2 }, // the warm start, from there on
  "20-cluster": { updates: 0 }, // rollouts of workers come in no fixed order: no two runs have the same bits
};

const UPDATES = 6;
type Told = { readonly report?: TrainingReport; readonly failed?: string };
const namesIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending) && /^\d\d-/.test(basename(name)))
    .map((name) => name.slice(0, -ending.length))
    .sort();
const files = namesIn("examples/runs", ".yaml");

describe("examples", () => {
  it("exist as code and as a file, but for those that have no run", () => {
    const examples = namesIn("examples", ".ts");
    for (const name of Object.keys(withoutFile))
      expect(examples).toContainEqual(expect.stringMatching(new RegExp(`^${name}(/|$)`)));
    const runs = examples.filter((name) => !(name in withoutFile) && !(dirname(name) in withoutFile));
    expect(files).toEqual(runs);
  });
});

describe("an example as code and as a file", () => {
  const directory = mkdtempSync(join(tmpdir(), "espalier-examples-"));
  const started: ChildProcess[] = [];
  const reports = { code: new Map<string, Told>(), file: new Map<string, Told>() };
  const cannotRun = requireNats() === undefined ? ["20-cluster"] : [];
  const tested = files.filter((name) => !cannotRun.includes(name));

  /** Trains all of them in a process of their own, and keeps what they were. */
  const trainAll = async (as: "code" | "file"): Promise<void> => {
    const runs = tested.map((name): ExampleRun => {
      const file = join(root, "examples", as === "code" ? `${name}.ts` : `runs/${name}.yaml`);
      return { file, training: which[name]?.[as] ?? 1, updates: which[name]?.updates ?? UPDATES };
    });
    const child = fork(fileURLToPath(new URL("./example-runs.test-support.ts", import.meta.url)), [], {
      cwd: mkdtempSync(join(directory, as)),
      execArgv: ["--import", import.meta.resolve("tsx")],
      env: {
        ...process.env,
        ESPALIER_ENGINE: "wasm", // it compiles sooner than xla
        TSX_TSCONFIG_PATH: join(root, "tsconfig.json"),
        NATS_URL: "nats://127.0.0.1:4222", // of the file; the program starts a server
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    started.push(child);
    child.on("message", ({ file, ...told }: Told & { readonly file: string }) => {
      reports[as].set(basename(file).replace(/\.\w+$/, ""), told);
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
      });
    child.send(runs);
    const [code] = await once(child, "exit");
    expect({ code, printed: code === 0 ? "" : printed }).toEqual({ code: 0, printed: "" });
  };

  beforeAll(() => Promise.all([trainAll("code"), trainAll("file")]), 600_000);
  afterAll(() => {
    for (const child of started) child.kill();
    rmSync(directory, { recursive: true, force: true });
  });

  it.each(tested)("%s: the same bits, settings, hooks, counters and metrics", (name) => {
    const [code, file] = [reports.code.get(name), reports.file.get(name)];
    expect({ code: code?.failed, file: file?.failed }).toEqual({ code: undefined, file: undefined });
    expect(withoutOwn(file?.report, code?.report)).toEqual(withoutOwn(code?.report, code?.report));
  });
  it.skip.each(cannotRun)("%s: there is no NATS server here", () => undefined);
});

/**
 * A report without what is a file's own: the hooks that every run from a file has, where the program has none of that
 * name, and their state, which says where metrics and checkpoints go. Nor does the time count.
 */
function withoutOwn(report: TrainingReport | undefined, code: TrainingReport | undefined) {
  if (!report || !code) throw new Error("there is no report");
  const own = /^(hook\.)?(metrics|checkpoint|control)\b/;
  const inCode = new Set(code.hooks.map(([name]) => name));
  const components = Object.entries(report.components).filter(
    ([name]) => !own.test(name) && !/(^|\.)time$/.test(name),
  );
  return {
    ...report,
    hooks: report.hooks.filter(([name]) => !own.test(name) || inCode.has(name)),
    components: Object.fromEntries(components),
  };
}
