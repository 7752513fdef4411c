import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { rollout, transportConformance, weights } from "../rollout/conformance.test-support.ts";
import type { Transport } from "../rollout/index.ts";
import { describeRun, listMembers, partOf } from "./members.ts";
import { natsBroker } from "./nats.ts";
import { requireNats, testServers } from "./server.test-support.ts";
import type { NatsServer } from "./server.ts";
import { natsLink, natsTransport } from "./transport.ts";

const { start: startServer, directory } = testServers();
const describeNats = describe.skipIf(!requireNats());
let server: NatsServer;
beforeAll(async () => {
  if (requireNats()) server = await startServer();
});

let runs = 0;
const connectionTo = (one: NatsServer) => ({ servers: one.url, token: one.token as string });
const newRun = () => ({ ...connectionTo(server), run: `run-${runs++}`, warn: () => undefined });
const rolloutOf = (n: number, bytes = 8) =>
  rollout("a", n, { x: { data: new Uint8Array(bytes).fill(n), shape: [bytes] } });

describeNats("NATS", () =>
  transportConformance(
    "NATS",
    async ({ capacity, workers }) => {
      const run = newRun();
      const links = Array.from({ length: workers }, (_, i) => natsLink({ ...run, name: `worker-${i}` }));
      return { transport: natsTransport({ ...run, capacity }), links };
    },
    { server: true },
  ),
);

describeNats("a run over NATS", () => {
  it("has rollouts and weights that are larger than a message", async () => {
    const other = await startServer({ maxPayload: 20_000 });
    const run = { ...newRun(), ...connectionTo(other) };
    const transport = natsTransport(run);
    const link = natsLink({ ...run, name: "a" });
    const arrays = { w: { data: Float32Array.from({ length: 30_000 }, (_, i) => i), shape: [30_000] } };
    await transport.publish({ id: 1, arrays });
    expect(await link.receive({ wait: true })).toEqual({ id: 1, arrays });
    const sent = [rolloutOf(0, 100_000), rolloutOf(1), rolloutOf(2, 50_000)];
    for (const one of sent) await link.send(one);
    for (const one of sent) expect(await transport.take()).toEqual(one);
    const broker = await natsBroker(connectionTo(other));
    // Pieces of what was taken are removed.
    await vi.waitFor(async () =>
      expect(await (await broker.values(partOf(run.run, "pieces"))).keys()).toEqual([]),
    );
    await broker.close();
    await link.close();
    await transport.close();
  });

  it("goes on when the server was killed: nothing is lost, nothing comes twice", async () => {
    const one = await startServer();
    const said: string[] = [];
    const run = { ...connectionTo(one), run: "killed", warn: (text: string) => void said.push(text) };
    const transport = natsTransport({ ...run, capacity: 4 });
    const link = natsLink({ ...run, name: "a" });
    try {
      await transport.publish(weights(1));
      await link.receive({ wait: true });
      for (const n of [0, 1]) await link.send(rolloutOf(n));
      await one.kill();
      const sending = [2, 3, 4, 5].map((n) => link.send(rolloutOf(n)));
      const publishing = transport.publish(weights(2));
      await one.restart();
      const taken: number[] = [];
      while (taken.length < 6) taken.push((await transport.take())?.weightId as number);
      await Promise.all([...sending, publishing]);
      expect(taken).toEqual([0, 1, 2, 3, 4, 5]);
      while ((await link.receive({ wait: true }))?.id !== 2);
      expect(await transport.take({ signal: AbortSignal.timeout(500) })).toBeUndefined();
      expect(said.join()).toMatch(/is away.*is back/s);
    } finally {
      await link.close();
      await transport.close();
    }
  });

  it("is taken over by the next trainer, which gets what the last one had not taken", async () => {
    const run = newRun();
    const program = `
      import { natsTransport } from "./src/cluster/index.ts";
      const transport = natsTransport(${JSON.stringify({ ...run, capacity: 4 })});
      await transport.publish({ id: 1, arrays: { w: { data: new Float32Array(1), shape: [1] } } });
      await transport.take();
      console.log("taken");
      await new Promise((resolve) => setTimeout(resolve, 100_000));`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", program];
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const first = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const link = natsLink({ ...run, name: "a" });
    for (const n of [0, 1, 2]) await link.send(rolloutOf(n));
    await once(first.stdout, "data");
    first.kill("SIGKILL");
    const next = natsTransport({ ...run, capacity: 4 });
    await next.publish(weights(5));
    expect([(await next.take())?.weightId, (await next.take())?.weightId]).toEqual([1, 2]);
    await link.close();
    await next.close();
  });

  it("has one trainer", async () => {
    const run = newRun();
    const first = natsTransport(run);
    await first.publish(weights(1));
    await expect(natsTransport(run).publish(weights(2))).rejects.toMatchObject({
      code: "CLUSTER_NAME_TAKEN",
    });
    await first.close();
  }, 60_000);

  it("is told of a wrong token, an unknown run, another version, a small payload, no server", async () => {
    const wrong = natsTransport({ ...newRun(), token: "not-this-one" });
    await expect(wrong.publish(weights(1))).rejects.toMatchObject({ code: "CLUSTER_REFUSED" });
    const lost = natsLink({ ...newRun(), name: "a", patience: 0 });
    await expect(lost.receive({ wait: true })).rejects.toMatchObject({ code: "CLUSTER_RUN_UNKNOWN" });
    const nowhere = natsTransport({ run: "x", servers: "nats://127.0.0.1:1", patience: 0 });
    await expect(nowhere.publish(weights(1))).rejects.toMatchObject({ code: "CLUSTER_UNREACHABLE" });
    const broker = await natsBroker(connectionTo(server));
    const run = newRun();
    await describeRun(broker, { run: run.run, state: "running" });
    const runsOf = await broker.values("espalier-runs");
    const text = new TextDecoder().decode((await runsOf.get(run.run))?.bytes);
    await runsOf.put(
      run.run,
      new TextEncoder().encode(text.replace(/"version":"[^"]*"/, '"version":"9.9.9"')),
    );
    await expect(natsLink({ ...run, name: "a" }).receive({ wait: true })).rejects.toMatchObject({
      code: "CLUSTER_VERSION",
      message: expect.stringContaining("9.9.9"),
    });
    await broker.close();
    const other = await startServer({ maxPayload: 8000 });
    await expect(natsBroker(connectionTo(other))).rejects.toMatchObject({ code: "CLUSTER_PAYLOAD" });
  });

  it("waits where the server's disk is full, and goes on when there is room", async () => {
    const one = await startServer({ storage: 3 * 2 ** 20 });
    const said: string[] = [];
    const run = { ...connectionTo(one), run: "full", warn: (text: string) => void said.push(text) };
    const transport = natsTransport({ ...run, capacity: 100 });
    const link = natsLink({ ...run, name: "a" });
    try {
      await transport.publish(weights(1));
      const sending = [0, 1, 2, 3].map((n) => link.send(rolloutOf(n, 2 ** 20)));
      await vi.waitFor(() => expect(said.join()).toContain("CLUSTER_SERVER_FULL"), { timeout: 20_000 });
      for (const n of [0, 1, 2, 3]) expect((await transport.take())?.weightId).toBe(n);
      await Promise.all(sending);
    } finally {
      await link.close();
      await transport.close();
    }
  });
});

describeNats("espalier worker", () => {
  const main = fileURLToPath(new URL("../cli/main.ts", import.meta.url));
  const start = (run: string, ...args: readonly string[]) => {
    const child = spawn(process.execPath, ["--import", "tsx", main, "worker", "--run", run, ...args], {
      env: { ...process.env, NATS_URL: server.url, NATS_TOKEN: server.token as string },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part) => {
        text += part;
      });
    const ended = once(child, "exit").then(([code]) => ({ code: code as number, text }));
    return { child, ended, text: () => text };
  };
  const module = "scripts/soak/line-worker.ts";

  async function withWorkers(work: (transport: Transport, run: string, folder: string) => Promise<void>) {
    const { run, ...connection } = newRun();
    const folder = join(directory(), run);
    mkdirSync(folder);
    const transport = natsTransport({ ...connection, run, module, options: { directory: folder } });
    try {
      await transport.publish(weights(1));
      await work(transport, run, folder);
    } finally {
      await transport.close();
    }
  }

  it("loads the run's module, works, and ends with the run", async () => {
    let worker: ReturnType<typeof start> | undefined;
    await withWorkers(async (transport, run) => {
      worker = start(run, "--name", "lab 3");
      const first = await transport.take();
      expect(first?.worker).toMatch(/^lab-3-/);
      const broker = await natsBroker(connectionTo(server));
      expect((await listMembers(broker, run)).map(({ kind }) => kind)).toEqual(["trainer", "worker"]);
      await broker.close();
    });
    const { code, text } = (await worker?.ended) ?? { code: -1, text: "" };
    expect(text).toMatch(/works for run "run-\d+"[\s\S]*rollouts; run "run-\d+" has ended/);
    expect(code).toBe(0);
  });

  it("leaves on SIGTERM: what it had acknowledged is there, its name is gone", async () => {
    await withWorkers(async (transport, run, folder) => {
      const { child, ended } = start(run);
      const first = await transport.take();
      child.kill("SIGTERM");
      expect(await ended).toMatchObject({ code: 143, text: expect.stringContaining("told to leave") });
      const broker = await natsBroker(connectionTo(server));
      expect((await listMembers(broker, run)).map(({ kind }) => kind)).toEqual(["trainer"]);
      await broker.close();
      const acknowledged = readFileSync(join(folder, first?.worker as string), "utf8")
        .trim()
        .split("\n");
      const taken = [first?.id];
      while (taken.length < acknowledged.length) taken.push((await transport.take())?.id);
      expect(taken).toEqual(expect.arrayContaining(acknowledged));
    });
  });

  it("says which run, module or server is not there", async () => {
    const unknown = start("no-such-run", "--wait", "0");
    expect(await unknown.ended).toMatchObject({
      code: 1,
      text: expect.stringContaining("CLUSTER_RUN_UNKNOWN"),
    });
    await withWorkers(async (_, run) => {
      const missing = start(run, "--module", "no-such-module");
      expect(await missing.ended).toMatchObject({ code: 1, text: expect.stringContaining("WORKER_MODULE") });
    });
  });
});
