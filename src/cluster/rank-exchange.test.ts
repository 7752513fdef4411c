import { describe, expect, it } from "vitest";
import { RankExchange } from "./rank-exchange.ts";
import { type Faults, noFaults, SimulatedServer, Simulation } from "./simulation.test-support.ts";

const hostile: Partial<Faults> = { announcements: 0.2, overtaken: 0.3 };

/** Some ranks that do exchanges one after the other, in virtual time. Gives what each has had, and the server. */
async function exchanges(
  seed: number,
  { faults = {}, ranks = 3, times = 4, length = 30_000, crashes = [] as readonly number[] } = {},
) {
  const simulation = new Simulation(seed);
  const server = new SimulatedServer(simulation, { maxPayload: 8192, faults: { ...noFaults, ...faults } });
  for (const at of crashes) simulation.after(at, () => server.crash(700));
  const bytes = (from: number, to: number, time: number): Uint8Array =>
    new Uint8Array(length + from).fill(1 + from + 3 * to + 9 * time);
  const all: string[][] = [];
  let done = 0;
  for (let rank = 0; rank < ranks; rank++) {
    const mine: string[] = [];
    all.push(mine);
    const exchange = new RankExchange<number>({
      broker: server.connect(`rank-${rank}`),
      subject: "test",
      rank,
      ranks,
      look: async () => undefined,
    });
    void (async () => {
      for (let time = 0; time < times; time++) {
        const got = await exchange.exchange(`time ${time}`, (to) => bytes(rank, to, time), 10 * rank + time);
        got.forEach((one, from) => {
          if (from === rank) return;
          const wanted = bytes(from, rank, time);
          const same = one !== undefined && Buffer.compare(one.bytes, wanted) === 0;
          mine.push(`${time} from ${from}: ${same}, ${one?.note}`);
        });
        await simulation.wait(simulation.random.between(0, 300));
      }
      done++;
    })();
  }
  await simulation.run(() => done === ranks);
  return { all, server, simulation };
}

/** What each of three ranks has when all has come. */
const complete = (times: number): string[][] =>
  [0, 1, 2].map((rank) =>
    Array.from({ length: times }, (_, time) =>
      [0, 1, 2]
        .filter((from) => from !== rank)
        .map((from) => `${time} from ${from}: true, ${10 * from + time}`),
    ).flat(),
  );

describe("exchanges of ranks", () => {
  it("bring each rank what the others have for it, once, in order", async () => {
    const { all, server } = await exchanges(1);
    expect(all).toEqual(complete(4));
    // 4 times, 6 ways, 30 kB each.
    expect(server.counts.in.announce.bytes).toBeLessThan(4 * 6 * 30_000 * 1.1);
  });

  it("do so where announcements are lost and overtaken, and the server crashes", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { all } = await exchanges(seed, { faults: hostile, crashes: [100, 3000] });
      expect(all, `seed ${seed}`).toEqual(complete(4));
    }
  });

  it("end with the error of a look", async () => {
    const simulation = new Simulation(1);
    const server = new SimulatedServer(simulation);
    const waits: unknown[] = [];
    const exchange = new RankExchange({
      broker: server.connect("rank-0"),
      subject: "test",
      rank: 0,
      ranks: 3,
      look: async (missing, seconds, name) => {
        waits.push([missing(), name]);
        if (seconds > 5) throw new Error("given up");
      },
    });
    let failure: unknown;
    void exchange
      .exchange("alone", () => new Uint8Array(1))
      .catch((error: unknown) => {
        failure = error;
      });
    await simulation.run(() => failure !== undefined);
    expect(failure).toEqual(new Error("given up"));
    expect(waits[0]).toEqual([[1, 2], "alone"]);
  });
});
