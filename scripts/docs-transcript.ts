// Writes docs/transcript.md: a newcomer's first ten minutes, as the commands of docs/start.md print them. It packs the
// package, installs the archive into an empty project in a temporary directory, and runs each command there in a shell.
// `npm run docs:transcript` after a change of what commands print. Paths, ids and times are made the same each time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./compiler-options.ts";
import { pack } from "./installed/package.ts";

/** One command of the transcript. */
export interface Step {
  /** What is said before it. A title begins with "## ". */
  readonly text?: readonly string[];
  readonly command: string;
  /** Ctrl-C is pressed when it has printed this. */
  readonly interrupt?: RegExp;
  /** The lines that are shown, from the first and the last ones. Default: all. */
  readonly show?: { readonly first?: number; readonly last?: number };
  /** The directory it runs in, in the project. */
  readonly at?: string;
}

const agent = "my-agent";

/** The first ten minutes. */
export const steps: readonly Step[] = [
  {
    text: ["## Install"],
    command: "mkdir hello && cd hello && npm init -y && npm pkg set type=module",
    show: { last: 0 },
  },
  { command: "npm install espalier tsx" },
  {
    text: ["## A project", "A game, a hook, a test of both, and a run as a file."],
    command: `npx espalier new ${agent}`,
  },
  { command: `cd ${agent} && npm install`, show: { last: 1 } },
  { command: "npm test", at: agent, show: { last: 11 } },
  {
    text: ["## What will happen", "A dry run: which hook runs when, and in which order."],
    command: "npx espalier plan run.yaml",
    at: agent,
    show: { first: 24 },
  },
  {
    text: [
      "## Train, and interrupt it",
      "`--set` changes a value of the file: here it records episodes, too. Ctrl-C is pressed after the first evaluation.",
    ],
    command: "npx espalier train run.yaml --set 'hooks[0].replays={}'",
    interrupt: /evaluation {2}return/,
    at: agent,
    show: { first: 20, last: 13 },
  },
  {
    text: ["## Go on", "From the checkpoint that Ctrl-C left, to the end."],
    command: `npx espalier resume ${agent}`,
    at: agent,
    show: { first: 4, last: 6 },
  },
  { text: ["## Look at it"], command: "npx espalier runs", at: agent },
  { command: `npx espalier show ${agent}`, at: agent, show: { first: 24 } },
  {
    text: [
      "## Use it",
      "The checkpoint plays episodes that it has not seen; one that was recorded is watched.",
    ],
    command: `npx espalier evaluate ${agent} --episodes 200`,
    at: agent,
  },
  {
    command: `npx espalier replay ${agent} --frames --columns 40`,
    at: agent,
    show: { first: 30 },
  },
  {
    text: ["## A hook of your own", "A file beside the run; the run names it."],
    command: `cat > announce.ts <<'END'
import { every, type TrainerHook } from "espalier";

export default ({ epochs = 10 } = {}): TrainerHook => ({
  name: "announce",
  schedule: every({ epochs }),
  async onEpochEnd({ counters, state }) {
    const { "episode.return": mean } = await state.metrics();
    console.log(\`epoch \${counters.epochs}: a mean return of \${mean?.toFixed(2)}\`);
  },
});
END`,
    at: agent,
  },
  {
    command:
      "npx espalier train run.yaml --quiet --set 'hooks[2]={ use: ./announce.ts, epochs: 4 }' --set task.totalSteps=20000",
    at: agent,
  },
  { command: "npx espalier runs", at: agent },
];

/** A page from the commands and what each printed. */
export function page(printed: readonly string[]): string {
  const parts = steps.flatMap(({ text = [], command, show }, i) => [
    ...text,
    ["```console", `$ ${command}`, ...shown(printed[i] ?? "", show), "```"].join("\n"),
  ]);
  return `${[
    "# A newcomer's first ten minutes",
    "What the commands of [start.md](start.md) print, in an empty folder with the installed package. This page is made by `npm run docs:transcript`, which runs every command; ids, paths and times are replaced, and `...` stands for lines that were left out.",
    ...parts,
  ].join("\n\n")}\n`;
}

function shown(text: string, show: Step["show"]): readonly string[] {
  const lines = text === "" ? [] : text.split("\n");
  const { first = 0, last = 0 } = show ?? { first: lines.length };
  if (first + last >= lines.length) return lines;
  const rest = last > 0 ? lines.slice(-last) : [];
  return [...lines.slice(0, first), ...(first + last > 0 ? ["..."] : []), ...rest];
}

/** The same text each time: without ids, paths, times and rates of this machine. */
export function normalized(text: string, folder: string): string {
  return (
    text
      .replaceAll(folder, "~")
      .replaceAll(/-20\d{6}-\d{6}-[0-9a-f]{6}/g, "-20260131-120000-a1b2c3")
      .replaceAll(/\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, "2026-01-31 12:00")
      .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "12:00:00")
      .replaceAll(/\b\d+(\.\d+)?k? steps\/s/g, "3.0k steps/s")
      // In a column they keep its width.
      .replaceAll(/\b\d+(\.\d+)? (ms|us|s|min)( {2,})/g, (all, _, unit) => `1.0 ${unit}`.padEnd(all.length))
      .replaceAll(/\b\d+(\.\d+)? (ms|us|s|min)\b(?! ago)/g, "1.0 $2")
      .replaceAll(/duration_ms \d+(\.\d+)?/g, "duration_ms 100")
      .replaceAll(/\(\d+(\.\d+)?ms\)/g, "(1.0ms)")
      .replaceAll(/\b(\d+) (seconds|minutes) ago/g, "1 minute ago")
      .replaceAll(/added \d+ packages?, and audited \d+ packages? in .*/g, "added 41 packages in 3s")
      .replaceAll(/added \d+ packages? in .*/g, "added 41 packages in 3s")
      .replaceAll(/^npm (warn|notice).*\n/gm, "")
      .replaceAll(/[ \t]+$/gm, "")
      .trimEnd()
  );
}

/** Runs a command in a terminal, as people do, and gives what stands there in the end. */
async function run(step: Step, project: string, archive: string): Promise<string> {
  const quiet = "--no-audit --no-fund --prefer-offline";
  const actual = step.command
    .replace("npm install espalier", `npm install ${quiet} ${archive}`)
    .replace(/&& npm install$/, `&& npm pkg set dependencies.espalier=${archive} && npm install ${quiet}`);
  const file = join(project, "..", "step.sh");
  writeFileSync(file, `stty cols ${width} rows 40\n${actual}\n`);
  const child = spawn("script", ["-qec", `bash ${file}`, "/dev/null"], {
    cwd: join(project, step.at ?? ""),
    env: { ...process.env, NO_COLOR: "1", ESPALIER_ENGINE: "wasm", LANG: "C.UTF-8", TERM: "xterm", ...npm },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  let isPressed = false;
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    if (isPressed || !step.interrupt?.test(text)) return;
    isPressed = true;
    child.stdin.write("\x03");
  });
  const [code] = await once(child, "close");
  if (code !== (step.interrupt ? 130 : 0)) throw new Error(`${step.command}: exit code ${code}\n${text}`);
  return onScreen(text);
}

/** Only what matters of npm. */
const npm = {
  npm_config_progress: "false",
  npm_config_loglevel: "error",
  npm_config_update_notifier: "false",
};
/** Columns of the terminal. */
const width = 100;
const ESCAPE = "\u001b";

/** The lines that a terminal shows after a text with carriage returns, erased lines and a cursor that goes up. */
export function onScreen(text: string): string {
  const lines: string[] = [""];
  let [row, column] = [0, 0];
  const parts = text.matchAll(new RegExp(`${ESCAPE}\\[(\\??[\\d;]*)([A-Za-z])|[\\s\\S]`, "gu"));
  for (const [part, count = "", code] of parts) {
    const line = lines[row] ?? "";
    if (code === "A") row = Math.max(0, row - (Number(count) || 1));
    else if (code === "G") column = (Number(count) || 1) - 1;
    else if (code === "K") lines[row] = count === "2" ? "" : line.slice(0, column);
    else if (code === "J") {
      lines.length = row + 1;
      lines[row] = line.slice(0, column);
    } else if (code !== undefined) continue;
    else if (part === "\r") column = 0;
    else if (part === "\n") lines[++row] ??= "";
    else {
      lines[row] = line.slice(0, column).padEnd(column) + part + line.slice(column + part.length);
      column += part.length;
    }
  }
  return lines.join("\n");
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "espalier-transcript-"));
  try {
    const { archive } = await pack(folder);
    const home = join(folder, "home");
    mkdirSync(home);
    const printed: string[] = [];
    for (const [i, step] of steps.entries()) {
      console.error(`${i + 1} of ${steps.length}: ${step.command.split("\n")[0]}`);
      // The first one makes the project, in which the others run.
      const text = await run(step, i === 0 ? home : join(home, "hello"), archive);
      printed.push(normalized(text.replaceAll(archive, "espalier"), home));
    }
    writeFileSync(join(root, "docs/transcript.md"), page(printed));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
