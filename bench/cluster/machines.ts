import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Machines, makeMachines } from "../../scripts/soak/machines.ts";
import { installNatsServer, startNatsServer } from "../../src/cluster/server.ts";

/** A NATS server, and processes on other machines that use it. */
export interface ClusterOfBench {
  readonly url: string;
  readonly token: string;
  /** Starts a program of this folder on machine `i`. */
  start(i: number, file: string, ...args: readonly string[]): ChildProcess;
  stop(): Promise<void>;
}

/** Starts a server here, with network namespaces as machines, or processes on loopback where there can be none. */
export async function clusterOfBench(machines: number): Promise<ClusterOfBench> {
  await installNatsServer();
  let made: Machines | undefined;
  try {
    made = makeMachines(machines);
  } catch (error) {
    console.error(`cluster: processes on loopback instead of machines: ${(error as Error).message}`);
  }
  const directory = mkdtempSync(join(tmpdir(), "espalier-bench-nats-"));
  const host = made?.address ?? "127.0.0.1";
  const server = await startNatsServer({ directory, port: 0, host });
  const url = `nats://${host}:${server.port}`;
  const children: ChildProcess[] = [];
  // A peer is ended by its bench; what it started ends with it.
  const killAll = (): void => {
    for (const child of children) child.kill("SIGKILL");
  };
  process.once("exit", killAll);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
  return {
    url,
    token: server.token as string,
    start: (i, file, ...args) => {
      const [program = "", ...words] = [
        ...(made?.on(i) ?? []),
        process.execPath,
        ...process.execArgv,
        fileURLToPath(new URL(file, import.meta.url)),
        ...args,
      ];
      const env = { ...process.env, NATS_URL: url, NATS_TOKEN: server.token as string };
      const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"], env });
      children.push(child);
      return child;
    },
    stop: async () => {
      process.removeListener("exit", killAll);
      killAll();
      await server.stop();
      made?.remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
