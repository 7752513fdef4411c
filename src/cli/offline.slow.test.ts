import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { installSources } from "./project.test-support.ts";

// Everything but the `install` commands works without a network: here in a network namespace without interfaces, not
// even a loopback. What tries to connect to another machine all the same is written down.

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const tsx = import.meta.resolve("tsx");
const work = mkdtempSync(join(tmpdir(), "espalier-offline-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** As root; else in a user namespace, where the machine allows that. */
const unshare = ["-n", "-rn"].find((how) => spawnSync("unshare", [how, "true"]).status === 0);

/** Writes the address of every connection that a process of Node begins, its children included. */
const attempts = join(work, "attempts.txt");
writeFileSync(
  join(work, "watch.mjs"),
  `import { appendFileSync } from "node:fs";
import { Socket } from "node:net";
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const [options = {}] = args.flat();
  const { path, host = "localhost", port } = typeof options === "object" ? options : { port: options, host: args[1] };
  if (!path) appendFileSync(${JSON.stringify(attempts)}, \`\${host}:\${port}\\n\`);
  return connect.apply(this, args);
};
`,
);

async function offline(cwd: string, ...command: readonly string[]) {
  const child = spawn("unshare", [unshare ?? "-n", ...command], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      NODE_OPTIONS: `--import=${pathToFileURL(join(work, "watch.mjs")).href}`,
      ESPALIER_ENGINE: "wasm",
      npm_config_update_notifier: "false",
    },
  });
  const [stdout, stderr, [status]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, "close"),
  ]);
  return { status: status as number | null, stdout, stderr };
}

const espalier = (...args: readonly string[]) =>
  offline(work, process.execPath, "--import", tsx, main, ...args);

describe.skipIf(unshare === undefined)("without a network", { timeout: 300_000 }, () => {
  it("would notice a connection, and has none to make", async () => {
    const code = 'fetch("http://192.0.2.1:81").catch((error) => console.log(error.cause.code))';
    const { stdout } = await offline(work, process.execPath, "-e", code);
    expect(stdout).toBe("ENETUNREACH\n");
    expect(readFileSync(attempts, "utf8")).toBe("192.0.2.1:81\n");
    rmSync(attempts);
  });

  it("makes a project, whose tests pass", async () => {
    expect(await espalier("new", "my-agent")).toMatchObject({ status: 0, stderr: "" });
    installSources(join(work, "my-agent"));
    const { status, stdout, stderr } = await offline(join(work, "my-agent"), "npm", "test");
    expect(status, stdout + stderr).toBe(0);
    expect(existsSync(attempts)).toBe(false);
  });

  it("trains, resumes, plans, looks at runs and uses them", async () => {
    writeFileSync(
      join(work, "run.yaml"),
      `name: agent
task: { use: ppo, env: CartPole-v1, totalSteps: 1024 }
training: { seed: 1 }
hooks:
  - { use: evaluationHook, player: { get: task.player }, suites: { all: { env: CartPole-v1 } }, episodes: 2,
      schedule: { use: every, epochs: 2 }, replays: {} }
sweep: { metric: train/loss, method: grid, parameters: { task.learningRate: [0.001] } }
`,
    );
    const check = async (...command: readonly string[]): Promise<void> => {
      const { status, stdout, stderr } = await espalier(...command);
      expect(status, `${command.join(" ")}\n${stdout}\n${stderr}`).toBe(0);
    };
    await check("train", "run.yaml", "--quiet");
    const readers = [
      ["plan", "run.yaml"],
      ["runs"],
      ["show", "agent"],
      ["why", "agent", "evaluation"],
      ["tail", "agent"],
      ["export", "agent", "--to", "csv", "--out", "agent.csv"],
      ["evaluate", "agent", "--episodes", "2"],
      ["replay", "agent", "--frames"],
      ["checkpoint", "inspect", "runs"],
      ["hooks"],
      ["schema"],
      ["completion", "bash"],
      ["engine", "list"],
      ["doctor"],
    ];
    // Two at once: there are two cores.
    const next = async (): Promise<void> => {
      for (let command = readers.shift(); command; command = readers.shift()) await check(...command);
    };
    await Promise.all([next(), next()]);
    await Promise.all([check("resume", "agent", "--quiet"), check("sweep", "run.yaml")]);
    expect(existsSync(attempts) && readFileSync(attempts, "utf8")).toBe(false);
  });
});
