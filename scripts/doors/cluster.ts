// A rollout over a NATS server through `espalier/cluster` and no other door. Without a server it is told how to get one.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NatsServer, natsLink, natsTransport, startNatsServer } from "espalier/cluster";

const directory = mkdtempSync(join(tmpdir(), "espalier-door-"));
try {
  const server = await startNatsServer({ directory, port: 0 }).catch((error: Error & { code?: string }) => {
    const required = (process.env.ESPALIER_REQUIRE ?? "").split(",").includes("nats");
    if (required || error.code !== "CLUSTER_SERVER_MISSING") throw error;
    assert.match(error.message, /espalier cluster install/);
    console.log("espalier/cluster: no server is here, and it says how to get one");
    return undefined;
  });
  if (server) await sendOne(server);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function sendOne(server: NatsServer): Promise<void> {
  const connection = { servers: server.url, token: server.token as string, run: "door" };
  const transport = natsTransport(connection);
  const link = natsLink({ ...connection, name: "worker-0" });
  const arrays = { x: { data: Float32Array.of(1, 2), shape: [2] } };
  await transport.publish({ id: 7, arrays });
  const weightId = (await link.receive({ wait: true }))?.id as number;
  const scores = { episodes: 1, return: 1, positive: 1 };
  await link.send({ id: "worker-0/0", worker: "worker-0", weightId, lesson: "x", arrays, ...scores });
  const taken = await transport.take();
  assert.deepEqual(taken?.arrays.x?.data, Float32Array.of(1, 2));
  await link.close();
  await transport.close();
  await server.stop();
  console.log(`espalier/cluster: a rollout with weights ${taken.weightId}`);
}
