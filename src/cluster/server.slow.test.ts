import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nkeys } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { natsBroker } from "./nats.ts";
import { requireNats, type TestServer, testServers } from "./server.test-support.ts";
import { serverIn, startNatsServer } from "./server.ts";

const program = requireNats();
const servers = testServers();
const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** Uses a connection to a server and closes it. */
async function connected<T>(
  { url, token }: Pick<TestServer, "url"> & { readonly token?: string | undefined },
  use: (broker: Awaited<ReturnType<typeof natsBroker>>) => Promise<T>,
): Promise<T> {
  const broker = await natsBroker({
    servers: url,
    token,
    patience: 2,
    warn: () => undefined,
  });
  try {
    return await use(broker);
  } finally {
    await broker.close();
  }
}

/** Tries environment variables for as long as something takes. */
async function withEnvironment<T>(more: Readonly<Record<string, string>>, use: () => Promise<T>): Promise<T> {
  const before = Object.keys(more).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, more);
  try {
    return await use();
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}

describe.skipIf(!program)("a NATS server", () => {
  it("answers those who have its token, which only its owner can read", async () => {
    const server = await servers.start();
    expect(server.version).toMatch(/^2\./);
    await connected(server, async (broker) => {
      expect(broker.maxPayload).toBeGreaterThan(8_000_000);
      await (await broker.values("test")).put("a", new Uint8Array([1]));
    });
    await expect(connected({ ...server, token: "another-token" }, async () => 0)).rejects.toMatchObject({
      code: "CLUSTER_REFUSED",
    });
    await expect(connected({ url: server.url }, async () => 0)).rejects.toMatchObject({
      code: "CLUSTER_REFUSED",
    });
    for (const name of ["token", "nats-server.conf", "nats-server.log"])
      expect([name, statSync(join(server.directory, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(readFileSync(join(server.directory, "server.json"), "utf8")).not.toContain(server.token);
    if (process.platform === "linux")
      expect(readFileSync(`/proc/${server.pid}/cmdline`, "utf8")).not.toContain(server.token);
  });

  it("has what it kept, its port and its token after kill -9", async () => {
    const first = await servers.start();
    await connected(first, async (broker) => {
      await (await broker.values("test")).put("a", new Uint8Array([1, 2, 3]));
    });
    await first.kill();
    expect(await first.ended).toContain("SIGKILL");
    const second = await first.restart();
    expect([second.url, second.token]).toEqual([first.url, first.token]);
    expect(second.pid).not.toBe(first.pid);
    await first.stop(); // Of what has ended: the other goes on, and can be found.
    expect(await serverIn(first.directory)).toMatchObject({ pid: second.pid });
    await connected(second, async (broker) => {
      const kept = await (await broker.values("test")).get("a");
      expect([...(kept?.bytes ?? [])]).toEqual([1, 2, 3]);
    });
  });

  it("is found in its directory while it runs, and is alone there", async () => {
    const server = await servers.start();
    expect(await serverIn(server.directory)).toEqual({
      url: server.url,
      pid: server.pid,
      token: server.token,
    });
    await expect(servers.start({ directory: server.directory })).rejects.toMatchObject({
      code: "CLUSTER_DIRECTORY_TAKEN",
      message: expect.stringContaining(`process ${server.pid}`),
    });
    await server.stop();
    expect(await serverIn(server.directory)).toBeUndefined();
    const again = await server.restart();
    await again.kill();
    expect(existsSync(join(server.directory, "server.json"))).toBe(true);
    expect(await serverIn(server.directory)).toBeUndefined();
    writeFileSync(join(server.directory, "server.json"), '{ "name"');
    expect(await serverIn(server.directory)).toBeUndefined();
  });

  it("does not take another server on its old port for itself", async () => {
    const first = await servers.start();
    await first.kill();
    const other = await servers.start({ port: first.port });
    expect(await serverIn(first.directory)).toBeUndefined();
    await expect(first.restart()).rejects.toMatchObject({ code: "CLUSTER_PORT_TAKEN" });
    await other.stop();
    await (await first.restart()).stop();
  });

  it("says which port is taken, and chooses a free one where it may", async () => {
    const busy = createServer().listen(0, "127.0.0.1");
    await once(busy, "listening");
    const { port } = busy.address() as { readonly port: number };
    await expect(servers.start({ port })).rejects.toMatchObject({
      code: "CLUSTER_PORT_TAKEN",
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
    busy.close();
    const ports = (await Promise.all([1, 2, 3].map(() => servers.start()))).map((server) => server.port);
    expect(new Set(ports).size).toBe(3);
  });

  it("refuses addresses that this machine does not have", async () => {
    await expect(servers.start({ host: "203.0.113.7" })).rejects.toMatchObject({ code: "CLUSTER_HOST" });
  });

  it("takes a token that is given, and keeps it", async () => {
    const server = await servers.start({ token: "given-token-1" });
    expect(server.token).toBe("given-token-1");
    await server.stop();
    expect((await startNatsServer({ directory: server.directory, port: 0 }).then(stopped)).token).toBe(
      "given-token-1",
    );
  });

  it("asks for an nkey instead", async () => {
    const user = nkeys.createUser();
    const server = await servers.start({ nkey: user.getPublicKey() });
    expect(server.token).toBeUndefined();
    const seed = join(server.directory, "seed");
    writeFileSync(seed, user.getSeed());
    await withEnvironment({ NATS_NKEY: seed }, () => connected(server, async (broker) => broker.maxPayload));
    await expect(connected(server, async () => 0)).rejects.toMatchObject({ code: "CLUSTER_REFUSED" });
  });

  it("speaks TLS", async () => {
    const tls = { certFile: fixture("localhost.crt"), keyFile: fixture("localhost.key") };
    const server = await servers.start({ tls });
    await withEnvironment({ NATS_CA: tls.certFile }, () =>
      connected(server, async (broker) => void (await broker.values("test"))),
    );
    await expect(connected(server, async () => 0)).rejects.toMatchObject({
      code: expect.stringMatching(/^CLUSTER_/),
    });
    const mutual = await servers.start({ tls: { ...tls, caFile: tls.certFile } });
    await expect(
      withEnvironment({ NATS_CA: tls.certFile }, () => connected(mutual, async () => 0)),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^CLUSTER_/) });
  });

  it("keeps to its payload and its room on the disk", async () => {
    const server = await servers.start({ maxPayload: 100_000, storage: 2 ** 20 });
    await connected(server, async (broker) => {
      expect(broker.maxPayload).toBeLessThanOrEqual(100_000);
      const values = await broker.values("test");
      const fill = async (): Promise<void> => {
        for (let i = 0; i < 20; i++) await values.put(`key-${i}`, new Uint8Array(90_000));
      };
      await expect(fill()).rejects.toMatchObject({ code: "CLUSTER_SERVER_FULL" });
    });
  });

  it("ends with the process that started it, and outlives one that is killed", async () => {
    const script = (then: string): string => `
      const { startNatsServer } = await import(${JSON.stringify(new URL("server.ts", import.meta.url).href)});
      const server = await startNatsServer({ directory: process.argv[1], port: 0 });
      console.log(server.pid);
      ${then}`;
    const run = async (then: string) => {
      const directory = servers.directory();
      const child = spawn(
        process.execPath,
        ["--import", "tsx", "--input-type=module", "-e", script(then), directory],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      return { child, directory, pid: Number(String(line)), closed: once(child, "close") };
    };
    const done = await run(""); // Nothing else keeps it alive.
    expect(await done.closed).toEqual([0, null]);
    await expect.poll(() => serverIn(done.directory), { timeout: 20_000 }).toBeUndefined();
    const killed = await run("setInterval(() => undefined, 1000);");
    killed.child.kill("SIGKILL");
    await killed.closed;
    expect(await serverIn(killed.directory)).toMatchObject({ pid: killed.pid });
    process.kill(killed.pid, "SIGTERM");
    await expect.poll(() => serverIn(killed.directory), { timeout: 20_000 }).toBeUndefined();
  });
});

async function stopped<T extends { stop(): Promise<void> }>(server: T): Promise<T> {
  await server.stop();
  return server;
}
