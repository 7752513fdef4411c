import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { transportConformance } from "../rollout/conformance.test-support.ts";
import { type NatsServer, startNatsServer } from "./server.ts";
import { natsLink, natsTransport } from "./transport.ts";

const directory = mkdtempSync(join(tmpdir(), "espalier-nats-"));
let server: NatsServer;
beforeAll(async () => {
  server = await startNatsServer({ directory, port: 0 });
});
afterAll(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

let runs = 0;
transportConformance(
  "NATS",
  async ({ capacity, workers }) => {
    const connection = { servers: server.url, token: server.token as string, run: `run-${runs++}` };
    const transport = natsTransport({ ...connection, capacity, warn: () => undefined });
    const links = Array.from({ length: workers }, (_, i) =>
      natsLink({ ...connection, name: `worker-${i}`, warn: () => undefined }),
    );
    return { transport, links };
  },
  { server: true },
);
