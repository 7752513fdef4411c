import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { np, put, type Value } from "../engine/index.ts";
import { sgd } from "../optim/index.ts";
import type { StateTree } from "../state/index.ts";
import { rollout, transportConformance, weights } from "./conformance.test-support.ts";
import { DrivenLinks } from "./driven-worker.test-support.ts";
import { workerProcesses } from "./processes.ts";
import type { Transport, WorkerLink } from "./rollout.ts";
import { rolloutTask } from "./task.ts";
import { inProcessTransport } from "./transport.ts";
import { workersModule } from "./workers.test-support.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** Worker processes whose links are driven from here. */
async function driven({ capacity, workers }: { readonly capacity: number; readonly workers: number }) {
  const driver = new DrivenLinks(workers);
  const names: string[] = [];
  const transport = workerProcesses({
    module: new URL("./driven-worker.test-support.ts", import.meta.url).href,
    ...{ name: "driven", options: await driver.listen(), count: workers, capacity },
    started: (_, name) => names.push(name),
  });
  open.push(driver, transport);
  return { transport, driver, names, links: driver.links, link: driver.links[0] as WorkerLink };
}

/** Directories of shared weights of a trainer. */
const directories = (pid: number): readonly string[] =>
  ["/dev/shm", tmpdir()].flatMap((base) =>
    existsSync(base)
      ? readdirSync(base)
          .filter((name) => name.startsWith("espalier-weights-") && name.includes(`-${pid}-`))
          .map((name) => join(base, name))
      : [],
  );

const files = (): readonly string[] =>
  directories(process.pid).flatMap((directory) =>
    readdirSync(directory).map((name) => join(directory, name)),
  );

transportConformance("worker processes", driven);

describe("a worker process that is killed", () => {
  it("is replaced: what was acknowledged stays, what was not does not count", async () => {
    const { transport, driver, names, link } = await driven({ capacity: 1, workers: 1 });
    await transport.publish(weights(1));
    await link.send(rollout("a", 0));
    const waiting = expect(link.send(rollout("a", 1))).rejects.toThrow("the worker has died");
    // It has been sent: this was called after it.
    await link.receive();
    const [pid = 0] = transport.pids;
    process.kill(pid, "SIGKILL");
    await waiting;
    // The next one has the newest weights.
    await transport.publish(weights(2));
    await driver.connected(0);
    expect(await link.receive({ wait: true })).toEqual(weights(2));
    const sending = link.send(rollout("b", 0));
    const taken = [await transport.take(), await transport.take()];
    expect(taken).toEqual([rollout("a", 0), rollout("b", 0)]);
    // Small arrays do not keep the memory of messages.
    expect(taken.map((one) => one?.arrays.x?.data.buffer.byteLength)).toEqual([4, 4]);
    await sending;
    expect(transport.stats).toEqual({
      ...{ accepted: 2, taken: 2, queued: 0, duplicates: 0 },
      ...{ workers: 1, replaced: 1 },
    });
    expect(names).toEqual(["worker-0.1", "worker-0.2"]);
    expect(transport.pids).toHaveLength(1);
    expect(transport.pids).not.toContain(pid);
    expect(await transport.state.getState()).toEqual({ processes: 2 });
  });

  it("again and again, before it delivers anything, is an error with what it said", async () => {
    const transport = workerProcesses({ module: workersModule, name: "dying", options: "model", count: 1 });
    open.push(transport);
    await transport.publish(weights(1));
    const failed = { code: "WORKER_FAILED", message: expect.stringContaining("there is no model") };
    await expect(transport.take()).rejects.toMatchObject(failed);
    await expect(transport.take()).rejects.toMatchObject(failed);
    await expect(transport.publish(weights(2))).rejects.toMatchObject(failed);
    expect(transport.stats).toMatchObject({ workers: 0, replaced: 3 });
    const other = workerProcesses({ module: workersModule, name: "failing", count: 1 });
    open.push(other);
    await other.publish(weights(1));
    await expect(other.take()).rejects.toThrow(
      /at somewhere\nEspalierError: hook "bad" failed: no luck \[HOOK_FAILED\]\n +fix: mend it/,
    );
  });
});

describe("worker processes", () => {
  it("that have nothing more to do are not replaced, and a trainer does not wait for them", async () => {
    const transport = workerProcesses({ module: workersModule, name: "ending" });
    open.push(transport);
    // A run that goes on after 7 processes.
    await transport.state.setState({ processes: 7 });
    await transport.publish(weights(3));
    const taken = [await transport.take(), await transport.take()];
    expect(taken.map((one) => `${one?.id} ${one?.weightId}`).sort()).toEqual([
      "worker-0.8/1 3",
      "worker-1.9/1 3",
    ]);
    await expect(transport.take()).rejects.toMatchObject({ code: "WORKERS_ENDED" });
    expect(transport.stats).toMatchObject({ accepted: 2, taken: 2, workers: 0, replaced: 0 });
  });

  it("go on with their names in a run that is resumed, whatever transport it had before", async () => {
    const transport = workerProcesses({ module: workersModule });
    open.push(transport);
    const taskOf = (transport: Transport) =>
      rolloutTask({
        init: (_, where) => ({ w: put(new Float32Array(1), { ...where, shape: [1] }) }),
        forward: ({ w }) => w as Value,
        losses: [{ name: "w", term: ({ outputs }) => ({ loss: np.sum(outputs) }) }],
        ...{ optimizer: sgd({ learningRate: 0 }), transport, batchSize: 1, engine: "wasm" },
      });
    const [before, other] = [taskOf(transport), taskOf(inProcessTransport())];
    await transport.state.setState({ processes: 4 });
    const saved = (await before.components.transport?.getState()) as StateTree;
    await transport.state.setState((await other.components.transport?.getState()) as StateTree);
    expect(await transport.state.getState()).toEqual({ processes: 0 });
    await other.components.transport?.setState(saved);
    await before.components.transport?.setState(saved);
    expect(await transport.state.getState()).toEqual({ processes: 4 });
  });

  it("have one file of weights at a time, none at the end, and remove those that were forgotten", async () => {
    const { transport, link } = await driven({ capacity: 1, workers: 1 });
    // Of a trainer that was killed together with its workers.
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
    mkdirSync(join(base, `espalier-weights-${hostname().replace(/[^\w.]/g, "_")}-${pid}-abcdef`));
    expect(directories(pid)).toHaveLength(1);
    for (const id of [1, 2, 3]) await transport.publish(weights(id));
    expect(directories(pid)).toEqual([]);
    expect(files()).toHaveLength(1);
    while ((await link.receive({ wait: true }))?.id !== 3);
    await transport.close();
    expect(directories(process.pid)).toEqual([]);
  });

  it("keep the old weights where the new ones cannot be read, and wait where they are gone", async () => {
    const { transport, link } = await driven({ capacity: 1, workers: 1 });
    await transport.publish(weights(1));
    expect(await link.receive({ wait: true })).toEqual(weights(1));
    await transport.publish(weights(2));
    truncateSync(files()[0] as string, 3);
    const broken = link.receive({ wait: true });
    await expect(broken).rejects.toMatchObject({ code: "WEIGHTS_UNREADABLE" });
    await expect(link.receive()).rejects.toMatchObject({ code: "WEIGHTS_UNREADABLE" });
    rmSync(files()[0] as string);
    expect(await link.receive()).toBeUndefined();
    const next = link.receive({ wait: true });
    await transport.publish(weights(3));
    expect(await next).toEqual(weights(3));
  });

  /** A trainer that can be killed, and what it says. */
  const killable = (...args: readonly string[]) => {
    const program = fileURLToPath(new URL("./killed-trainer.test-support.ts", import.meta.url));
    const trainer = spawn(process.execPath, ["--import", "tsx", program, ...args]);
    const said: string[] = [];
    const until = async (words: string): Promise<string> => {
      for (;;) {
        const line = said.find((one) => one.includes(words));
        if (line !== undefined) return line;
        await sleep(10);
      }
    };
    for (const stream of [trainer.stdout, trainer.stderr])
      createInterface({ input: stream }).on("line", (line) => said.push(line));
    const pidOf = async (name: string): Promise<number> => Number((await until(`${name} `)).split(" ")[1]);
    return { trainer, pid: trainer.pid as number, until, pidOf };
  };

  it("end by SIGTERM, and by themselves when the trainer was killed; nothing is left of them", async () => {
    const { trainer, pid, until, pidOf } = killable();
    const first = await pidOf("worker-0.1");
    await until("[worker-0.1] has weights 5");
    process.kill(first, "SIGTERM");
    await until("[worker-0.1] ends: Error: SIGTERM");
    await until("[worker-0.3] has weights 5");
    await until("[worker-1.2] has weights 5");
    expect(directories(pid)).toHaveLength(1);
    const workers = [first, await pidOf("worker-1.2"), await pidOf("worker-0.3")];
    trainer.kill("SIGKILL");
    while (workers.some(isAlive) || directories(pid).length > 0) await sleep(10);
  });

  it.each(["for a second", "for ever"])("end after a killed trainer where they block %s", async (time) => {
    const { trainer, pid, until, pidOf } = killable("blocking", time);
    const workers = [await pidOf("worker-0.1"), await pidOf("worker-1.2")];
    await until("[worker-0.1] blocks");
    await until("[worker-1.2] blocks");
    trainer.kill("SIGKILL");
    while (workers.some(isAlive)) await sleep(10);
    // Those that were killed leave the files to the next trainer.
    if (time === "for ever") for (const directory of directories(pid)) rmSync(directory, { recursive: true });
    expect(directories(pid)).toEqual([]);
  });

  it("do not keep a program alive that is done and has not closed them, and end with it", async () => {
    const program = fileURLToPath(new URL("./killed-trainer.test-support.ts", import.meta.url));
    const { status, stdout, pid } = spawnSync(process.execPath, ["--import", "tsx", program, "leave"]);
    expect(status).toBe(0);
    const workers = Array.from(String(stdout).matchAll(/^worker-\S+ (\d+)$/gm), ([, id]) => Number(id));
    expect(workers).toHaveLength(2);
    while (workers.some(isAlive) || directories(pid).length > 0) await sleep(10);
  });
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("options of worker processes", () => {
  const refused = (options: Partial<Parameters<typeof workerProcesses>[0]>, code: string): void => {
    expect(() => workerProcesses({ module: workersModule, ...options })).toThrow(
      expect.objectContaining({ code }),
    );
  };

  it("are checked before anything is started", () => {
    refused({ module: "./nowhere.ts" }, "WORKER_MODULE");
    refused({ module: "" }, "OPTION_INVALID");
    refused({ count: 0 }, "OPTION_INVALID");
    refused({ capacity: 1.5 }, "OPTION_INVALID");
    refused({ options: { make: () => 1 } }, "OPTION_INVALID");
  });

  it("of a worker process itself are refused: its module would start workers without end", () => {
    process.env.ESPALIER_WORKER = "worker-0.1";
    try {
      refused({}, "WORKER_NESTED");
    } finally {
      delete process.env.ESPALIER_WORKER;
    }
  });
});
