import { describe, expect, it } from "vitest";
import { Membership, natsBroker } from "../cluster/index.ts";
import { describeRun } from "../cluster/members.ts";
import { requireNats, testServers } from "../cluster/server.test-support.ts";
import { readCluster } from "./cluster.ts";

const program = requireNats();
const servers = testServers();

describe.skipIf(!program)("the cluster", () => {
  it("is shown with its members, queue lengths and staleness, and without the token", async () => {
    const { url, token, stop } = await servers.start();
    const broker = await natsBroker({ servers: url, token, warn: () => undefined });
    await describeRun(broker, { run: "maze", state: "running" });
    const join = (kind: "trainer" | "worker", name: string, numbers: Readonly<Record<string, number>>) =>
      Membership.join(broker, "maze", { kind, name }, () => ({ doing: "rollouts", numbers }));
    await join("trainer", "main", { queued: 3, capacity: 8 });
    await join("worker", "w-1", { rate: 2.5, staleness: 1 });
    const env = { NATS_URL: url, NATS_TOKEN: token };
    const [status, same] = await Promise.all([readCluster(env), readCluster(env)]);
    expect(status).toBe(same);
    const member = { host: expect.any(String), doing: "rollouts" };
    const members = [
      { name: "main", kind: "trainer", numbers: { queued: 3, capacity: 8 }, ...member },
      { name: "w-1", kind: "worker", numbers: { staleness: 1, rate: 2.5 }, ...member },
    ];
    expect(status).toMatchObject({
      server: expect.stringContaining("127.0.0.1"),
      runs: [{ run: "maze", state: "running", members }],
    });
    expect(JSON.stringify(status)).not.toContain(token);
    expect(await readCluster({ NATS_URL: url, NATS_TOKEN: "wrong" })).toMatchObject({
      problem: expect.stringContaining("refuses"),
    });
    await broker.close();
    await stop();
    expect(await readCluster(env)).toEqual({ problem: expect.any(String), runs: [] });
  }, 60_000);
});
