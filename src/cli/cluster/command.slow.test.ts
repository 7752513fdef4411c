import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Membership, natsBroker, serverIn } from "../../cluster/index.ts";
import { describeRun } from "../../cluster/members.ts";
import { requireNats, testServers } from "../../cluster/server.test-support.ts";
import { createProgram } from "../program.ts";
import { captured } from "../runs/runs.test-support.ts";
import { thisProcess } from "../terminal.ts";
import { registerCluster } from "./command.ts";

const program = requireNats();
const servers = testServers();
const here = thisProcess();
const main = fileURLToPath(new URL("../main.ts", import.meta.url));

/** Runs `espalier ...` in this process. */
async function espalier(...args: readonly string[]) {
  const out = captured();
  const around = { ...here, out, err: captured(), env: {} };
  try {
    const command = createProgram([(parent) => registerCluster(parent, [process.execPath, "x.js"], around)]);
    await command.parseAsync(args, { from: "user" });
    return { text: out.text(), code: undefined };
  } catch (error) {
    return { text: out.text(), code: (error as { readonly code?: string }).code };
  }
}

/** Runs it in a process of its own, on a machine with nothing but these variables. */
const alone = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  spawnSync(process.execPath, ["--import", "tsx", main, ...args], { encoding: "utf8", env });

/** Starts a server with a run "maze", its trainer and a worker. */
async function maze() {
  const server = await servers.start();
  const broker = await natsBroker({ servers: server.url, token: server.token, warn: () => undefined });
  await describeRun(broker, { run: "maze", state: "running" });
  const join = (kind: "trainer" | "worker", name: string, numbers = {}) =>
    Membership.join(broker, "maze", { kind, name }, () => ({ doing: "rollouts", numbers }));
  return { server, broker, join };
}

describe.skipIf(!program)("espalier cluster status and forget", () => {
  it("shows who is there, and never the token", async () => {
    const { server, broker, join } = await maze();
    await join("trainer", "main", { queued: 1, capacity: 8 });
    await join("worker", "w-1", { rollouts: 12, rate: 3 });
    const where = ["--directory", server.directory];
    const { text } = await espalier("cluster", "status", ...where);
    expect(text).toMatch(/^maze: running; 1 trainer, 1 worker; 3 rollouts a second; 1 of 8 rollouts wait\n/);
    expect(text).toMatch(/^ {2}worker +w-1 +\S+ +\d+ +rollouts +12 +3$/m);
    const json = await espalier("cluster", "status", "--run", "maze", "--json", ...where);
    expect(JSON.parse(json.text)).toMatchObject([
      { run: "maze", members: [{ kind: "trainer" }, { name: "w-1" }] },
    ]);
    expect(text + json.text).not.toContain(server.token);
    expect(await espalier("cluster", "status", "--run", "maz", ...where)).toMatchObject({
      code: "CLUSTER_RUN_UNKNOWN",
    });
    await broker.close();
  });

  it("forgets a run, unless it is trained", async () => {
    const { server, broker, join } = await maze();
    const trainer = await join("trainer", "main");
    const forget = (...args: readonly string[]) =>
      espalier("cluster", "forget", "maze", "--directory", server.directory, ...args);
    expect(await forget()).toMatchObject({ code: "CLUSTER_RUN_ACTIVE", text: "" });
    await trainer.leave();
    expect(await forget()).toMatchObject({ code: undefined });
    expect(await forget()).toMatchObject({ code: "CLUSTER_RUN_UNKNOWN" });
    await describeRun(broker, { run: "maze", state: "running" });
    await join("trainer", "other");
    expect(await forget("--force")).toMatchObject({ code: undefined });
    expect((await espalier("cluster", "status", "--directory", server.directory)).text).toContain("no runs");
    await broker.close();
  });

  it("says that no server answers, and that the token is wrong", async () => {
    const server = await servers.start();
    expect(await espalier("cluster", "status", "--servers", server.url)).toMatchObject({
      code: "CLUSTER_REFUSED",
    });
    await server.stop();
    expect(await espalier("cluster", "status", "--servers", server.url)).toMatchObject({
      code: "CLUSTER_UNREACHABLE",
    });
  });
});

describe.skipIf(!program)("espalier cluster up", () => {
  it("runs a server until Ctrl-C: prints how to join and who joined, and starts it again when it dies", async () => {
    const directory = servers.directory();
    const child = spawn(
      process.execPath,
      ["--import", "tsx", main, "cluster", "up", "--port", "0", "--directory", directory],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NATS_TOKEN: "" } },
    );
    const closed = once(child, "close");
    const said: string[] = [];
    child.stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const lineWith = async (text: string): Promise<string> => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`it ended before it said "${text}": ${said.join("")}`);
        if (value.includes(text)) return value;
      }
    };
    const command = await lineWith("NATS_URL=");
    const [, url = "", token = ""] =
      /NATS_URL=(\S+) NATS_TOKEN=(\S+) .* worker --run RUN$/.exec(command) ?? [];
    const joins = async (name: string): Promise<void> => {
      const broker = await natsBroker({ servers: url, token, warn: () => undefined });
      await describeRun(broker, { run: "maze", state: "running" });
      await Membership.join(broker, "maze", { kind: "worker", name }, () => ({ doing: "", numbers: {} }));
      await broker.close();
    };
    await joins("w-1");
    expect(await lineWith("maze")).toMatch(/maze: running; 1 worker$/);
    const before = await serverIn(directory);
    process.kill(before?.pid ?? 0, "SIGKILL");
    await expect.poll(() => said.join(""), { timeout: 30_000 }).toContain("it is started again");
    await expect.poll(async () => (await serverIn(directory))?.url, { timeout: 30_000 }).toBe(url);
    await joins("w-2");
    expect(await lineWith("worker")).toContain("maze");
    child.kill("SIGINT");
    expect(await closed).toEqual([0, null]);
    expect(await serverIn(directory)).toBeUndefined();
    expect(existsSync(join(directory, "server.json"))).toBe(false);
  });

  it("gives a server up that ends again and again", async () => {
    const directory = servers.directory();
    const running = espalier("cluster", "up", "--port", "0", "--directory", directory);
    let last = 0;
    for (let kills = 0; kills < 3; kills++) {
      const pid = (): Promise<number> => serverIn(directory).then((server) => server?.pid ?? last);
      await expect.poll(pid, { timeout: 30_000 }).not.toBe(last);
      last = await pid();
      process.kill(last, "SIGKILL");
    }
    expect(await running).toMatchObject({ code: "CLUSTER_SERVER_FAILED" });
    expect(await serverIn(directory)).toBeUndefined();
  });

  it("refuses a bad port and a bad token", async () => {
    expect(await espalier("cluster", "up", "--port", "x")).toMatchObject({ code: "OPTION_INVALID" });
    const directory = servers.directory();
    expect(await espalier("cluster", "up", "--token", "a b", "--directory", directory)).toMatchObject({
      code: "OPTION_INVALID",
    });
  });
});

describe("without a server", () => {
  it("says how to get one, and what that needs", () => {
    const home = servers.directory();
    const env = { HOME: home, PATH: join(home, "bin"), NO_COLOR: "1" };
    const up = alone(["cluster", "up", "--directory", join(home, "data")], env);
    expect([up.status, up.stderr]).toEqual([1, expect.stringContaining("[CLUSTER_SERVER_MISSING]")]);
    expect(up.stderr).toContain("cluster install");
    const install = alone(["cluster", "install"], env);
    expect([install.status, install.stderr]).toEqual([1, expect.stringContaining("[PIP_MISSING]")]);
  });
});

describe("deployment files", () => {
  const folder = fileURLToPath(new URL("../../../examples/cluster/", import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  // `command: ["node_modules/.bin/espalier", "worker", "--run", "maze"]`, one line each.
  const calls = files.flatMap((name) =>
    [...readFileSync(join(folder, name), "utf8").matchAll(/"[^"]*espalier", (.*)\]/g)].map(
      ([, args = ""]) => [name, ...(JSON.parse(`[${args}]`) as string[])] as const,
    ),
  );

  it("start workers and evaluators", () => {
    expect(files).toEqual(["compose.yaml", "kubernetes.yaml"]);
    const both = files.flatMap((file) => ["worker", "evaluator"].map((command) => [file, command]));
    expect(calls.map(([file, command]) => [file, command])).toEqual(both);
  });

  it.skipIf(!program).each(files)("%s: the server takes its configuration", (file) => {
    const config = join(servers.directory(), "nats.conf");
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    const own = lines.filter((line) => /^ +(http: |max_payload: |jetstream \{|authorization \{)/.test(line));
    expect(own.length).toBeGreaterThanOrEqual(3);
    writeFileSync(
      config,
      own.join("\n").replace("$$", () => "$"),
    );
    const env = { NATS_TOKEN: "t0123456789abcdef" };
    const { status, stderr } = spawnSync(program ?? "", ["-c", config, "-t"], { encoding: "utf8", env });
    expect([status, stderr]).toEqual([0, expect.stringContaining("is valid")]);
  });

  // Both files start the same; each kind of call is tried once.
  const kinds = [...new Map(calls.map(([, ...args]) => [args.join(" "), args] as const)).values()];
  it.each(kinds)("espalier %s %s %s is a command with these options", (command, ...args) => {
    const { status, stdout } = alone([command ?? "", "--help"], { PATH: process.env.PATH ?? "" });
    expect(status).toBe(0);
    for (const name of args.filter((arg) => arg.startsWith("--"))) expect(stdout).toContain(`${name} `);
  });
});
