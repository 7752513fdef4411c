import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EspalierError } from "../src/core/index.ts";
import type { CountedFigure, Figure } from "./harness/figure.ts";
import { benchCache, benchmarksPage } from "./harness/folders.ts";
import { pythonWith } from "./harness/python.ts";

/** The programs of a section of docs/coming-from.md: theirs and ours. */
interface SideBySide {
  readonly title: string;
  readonly python: string;
  readonly ours: string;
}

/** What their programs import. CleanRL's is a repository of scripts, and no package: its section has none. */
const packages = [
  ...["torch==2.15.0", "lightning==2.6.6", "keras==3.15.1", "gymnasium==1.3.0", "stable-baselines3==2.9.2"],
  "numpy",
];

const docs = dirname(benchmarksPage());

/** The sections that have programs of both. */
export function sideBySide(page: string): readonly SideBySide[] {
  const sections = page.split(/^## /m).slice(1);
  return sections.flatMap((text) => {
    const [title = ""] = text.split("\n");
    const block = (kind: string): string | undefined =>
      new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(text)?.[1];
    const [python, ours] = [block("python"), block("ts run")];
    return python === undefined || ours === undefined ? [] : [{ title, python, ours }];
  });
}

/** Seconds from the start of a program to its end. It runs in an empty folder, where it may write what it likes. */
async function secondsOf(
  file: string,
  text: string,
  command: readonly [string, ...string[]],
): Promise<number> {
  const folder = join(benchCache(), "coming-from-programs", file.replace(/\W+/g, "-").toLowerCase());
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), text);
  const [program, ...args] = command;
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args, file], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        ...process.env,
        KERAS_BACKEND: "torch",
        TSX_TSCONFIG_PATH: join(docs, "..", "tsconfig.json"),
      },
    });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      errors = (errors + more).slice(-2000);
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve((performance.now() - start) / 1000);
      else
        reject(new EspalierError("BENCH_CHILD_FAILED", `${file} ended with code ${code}: ${errors.trim()}`));
    });
  });
}

const figure = (name: string, ours: () => Promise<number>): CountedFigure => ({
  ...{ kind: "counted", name, engine: "host", unit: "s", bars: [] },
  ours,
});

/** Every program of docs/coming-from.md, from the start of its process to its end, imports included. */
export const figures: readonly Figure[] = sideBySide(
  readFileSync(join(docs, "coming-from.md"), "utf8"),
).flatMap(({ title, python, ours }) => [
  figure(`${title}: their program`, async () => {
    const program = await pythonWith(
      "coming-from",
      packages,
      "about 3 GB with PyTorch and its CUDA libraries",
    );
    return secondsOf(`${title}.py`, python, [program]);
  }),
  figure(`${title}: ours`, () =>
    secondsOf(`${title}.mts`, ours, [process.execPath, "--import", import.meta.resolve("tsx")]),
  ),
]);
