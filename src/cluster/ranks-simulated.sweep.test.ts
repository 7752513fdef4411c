import { describe, expect, it } from "vitest";
import type { EspalierError } from "../core/index.ts";
import { inSample } from "../sweep.test-support.ts";
import { trainOnRanks } from "./ranks.ts";
import { noFaults, SimulatedServer, Simulation } from "./simulation.test-support.ts";

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
