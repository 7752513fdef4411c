import { describe, expect, it } from "vitest";
import { type BrokerScene, brokerConformance } from "./broker.test-support.ts";
import type { Broker, Delivery } from "./broker.ts";
import { simulateRun } from "./simulated-run.test-support.ts";
import {
  noFaults,
  type ServerOptions,
  type SimulatedBroker,
  SimulatedServer,
  Simulation,
} from "./simulation.test-support.ts";
import { ClusterLink, ClusterTransport } from "./transport.ts";

/** Runs a test as what happens in a simulation. */
async function simulated(
  seed: number,
  test: (server: SimulatedServer, simulation: Simulation) => Promise<void>,
  options: Partial<ServerOptions> = {},
): Promise<Simulation> {
  const simulation = new Simulation(seed);
  let state: "running" | "done" = "running";
  test(new SimulatedServer(simulation, options), simulation).then(
    () => {
      state = "done";
    },
    (error) => simulation.fail(error),
  );
  // Something to happen until the first of the test's own events.
  simulation.after(0, () => undefined);
  await simulation.run(() => state === "done");
  return simulation;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

brokerConformance("the simulated server", async (test) => {
  for (const seed of [1, 2, 3])
    await simulated(seed, (server) => {
      let clients = 0;
      const scene: BrokerScene = {
        connect: async (): Promise<Broker> => server.connect(`client-${clients++}`),
        name: "scene",
      };
      return test(scene);
    });
});

describe("virtual time", () => {
  it("runs events in order of their times, and promises between two of them", async () => {
    const order: string[] = [];
    const simulation = new Simulation(1);
    const chain = async (name: string): Promise<void> => {
      for (let i = 0; i < 50; i++) await undefined;
      order.push(`${name} after 50 promises`);
    };
    simulation.after(20, () => order.push("third"));
    simulation.after(10, () => {
      order.push("first");
      void chain("first");
      simulation.after(0, () => order.push("same time, made last"));
    });
    simulation.after(10, () => order.push("second"));
    simulation.after(5, () => order.push("cancelled"))();
    await simulation.run(() => order.length === 5);
    expect(order).toEqual(["first", "first after 50 promises", "second", "same time, made last", "third"]);
    expect(simulation.now).toBe(20);
    await expect(simulation.run(() => false)).rejects.toThrow("nothing can happen any more");
  });

  it("keeps thousands of events in order", async () => {
    const simulation = new Simulation(7);
    const times: number[] = [];
    for (let i = 0; i < 5000; i++)
      simulation.after(simulation.random.below(1000), () => times.push(simulation.now));
    await simulation.run(() => times.length === 5000);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

describe("faults of the simulated server", () => {
  it("a client that is cut off: requests reject, and some of them arrive all the same", async () => {
    const found = new Set<string>();
    for (let seed = 0; seed < 40; seed++)
      await simulated(seed, async (server, simulation) => {
        const client = server.connect("cut");
        const queue = await client.queue("q", { capacity: 8, acknowledgeWithin: 1000 });
        client.cut(20_000);
        await expect(queue.put("a", bytes("a"))).rejects.toMatchObject({ code: "CLUSTER_NO_ANSWER" });
        expect(simulation.now).toBeLessThan(6000);
        expect(server.queues.get("q")?.length).toBe(0);
        await simulation.wait(30_000);
        found.add(server.queues.get("q")?.length === 1 ? "arrived" : "lost");
        expect(await queue.put("a", bytes("a"))).toMatch(/stored|known/);
        expect(server.queues.get("q")?.length).toBe(1);
      });
    expect([...found].sort()).toEqual(["arrived", "lost"]);
  });

  it("a server that crashes keeps what it stored, and forgets deliveries and ids of what was acknowledged", async () => {
    const again = new Set<string>();
    for (let seed = 0; seed < 30; seed++)
      await simulated(seed, async (server, simulation) => {
        const client = server.connect("client");
        const queue = await client.queue("q", { capacity: 8, acknowledgeWithin: 60_000 });
        const values = await client.values("v");
        await values.put("x", bytes("1"));
        for (const id of ["a", "b"]) await queue.put(id, bytes(id));
        const taken: Delivery[] = [];
        await queue.consume((delivery) => void taken.push(delivery), { ahead: 8 });
        while (taken.length < 2) await simulation.wait(10);
        taken[0]?.acknowledge();
        await simulation.wait(100);
        server.crash(1000);
        const lost = values.put("x", bytes("2")).catch(() => undefined);
        await simulation.wait(10_000);
        await lost;
        const ids = taken.slice(2).map(({ id }) => id);
        expect(ids).toContain("b");
        again.add(ids.join(" "));
        expect((await values.get("x"))?.bytes).toBeDefined();
        if (!ids.includes("a")) expect(await queue.put("a", bytes("a"))).toBe("stored");
        expect(await queue.put("b", bytes("b"))).toBe("known");
      });
    // An acknowledgement of the last moments before the crash may be forgotten.
    expect([...again].sort()).toEqual(["a b", "b"]);
  });

  it("a process that was killed does nothing any more", async () => {
    await simulated(3, async (server, simulation) => {
      const [dead, other] = [server.connect("dead"), server.connect("other")];
      const values = await dead.values("v");
      const happened: string[] = [];
      dead.timers.after(50, () => happened.push("timer"));
      dead.listen("s", () => happened.push("heard"));
      values.watch(() => happened.push("watched"));
      void values.get("x").then(() => happened.push("answered"));
      dead.kill();
      void values.put("x", bytes("1"));
      dead.announce("s", bytes("1"));
      await simulation.wait(10);
      other.announce("s", bytes("1"));
      expect(await (await other.values("v")).keys()).toEqual([]);
      await (await other.values("v")).put("x", bytes("2"));
      await simulation.wait(60_000);
      expect(happened).toEqual([]);
      expect(server.clients.size).toBe(1);
    });
  });

  it("a full disk refuses puts until there is room", async () => {
    await simulated(4, async (server) => {
      const client = server.connect("client");
      const queue = await client.queue("q", { capacity: 8, acknowledgeWithin: 1000 });
      const values = await client.values("v");
      const heard: string[] = [];
      values.watch((key) => heard.push(key));
      server.diskFull = true;
      for (const put of [queue.put("a", bytes("a")), values.put("x", bytes("1"))])
        await expect(put).rejects.toMatchObject({ code: "CLUSTER_SERVER_FULL" });
      expect(heard).toEqual(["x"]); // As with NATS: who watches hears of puts that are refused.
      server.diskFull = false;
      expect(await queue.put("a", bytes("a"))).toBe("stored");
      expect(await values.keys()).toEqual([]);
    });
  });

  it("losses, doubles and stragglers happen as often as they are asked for", async () => {
    const faults = { ...noFaults, announcements: 0.5, watched: 0.5, doubled: 0.5, doubledWithin: 5000 };
    await simulated(
      5,
      async (server, simulation) => {
        const client = server.connect("client");
        const queue = await client.queue("q", { acknowledgeWithin: 60_000 });
        const values = await client.values("v");
        let [heard, watched, delivered] = [0, 0, 0];
        client.listen("s", () => void heard++);
        values.watch(() => void watched++);
        await queue.consume(
          (delivery) => {
            delivered++;
            delivery.acknowledge();
          },
          { ahead: 1000 },
        );
        for (let i = 0; i < 200; i++) {
          client.announce("s", bytes("1"));
          await values.put("x", bytes("1"));
          await queue.put(`${i}`, bytes("1"));
        }
        await simulation.wait(10_000);
        for (const count of [heard, watched, delivered - 200]) {
          expect(count).toBeGreaterThan(60);
          expect(count).toBeLessThan(140);
        }
      },
      { faults, remembers: 10 },
    );
    await simulated(
      6,
      async (server, simulation) => {
        const client = server.connect("client");
        const values = await client.values("v").catch(() => client.values("v"));
        server.faults = { ...noFaults, stragglers: 1 };
        await expect(values.put("x", bytes("old"))).rejects.toMatchObject({ code: "CLUSTER_NO_ANSWER" });
        server.faults = noFaults;
        await values.put("x", bytes("new"));
        expect((await values.get("x"))?.bytes).toEqual(bytes("new"));
        await simulation.wait(20_000);
        expect((await values.get("x"))?.bytes).toEqual(bytes("old"));
      },
      {},
    );
  });
});

describe("a transport on the simulated server", () => {
  const trainerOn = (broker: SimulatedBroker, session: number): ClusterTransport =>
    new ClusterTransport({
      run: "r",
      capacity: 4,
      session,
      connect: async () => broker,
      warn: () => undefined,
    });
  const workerOn = (broker: SimulatedBroker): ClusterLink =>
    new ClusterLink({ run: "r", name: broker.name, connect: async () => broker, warn: () => undefined });
  const weights = (id: number, length: number) => ({
    id,
    arrays: { w: { data: new Float32Array(length).fill(id), shape: [length] } },
  });

  it("brings weights over a link that needs longer for all of them than requests wait", async () => {
    await simulated(
      1,
      async (server, simulation) => {
        const transport = trainerOn(server.connect("trainer"), 1);
        await transport.publish(weights(1, 20_000));
        // A second for each of twenty pieces; an answer is waited for five.
        const link = workerOn(server.connect("slow", { latency: 50, jitter: 10, speed: 4 }));
        expect((await link.receive({ wait: true }))?.id).toBe(1);
        expect(simulation.now).toBeLessThan(60_000);
        await transport.close();
      },
      { maxPayload: 4096 },
    );
  });

  it("ends for a trainer that another has replaced, which changes nothing for that one", async () => {
    await simulated(2, async (server, simulation) => {
      const [cut, other] = [server.connect("cut"), server.connect("other")];
      const [old, transport] = [trainerOn(cut, 1), trainerOn(other, 2)];
      await old.publish(weights(7, 4));
      const link = workerOn(server.connect("worker"));
      await link.receive({ wait: true });
      cut.cut(20_000);
      const publishing = old.publish(weights(8, 4)).catch((error: unknown) => error);
      const taking = old.take().catch((error: unknown) => error);
      await transport.publish(weights(3, 4));
      await simulation.wait(30_000);
      expect(await taking).toMatchObject({ code: "CLUSTER_RUN_TAKEN" });
      expect(await publishing).toMatchObject({ code: "CLUSTER_RUN_TAKEN" });
      await old.close();
      expect((await link.receive())?.id).toBe(3);
      const late = workerOn(server.connect("late"));
      expect((await late.receive({ wait: true }))?.id).toBe(3);
      const rollout = { worker: "late", lesson: "walk", episodes: 1, return: 1, positive: 1, arrays: {} };
      await late.send({ id: "late/0", weightId: 3, ...rollout });
      expect((await transport.take())?.id).toBe("late/0");
      await transport.close();
      expect(await late.receive({ wait: true })).toBeUndefined();
    });
  });

  it("goes on where a late request of an earlier trainer has ended its consumer", async () => {
    await simulated(3, async (server, simulation) => {
      const transport = trainerOn(server.connect("trainer"), 1);
      await transport.publish(weights(1, 4));
      const earlier = server.connect("earlier");
      const queue = await earlier.queue("r=rollouts", { acknowledgeWithin: 30_000 });
      await queue.consume(() => undefined, { ahead: 4, alone: true });
      earlier.kill();
      const link = workerOn(server.connect("worker"));
      await link.receive({ wait: true });
      const rollout = { worker: "worker", lesson: "walk", episodes: 1, return: 1, positive: 1, arrays: {} };
      await link.send({ id: "worker/0", weightId: 1, ...rollout });
      const taken = await Promise.race([transport.take(), simulation.wait(30_000)]);
      expect(taken).toMatchObject({ id: "worker/0" });
      await transport.close();
    });
  });
});

describe("a simulated run", () => {
  const seeds = Array.from({ length: 20 }, (_, i) => i + 1);

  it.each(seeds)("of seed %i loses nothing, takes nothing twice, and goes on after faults", async (seed) => {
    const { acknowledged, taken } = await simulateRun({ seed, workers: 50 });
    expect(acknowledged).toBeGreaterThan(50);
    expect(taken).toBeGreaterThanOrEqual(acknowledged);
  });

  it("is the same each time", async () => {
    const [first, second, other] = [
      await simulateRun({ seed: 3, workers: 30 }),
      await simulateRun({ seed: 3, workers: 30 }),
      await simulateRun({ seed: 4, workers: 30 }),
    ];
    expect(second).toEqual(first);
    expect(other.hash).not.toBe(first.hash);
  });
});
