import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RandomStreams } from "../random/index.ts";

// Ctrl-C as people press it: a character that a pseudo terminal turns into a signal of all processes in front of it.

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const tsx = import.meta.resolve("tsx");
const folder = mkdtempSync(join(tmpdir(), "espalier-interrupt-"));
const started = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of started) child.kill("SIGKILL"); // Its terminal closes: what runs there ends.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});
const hasTerminals = spawnSync("script", ["-qec", "exit 0", "/dev/null"], { stdio: "ignore" }).status === 0;

const agent = join(folder, "agent.yaml");
writeFileSync(
  agent,
  `engine: wasm
task: { use: ppo, env: CartPole-v1, totalSteps: 8192 }
training: { seed: 1 }
metrics: { system: false, timing: false }
hooks:
  - { use: evaluationHook, player: { get: task.player }, suites: { cart: { env: CartPole-v1 } },
      schedule: { use: every, epochs: 8 }, episodes: 2, replays: { directory: ${join(folder, "replays")} } }
sweep: { metric: rollout/episode.return, method: grid, parameters: { task.learningRate: [0.001, 0.0001] } }
`,
);

/** When Ctrl-C is pressed: once the screen shows a text, and then this much later. */
interface Press {
  readonly after: string;
  readonly milliseconds: number;
}

interface Shown {
  readonly code: number;
  /** All that the terminal was sent. */
  readonly screen: string;
}

const quoted = (args: readonly string[]): string => args.map((arg) => `'${arg}'`).join(" ");

/** Runs a command in a terminal of its own, checks that the terminal is as it was, and gives what was shown. */
async function inTerminal(
  args: readonly string[],
  cwd: string,
  press?: Press | Promise<void>,
): Promise<Shown> {
  const program = quoted([process.execPath, "--import", tsx, main, ...args]);
  // The shell outlives Ctrl-C and looks at the terminal that is left.
  const shell = `trap : INT; ${program}; printf '\\nEXIT=%s\\n' $?; stty -a`;
  const child = spawn("script", ["-qec", shell, "/dev/null"], {
    cwd,
    env: { ...process.env, TERM: "xterm", LANG: "C.UTF-8" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  started.add(child);
  let screen = "";
  let pressing: Promise<void> | undefined;
  const look = (): void => {
    if (!press || pressing) return;
    if (press instanceof Promise) pressing = press;
    else if (screen.includes(press.after)) pressing = wait(press.milliseconds);
    void pressing?.then(() => child.stdin.write("\x03"));
  };
  child.stdin.on("error", () => undefined); // It had ended before the key was pressed.
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    look();
  });
  look();
  await once(child, "close");
  started.delete(child);
  const [, code] = /EXIT=(\d+)/.exec(screen) ?? [];
  const context = `${args.join(" ")}\n${screen}`;
  expect(code, context).toBeDefined();
  expect(screen.lastIndexOf("\x1b[?25l"), context).toBeLessThanOrEqual(screen.lastIndexOf("\x1b[?25h"));
  expect(screen, context).not.toMatch(/\n +at .*:\d+:\d+|Unhandled|not a mistake we foresaw/);
  const settings = screen.slice(screen.indexOf("EXIT=")).split(/\s+/);
  expect(settings, context).toEqual(expect.arrayContaining(["icanon", "echo", "isig"]));
  return { code: Number(code), screen };
}

/** Runs a command without a terminal. */
async function run(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, ["--import", tsx, main, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, errors };
}

const place = (): string => mkdtempSync(join(folder, "run-"));
const runsIn = (cwd: string): readonly string[] =>
  existsSync(join(cwd, "runs"))
    ? readdirSync(join(cwd, "runs")).filter((name) => name.startsWith("agent-"))
    : [];

/** Works on them two at a time: there are two cores. */
async function byTwos<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const next = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  await Promise.all([next(), next()]);
}

/** The run when nobody interrupts it. */
let whole: { readonly cwd: string; readonly metrics: unknown };

describe.skipIf(!hasTerminals)("Ctrl-C", { timeout: 300_000 }, () => {
  beforeAll(async () => {
    const cwd = place();
    const { code, out, errors } = await run(["train", agent, "--json"], cwd);
    expect([code, errors]).toEqual([0, ""]);
    whole = { cwd, metrics: JSON.parse(out).metrics };
  }, 300_000);

  const random = new RandomStreams(21).get("moments");
  const press = (after: string, upTo: number): Press => ({ after, milliseconds: upTo * random.uniform() });
  const starting = () => press("", 1000);
  const building = () => press("reading", 2000);
  const training = () => press("runs/agent-", 2500);

  it("in train and resume leaves a run that goes on to the same end, or none", async () => {
    const all: readonly (readonly [train: Press, resume?: Press])[] = [
      [starting()],
      [building(), press("", 2500)],
      [training()],
      [training(), training()],
    ];
    const codes: number[] = [];
    await byTwos(all, async ([train, resume]) => {
      const cwd = place();
      const shown = await inTerminal(["train", agent], cwd, train);
      codes.push(shown.code);
      if (resume && runsIn(cwd).length > 0)
        codes.push((await inTerminal(["resume", "agent"], cwd, resume)).code);
      const again = runsIn(cwd).length > 0 ? ["resume", "agent"] : ["train", agent];
      const { code, out, errors } = await run([...again, "--json"], cwd);
      expect(code, `${shown.screen}${errors}`).toBe(0);
      // The key may have come after the last update: then nothing is left to train, which is said.
      expect(errors, shown.screen).toMatch(
        /^(this run has completed 32 epochs already, of 32.*\n|.*begins anew\n)?$/,
      );
      const { outcome, metrics } = JSON.parse(out);
      expect([outcome, metrics], shown.screen).toEqual(["completed", whole.metrics]);
      expect(runsIn(cwd), shown.screen).toHaveLength(1);
    });
    // A run may have ended before the key was pressed.
    expect(codes.filter((code) => code !== 130 && code !== 0)).toEqual([]);
    expect(codes.filter((code) => code === 130).length).toBeGreaterThan(2);
  });

  it("of a run of a TypeScript file leaves one that goes on, before its first checkpoint too", async () => {
    const index = (room: string) => JSON.stringify(new URL(`../${room}index.ts`, import.meta.url).href);
    const tasks = {
      agent: `ppo({ env: "CartPole-v1", totalSteps: 6144 })`,
      rows: `supervisedTrainer({ model: nn.mlp({ hidden: [4], out: 1 }), loss: nn.mse, trainingConfig: { batchSize: 1 } })`,
    };
    const all = (["agent", "rows"] as const).flatMap((name) => [0, 500].map((late) => ({ name, late })));
    await byTwos(all, async ({ name, late }) => {
      const cwd = place();
      writeFileSync(
        join(cwd, `${name}.mts`),
        `import { ppo } from ${index("rl/")};
import { supervisedTrainer } from ${index("supervised/")};
import { runConfig } from ${index("config/")};
import { nn } from ${index("")};
const rows = ${name === "rows"} && { data: { train: { x: [[0], [1]], y: [[0], [1]] } }, training: { epochs: 2000 } };
export default runConfig({ name: "agent", engine: "wasm", task: ${tasks[name]}, ...rows });
`,
      );
      const { code, screen } = await inTerminal(["train", `${name}.mts`], cwd, {
        ...{ after: "runs/agent-", milliseconds: late },
      });
      expect(code, screen).toBe(130);
      const again = await run(["resume", "agent", "--json"], cwd);
      expect([again.code, again.errors], screen).toEqual([0, expect.stringMatching(/^(.*begins anew\n)?$/)]);
      expect(JSON.parse(again.out).outcome).toBe("completed");
      const shown = await run(["show", "agent", "--json"], cwd);
      expect(JSON.parse(shown.out), shown.errors).toMatchObject({ run: { outcome: "completed" } });
    });
  });

  it("in a sweep pauses it: --resume goes on", async () => {
    const cwd = place();
    const part = await inTerminal(["sweep", agent], cwd, press("trial 0", 2500));
    expect(part.code, part.screen).toBe(130);
    const { code, out } = await run(["sweep", agent, "--resume", "--json"], cwd);
    expect(code).toBe(0);
    const trials = JSON.parse(out).trials as { readonly state: string }[];
    expect(trials.map(({ state }) => state)).toEqual(["complete", "complete"]);
  });

  it("ends commands that watch or play, and gives the cursor back", async () => {
    const { cwd } = whole;
    const [id = ""] = runsIn(cwd);
    const replays = ["replay", join(folder, "replays"), "--speed", "0.1"];
    const all: readonly (readonly [args: readonly string[], Press])[] = [
      [["evaluate", join("runs", id, "checkpoints"), "--episodes", "5000"], press("", 3000)],
      [replays, press("", 1500)],
      [replays, press("\x1b[?25l", 500)],
    ];
    await byTwos(all, async ([args, pressed]) => {
      const { code, screen } = await inTerminal(args, cwd, pressed);
      expect(code, screen).toBe(130);
    });
  });

  it("stops watching a run, which goes on until its own Ctrl-C", async () => {
    const cwd = place();
    let end = (): void => undefined;
    const watched = new Promise<void>((resolve) => {
      end = resolve;
    });
    const trained = inTerminal(["train", agent, "--set", "task.totalSteps=10000000"], cwd, watched);
    while (!runsIn(cwd).some((id) => existsSync(join(cwd, "runs", id, "heartbeat.json")))) await wait(50);
    const { code, screen } = await inTerminal(["tail", "agent"], cwd, press("steps", 300));
    expect(code, screen).toBe(0);
    end();
    expect((await trained).code).toBe(130);
  });
});
