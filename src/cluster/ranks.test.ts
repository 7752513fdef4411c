import { describe, expect, it } from "vitest";
import type { EspalierError } from "../core/index.ts";
import type { Ranks } from "./rank-group.ts";
import { MemoryServer } from "./ranks.test-support.ts";
import { type RanksOptions, trainOnRanks } from "./ranks.ts";

const quick = { run: "test", gather: 0, grace: 0, patience: 20, warn: () => undefined };
type Given = Partial<RanksOptions> & { readonly server?: MemoryServer };

/** Runs `train` on some ranks of one server. */
function onRanks<T>(
  count: number,
  train: (ranks: Ranks) => Promise<T>,
  { server = new MemoryServer(), ...options }: Given = {},
): Promise<PromiseSettledResult<T>[]> {
  const given = { ...quick, ranks: count, ...options };
  const one = (): Promise<T> => trainOnRanks({ ...given, broker: server.connect() }, train);
  return Promise.allSettled(Array.from({ length: count }, one));
}

const resultsOf = <T>(settled: readonly PromiseSettledResult<T>[]): T[] =>
  settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });

const errorsOf = (settled: readonly PromiseSettledResult<unknown>[]): EspalierError[] =>
  settled.map((one) => {
    if (one.status === "fulfilled") throw new Error("it was fulfilled");
    return one.reason as EspalierError;
  });

describe("a group of ranks", () => {
  it("has each number once, and the main rank's values on all", async () => {
    const found = resultsOf(
      await onRanks(3, async (ranks) => ({
        rank: ranks.rank,
        ranks: ranks.ranks,
        said: await ranks.broadcast("word", { from: ranks.rank, list: new Float32Array([ranks.rank]) }),
      })),
    );
    expect(found.map(({ rank }) => rank).sort()).toEqual([0, 1, 2]);
    for (const { ranks, said } of found) {
      expect(ranks).toBe(3);
      expect(said).toEqual({ from: 0, list: new Float32Array([0]) });
    }
  });

  it("sums in the order of ranks, to the same bits on all", async () => {
    // In another order the small ones are lost, or none of them.
    const own = [1e8, -1e8, 1.2345678];
    const numbers = (rank: number): Float32Array =>
      Float32Array.from({ length: 7 }, (_, i) => (own[(rank + i) % 3] as number) + i);
    const found = resultsOf(await onRanks(3, (ranks) => ranks.sum("numbers", numbers(ranks.rank))));
    const expected = new Float32Array(7);
    for (let rank = 0; rank < 3; rank++)
      numbers(rank).forEach((number, i) => (expected[i] = (expected[i] as number) + number));
    for (const sum of found) expect(sum).toEqual(expected);
  });

  it("sums doubles, and arrays shorter than there are ranks", async () => {
    const found = resultsOf(
      await onRanks(3, async (ranks) => [
        await ranks.sum("one", new Float64Array([0.1 + ranks.rank])),
        await ranks.average("two", new Float32Array([ranks.rank, 2 * ranks.rank])),
      ]),
    );
    for (const [one, two] of found) {
      expect(one).toEqual(new Float64Array([0.1 + 1.1 + 2.1]));
      expect(two).toEqual(new Float32Array([1, 2]));
    }
  });

  it("cuts what is larger than a message", async () => {
    const server = new MemoryServer({ maxPayload: 4096 });
    const length = 100_000;
    const given = (rank: number): Float32Array => Float32Array.from({ length }, (_, i) => i * (rank + 1));
    const found = resultsOf(await onRanks(2, (ranks) => ranks.sum("big", given(ranks.rank)), { server }));
    for (const sum of found) expect(sum.every((number, i) => number === 3 * i)).toBe(true);
    // Each rank sends half of it as a part, and half as a sum.
    expect(server.bytes).toBeGreaterThan(2 * 4 * length);
    expect(server.bytes).toBeLessThan(2 * 4 * length * 1.3);
  });

  it("refuses to sum arrays of different lengths", async () => {
    const settled = await onRanks(2, (ranks) => ranks.sum("numbers", new Float32Array(8 + 4 * ranks.rank)));
    expect(errorsOf(settled).map(({ code }) => code)).toContain("RANKS_DIVERGED");
  });

  it("says which rank is elsewhere in the program", async () => {
    const found = errorsOf(await onRanks(2, (ranks) => ranks.barrier(ranks.rank === 0 ? "left" : "right")));
    for (const error of found) expect(error.code).toMatch(/^(RANKS_DIVERGED|RANK_FAILED)$/);
    expect(found[0]?.message).toMatch(/"left".*"right"|"right".*"left"/);
  });

  it("names the rank that does not come within the patience, with its process", async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const found = errorsOf(
      await onRanks(
        2,
        async (ranks) => {
          if (ranks.rank === 1) await released;
          await ranks.barrier("meeting").finally(release);
        },
        { patience: 0.5 },
      ),
    );
    for (const error of found) {
      expect(error.code).toBe("RANK_LOST");
      expect(error.message).toContain(`rank 1 (process ${process.pid} on `);
      expect(error.message).toContain('did not come to "meeting" within 0.5 s');
    }
  });

  it("names the rank whose lease has ended", async () => {
    const server = new MemoryServer();
    const brokers = [server.connect(), server.connect()];
    const settled = brokers.map((broker) =>
      trainOnRanks({ ...quick, ranks: 2, broker }, async (ranks) => {
        if (ranks.rank === 1) {
          broker.kill();
          return new Promise(() => undefined);
        }
        return ranks.barrier("meeting");
      }).catch((error: unknown) => error as EspalierError),
    );
    const error = (await Promise.race(settled)) as EspalierError;
    expect(error.code).toBe("RANK_LOST");
    expect(error.message).toMatch(/^rank 1 \(process \d+ on .*\) is gone/);
  });

  it("ends all ranks when one fails, with its reason", async () => {
    const settled = await onRanks(2, async (ranks) => {
      if (ranks.rank === 1) throw new Error("the disk is gone");
      await ranks.barrier("meeting");
    });
    const found = errorsOf(settled).sort((a) => (a.code === "RANK_FAILED" ? -1 : 1));
    expect(found[0]?.code).toBe("RANK_FAILED");
    expect(found[0]?.message).toMatch(/rank 1 \(process \d+ on .*\) has failed: the disk is gone/);
    expect(found[1]?.message).toBe("the disk is gone");
  });

  it("says who is there where the others do not come", async () => {
    const broker = new MemoryServer().connect();
    const train = trainOnRanks({ ...quick, ranks: 3, broker, patience: 0.5 }, async () => undefined);
    await expect(train).rejects.toMatchObject({ code: "RANKS_MISSING" });
    await expect(train).rejects.toThrow(`needs 3 ranks, and 1 wait for it`);
  });

  it("has one process of a name, and the same version on all", async () => {
    const server = new MemoryServer();
    const given = { ...quick, ranks: 2, name: "left", patience: 0.5 };
    const first = trainOnRanks({ ...given, broker: server.connect() }, async () => undefined);
    const second = trainOnRanks({ ...given, broker: server.connect() }, async () => undefined);
    await expect(second).rejects.toMatchObject({ code: "CLUSTER_NAME_TAKEN" });
    await expect(first).rejects.toMatchObject({ code: "RANKS_MISSING" });
  });

  it.each([
    [{ ranks: 0 }, "ranks is 0"],
    [{ ranks: { min: 3, max: 2 } }, "ranks is"],
    [{ ranks: {} }, "ranks is"],
    [{ run: "a b" }, '"a b" cannot be the name of a run'],
    [{ patience: -1 }, "patience is -1"],
  ])("refuses %j", async (options, message) => {
    const given = { ...quick, ranks: 2, broker: new MemoryServer().connect(), ...options } as RanksOptions;
    await expect(trainOnRanks(given, async () => undefined)).rejects.toThrow(message);
  });
});

describe("a group of { min, max } ranks", () => {
  /** Processes that can be killed; each reports the groups that it was in. */
  function processes(server: MemoryServer, max: number) {
    const groups: string[][] = [];
    const brokers = Array.from({ length: 3 }, () => server.connect());
    const start = (i: number, train: (ranks: Ranks) => Promise<unknown>): Promise<unknown> => {
      const mine: string[] = [];
      groups[i] = mine;
      const broker = brokers[i] ?? server.connect();
      return trainOnRanks(
        { ...quick, gather: 0.3, ranks: { min: 1, max }, broker, name: `p${i}` },
        (group) => {
          mine.push(`${group.rank}/${group.ranks}`);
          return train(group);
        },
      );
    };
    return { groups, brokers, start };
  }

  it("goes on with those who are left, in their order", async () => {
    const { groups, brokers, start } = processes(new MemoryServer(), 3);
    const train = (i: number) => async (ranks: Ranks) => {
      if (ranks.ranks === 3 && i === 0) {
        brokers[0]?.kill();
        return new Promise(() => undefined);
      }
      await ranks.barrier("meeting");
      return ranks.sum("numbers", new Float32Array([i]));
    };
    void start(0, train(0));
    const found = await Promise.all([start(1, train(1)), start(2, train(2))]);
    expect(found).toEqual([new Float32Array([3]), new Float32Array([3])]);
    expect(groups).toEqual([["0/3"], ["1/3", "0/2"], ["2/3", "1/2"]]);
  });

  it("takes in one who waits when it forms again, and not before", async () => {
    const server = new MemoryServer();
    const { groups, brokers, start } = processes(server, 2);
    /** The one who waits has looked longer than it would wait for others. */
    const hasLooked = (): boolean => (server.puts.get("test=ranks wait.p2") ?? 0) >= 12;
    const train = (i: number) => async (ranks: Ranks) => {
      if (ranks.members.some(({ name }) => name === "p1")) {
        while (!(await ranks.broadcast("waits", hasLooked())));
        expect(groups[2]).toEqual([]);
        if (i === 1) {
          brokers[1]?.kill();
          return new Promise(() => undefined);
        }
      }
      await ranks.barrier("meeting");
      return ranks.ranks;
    };
    const first = start(0, train(0));
    void start(1, train(1));
    await new Promise<void>((resolve) => {
      const look = (): void => void (groups[0]?.length ? resolve() : setImmediate(look));
      look();
    });
    const third = start(2, train(2));
    expect(await Promise.all([first, third])).toEqual([2, 2]);
    expect(groups).toEqual([["0/2", "0/2"], ["1/2"], ["1/2"]]);
  });
});
