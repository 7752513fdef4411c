import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { findNatsServer, type NatsServer, type NatsServerOptions, startNatsServer } from "./server.ts";

/**
 * The NATS server of this machine, or undefined, in which case the tests that need it are skipped. Under
 * ESPALIER_REQUIRE=nats a missing one is a failure instead.
 */
export function requireNats(): string | undefined {
  const program = findNatsServer();
  if (!program && (process.env.ESPALIER_REQUIRE ?? "").split(",").includes("nats"))
    throw new Error("ESPALIER_REQUIRE asks for a NATS server, and there is none: espalier cluster install");
  return program;
}

/** A server of a test. */
export interface TestServer extends NatsServer {
  readonly directory: string;
  /** The same again, on its port and with its data, after it has ended. */
  restart(): Promise<TestServer>;
}

/** Starts servers in temporary directories, on free ports. They end, and the directories go, after the file's tests. */
export function testServers(): {
  start(options?: Partial<NatsServerOptions>): Promise<TestServer>;
  /** An empty directory. */
  directory(): string;
} {
  const directories: string[] = [];
  const servers: NatsServer[] = [];
  afterAll(async () => {
    for (const server of servers) await server.stop();
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });
  const directory = (): string => {
    const made = mkdtempSync(join(tmpdir(), "espalier-nats-"));
    directories.push(made);
    return made;
  };
  const start = async (options: Partial<NatsServerOptions> = {}): Promise<TestServer> => {
    const given = { port: 0, directory: directory(), ...options };
    const server = await startNatsServer(given);
    servers.push(server);
    return { ...server, directory: given.directory, restart: () => start({ ...given, port: server.port }) };
  };
  return { start, directory };
}
