import { describe, expect, it } from "vitest";
import type { EspalierError } from "../core/index.ts";
import { describeInSample, inSample } from "../sweep.test-support.ts";
import type { Broker } from "./broker.ts";
import { trainOnRanks } from "./ranks.ts";
import { noFaults, type SimulatedBroker, SimulatedServer, Simulation } from "./simulation.test-support.ts";

const faults = { ...noFaults, announcements: 0.05, watched: 0.05, overtaken: 0.1, stragglers: 0.01 };

/**
 * Processes that train in virtual time: some are killed, cut off or started late, and the server crashes. A "checkpoint"
 * is the number of steps that the main rank has saved; each group goes on from there.
 */
async function simulated(seed: number) {
  const simulation = new Simulation(seed);
  const { random } = simulation;
  const server = new SimulatedServer(simulation, { faults });
  const total = 40;
  let saved = 0;
  const sums = new Map<string, Set<number>>();
  const ends: string[] = [];
  /** When each group did its first step. */
  const began = new Map<number, number>();
  const killed = new Set<number>();
  let running = 0;
  const start = (i: number): void => {
    const broker = server.connect(`process-${i}`);
    running++;
    const settle = (how: string): void => {
      if (killed.has(i)) return;
      ends.push(how);
      running--;
    };
    const options = { run: "test", ranks: { min: 1, max: 4 }, broker, name: `p${i}`, warn: () => undefined };
    trainOnRanks({ ...options, grace: 5, gather: 3, patience: 120 }, async (ranks) => {
      let at = await ranks.broadcast("checkpoint", saved);
      while (at < total) {
        await simulation.wait(random.between(5, 400));
        const own = Float64Array.from({ length: 300 }, (_, k) => (ranks.rank + 1) * (at + 1) * (k + 1));
        const sum = await ranks.sum(`step ${at}`, own);
        const members = ranks.members.map(({ session }) => session).join();
        const key = `${members} ${at}`;
        sums.set(key, (sums.get(key) ?? new Set()).add(sum.reduce((a, b) => a + b)));
        const everybody = (ranks.ranks * (ranks.ranks + 1)) / 2;
        expect(sum[7]).toBe(everybody * (at + 1) * 8);
        // A group that others have taken the place of ends: soon, for it does not look all the time.
        const { generation } = ranks as unknown as { readonly generation: number };
        if (!began.has(generation)) began.set(generation, simulation.now);
        const next = began.get(generation + 1) ?? simulation.now;
        expect(simulation.now - next).toBeLessThan(6000);
        at++;
        if (ranks.rank === 0 && at % 5 === 0) saved = Math.max(saved, at);
      }
      return at;
    }).then(
      (at) => settle(`completed at ${at}`),
      (error: EspalierError) => settle(error.code ?? String(error)),
    );
    const lives = random.chance(0.4) ? random.between(500, 12_000) : Number.POSITIVE_INFINITY;
    if (lives < Number.POSITIVE_INFINITY && i > 0)
      simulation.after(lives, () => {
        killed.add(i);
        running--;
        broker.kill();
      });
    if (random.chance(0.3))
      simulation.after(random.between(500, 8000), () => broker.cut(random.between(500, 25_000)));
  };
  for (let i = 0; i < 4; i++) simulation.after(random.between(0, 2000), () => start(i));
  for (let i = 4; i < 6; i++) simulation.after(random.between(5000, 30_000), () => start(i));
  if (random.chance(0.5))
    simulation.after(random.between(500, 8000), () => server.crash(random.between(500, 15_000)));
  await simulation.run(() => simulation.now > 32_000 && running === 0);
  return { ends, sums, groups: began.size };
}

describe("ranks in virtual time, among faults", () => {
  const seeds = Array.from({ length: inSample ? 6 : 100 }, (_, i) => (inSample ? 1 : 7) + i);
  it.each(seeds)("sum alike and complete, seed %i", async (seed) => {
    const { ends, sums } = await simulated(seed);
    for (const [key, found] of sums) expect([key, found.size]).toEqual([key, 1]);
    expect(ends.filter((end) => end !== "completed at 40")).toEqual([]);
    expect(ends.length).toBeGreaterThan(0);
  });
});

describeInSample("one who comes while a group cannot be heard", () => {
  /** Two that train; a third comes after 3 s; `fault` happens after 5 s. Gives what happened, in order. */
  async function threeOf(
    seed: number,
    steps: number,
    fault: (server: SimulatedServer, brokers: Broker[]) => void,
  ) {
    const simulation = new Simulation(seed);
    const server = new SimulatedServer(simulation);
    const brokers = [0, 1, 2].map((i) => server.connect(`process-${i}`));
    const events: { readonly who: number; readonly what: string; readonly at: number }[] = [];
    let running = 3;
    const start = (i: number): void => {
      const note = (what: string): void => void events.push({ who: i, what, at: simulation.now });
      const options = { run: "test", ranks: { min: 1, max: 2 }, name: `p${i}`, warn: () => undefined };
      const given = { ...options, broker: brokers[i] as Broker, grace: 5, gather: 1, patience: 300 };
      void trainOnRanks(given, async (ranks) => {
        note("begins");
        for (let step = 0; step < steps; step++) {
          await simulation.wait(100);
          await ranks.barrier(`step ${step}`);
        }
      })
        .then(() => note("completes"))
        .catch((error: unknown) => simulation.fail(error))
        .finally(() => running--);
    };
    start(0);
    start(1);
    simulation.after(3000, () => start(2));
    simulation.after(5000, () => fault(server, brokers));
    await simulation.run(() => running === 0);
    return events.map(({ who, what, at }) => ({ event: `${who} ${what}`, at }));
  }

  it.each([1, 2, 3, 4])("waits while leases come back after a crash of the server, seed %i", async (seed) => {
    const events = await threeOf(seed, 200, (server) => server.crash(12_000));
    const order = events.map(({ event }) => event);
    expect(order.indexOf("2 begins")).toBeGreaterThan(order.indexOf("0 completes"));
    expect(order.filter((event) => event.endsWith("begins"))).toHaveLength(3);
  });

  it.each([1, 2, 3, 4])(
    "takes their place when they stay away, and they notice when they are back, seed %i",
    async (seed) => {
      const events = await threeOf(seed, 1000, (_, brokers) => {
        for (const broker of brokers.slice(0, 2)) (broker as SimulatedBroker).cut(40_000);
      });
      const order = events.map(({ event }) => event);
      // The two come back after 45 s, and begin again when the third has done its 100 s.
      const third = order.indexOf("2 completes");
      expect(order.indexOf("2 begins")).toBeLessThan(third);
      expect(order.indexOf("0 completes")).toBeGreaterThan(third);
      expect(order.filter((event) => event === "0 begins" || event === "1 begins")).toHaveLength(4);
    },
  );
});
