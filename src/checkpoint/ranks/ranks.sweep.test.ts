import { spawn } from "node:child_process";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { describeInRest, describeInSample } from "../../sweep.test-support.ts";
import type { CheckpointHookOptions } from "../hook/checkpoint-hook.ts";
import { checkpointHook } from "../hook/checkpoint-hook.ts";
import { temporaryDirectory, trainerOf } from "../hook/runs.test-support.ts";
import { CheckpointManager, memoryStore } from "../index.ts";
import { FaultyFiles, processOf } from "../store/faulty-files.test-support.ts";
import type { FileSystem } from "../store/file-system.ts";
import { anyRanksStore, rankedStore } from "./ranked-store.ts";
import type { RankRunOptions } from "./ranks.test-support.ts";

const script = fileURLToPath(new URL("./ranks.test-support.ts", import.meta.url));

interface Told {
  readonly resumedAt: number;
  readonly w?: number;
  readonly hashes?: object;
  readonly error?: string;
  readonly outcome?: string;
  readonly batches?: number;
  readonly warnings?: readonly string[];
  readonly code?: number | null;
}

/** Starts one rank in a process of its own. `told` is undefined where it was killed. */
function started(options: RankRunOptions) {
  const child = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // One that a failed test leaves behind would train for ever.
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  let found: () => void = () => undefined;
  /** Resolves when it says that it trains, or waits. */
  const ready = new Promise<void>((resolve) => {
    found = resolve;
  });
  child.stdout.on("data", (part) => {
    text += part;
    if (text.includes("\n")) found();
  });
  const told = new Promise<Told | undefined>((resolve) =>
    child.on("close", (code) => {
      const last = text.split("\n").at(-1) ?? "";
      resolve(last === "" ? undefined : { ...(JSON.parse(last) as Told), code });
    }),
  );
  return { pid: child.pid, ready, told, kill: (signal: NodeJS.Signals = "SIGKILL") => child.kill(signal) };
}

/** Runs all ranks at once. */
function launched(
  directory: string,
  {
    ranks = 3,
    quitAt = {},
    ...options
  }: Omit<Partial<RankRunOptions>, "quitAt"> & { readonly quitAt?: Readonly<Record<number, number>> } = {},
): Promise<readonly (Told | undefined)[]> {
  return Promise.all(
    Array.from({ length: ranks }, (_, rank) => {
      const { [rank]: quit } = quitAt;
      const given = { directory, rank, ranks, patience: 120, ...options };
      return started({ ...given, ...(quit !== undefined && { quitAt: quit }) }).told;
    }),
  );
}

const [four, eight, twelve] = [1, 2, 3].map(
  (n) => `epoch-000${n}-update-0000${String(4 * n).padStart(2, "0")}`,
);
const listed = (directory: string) =>
  readdirSync(directory)
    .filter((name) => !name.startsWith(".lock"))
    .sort();

describeInRest("several ranks, each a process, one directory", () => {
  it("write one checkpoint with the parts of all, lose none when one is killed, and go on alike", async () => {
    const [whole, broken] = [temporaryDirectory(), temporaryDirectory()];
    const expected = await launched(whole);
    expect(expected.map((told) => told?.error)).toEqual([undefined, undefined, undefined]);
    expect(listed(whole)).toEqual([eight, twelve]);
    expect(listed(join(whole, twelve as string))).toEqual(["rank-0000", "rank-0001", "rank-0002"]);
    expect(new Set(expected.map((told) => told?.w)).size).toBe(3);

    const lost = await launched(broken, { quitAt: { 2: 10 }, patience: 2 });
    expect(lost[0]?.error).toMatch(/rank 2 of 3 wrote no part of it.*RANKS_MISSING/s);
    expect(lost[1]?.error).toMatch(/RANKS_MISSING/);
    expect(lost[2]).toBeUndefined();
    // The second may have been on its way, and then it is not there at all.
    const left = listed(broken).filter((name) => !name.startsWith("."));
    expect([[four], [four, eight]]).toContainEqual(left);
    for (const name of left) expect(listed(join(broken, name))).toHaveLength(3);

    const again = await launched(broken);
    expect(again.map((told) => told?.resumedAt)).toEqual([0, 1, 2].map(() => 4 * left.length));
    expect(again.map((told) => told?.hashes)).toEqual(expected.map((told) => told?.hashes));
    // Two are kept, and the one that was resumed from; nothing half-written is left.
    expect(listed(broken)).toEqual([...new Set([left.at(-1), eight, twelve])]);
  });

  it("all pass over a checkpoint of which one rank's part is damaged", async () => {
    const directory = temporaryDirectory();
    await launched(directory);
    truncateSync(join(directory, twelve as string, "rank-0002", "values.bin"), 3);
    const again = await launched(directory);
    expect(again.map((told) => told?.resumedAt)).toEqual([8, 8, 8]);
  });

  const runs = Number(process.env.ESPALIER_RANK_RUNS ?? 1);
  it(
    `two of them save after every update, ${runs} runs (ESPALIER_RANK_RUNS)`,
    async () => {
      for (let run = 0; run < runs; run++) {
        const directory = temporaryDirectory();
        const told = await launched(directory, { ranks: 2, updates: 1 });
        expect(told.map((one) => one?.error)).toEqual([undefined, undefined]);
        expect(listed(directory)).toEqual(["epoch-0002-update-000012", "epoch-0003-update-000012"]);
      }
    },
    runs * 60_000,
  );

  it("one that is started twice is refused; after the first was killed it may start again", async () => {
    const directory = temporaryDirectory();
    const two = { directory, ranks: 2, patience: 120 };
    const main = started({ ...two, rank: 0 });
    const first = started({ ...two, rank: 1, waitAt: 2 });
    await first.ready;
    const second = await started({ ...two, rank: 1 }).told;
    expect(second?.error).toMatch(
      new RegExp(`rank 1 of .* in use by process ${first.pid}.*STORE_LOCKED`, "s"),
    );
    first.kill();
    await first.told;
    const ends = await Promise.all([main.told, started({ ...two, rank: 1 }).told]);
    expect(ends.map((told) => told?.error)).toEqual([undefined, undefined]);
    expect(readdirSync(directory)).toEqual([four, eight, twelve].slice(1));
  });
});

describeInRest("several ranks that are to end", () => {
  const endless = { ranks: 2, patience: 120, updates: 7, maxUpdates: 1_000_000 };

  it.each([
    ["both are interrupted, at different steps", "SIGINT", [0, 1], 130],
    ["one is interrupted, and the other hears of it", "SIGTERM", [1], 143],
  ] as const)("save one last checkpoint together where %s", async (_, signal, to, code) => {
    const directory = temporaryDirectory();
    const processes = [0, 1].map((rank) => started({ ...endless, directory, rank, slow: 4 * rank }));
    await Promise.all(processes.map(({ ready }) => ready));
    for (const rank of to) processes[rank]?.kill(signal);
    const ends = await Promise.all(processes.map(({ told }) => told));
    const [{ batches = 0 } = {}] = ends as readonly Told[];
    expect(batches).toBeGreaterThanOrEqual(5);
    expect(ends).toMatchObject([0, 1].map(() => ({ outcome: "interrupted", batches, warnings: [], code })));
    const newest = await new CheckpointManager({ store: anyRanksStore(directory) }).latest();
    expect(newest?.manifest.counters.batches).toBe(batches);
    expect(readdirSync(directory).filter((name) => name.startsWith("."))).toEqual([]);
    // That such a run goes on alike is seen once.
    if (to.length === 1) return;
    const further = { ...endless, maxUpdates: batches + 9 };
    const [resumed, whole] = await Promise.all(
      [directory, temporaryDirectory()].map((where) => launched(where, further)),
    );
    expect(resumed?.map((told) => told?.resumedAt)).toEqual([batches, batches]);
    expect(resumed?.map((told) => told?.hashes)).toEqual(whole?.map((told) => told?.hashes));
  });

  it.each([
    ["hangs", 3, "rank 1 did not end within 3 s"],
    ["was killed", 120, "rank 1 is gone"],
  ] as const)("say why there is no last checkpoint where one of them %s", async (how, patience, why) => {
    const directory = temporaryDirectory();
    const [main, other] = [0, 1].map((rank) =>
      started({
        ...endless,
        updates: 1_000_000,
        patience,
        directory,
        rank,
        ...(rank === 1 && { waitAt: 5 }),
      }),
    );
    await Promise.all([main?.ready, other?.ready]);
    if (how === "was killed") other?.kill();
    main?.kill("SIGTERM");
    const told = await main?.told;
    expect(told).toMatchObject({ outcome: "interrupted", code: 143 });
    expect(told?.warnings?.join()).toContain("no last checkpoint");
    expect(told?.warnings?.join()).toContain(why);
    expect(readdirSync(directory).filter((name) => !name.startsWith("."))).toEqual([]);
    other?.kill();
    await other?.told;
  });
});

describeInSample("two ranks on one file system", () => {
  const root = "/runs/two";
  const running = new Set([1, 2]);

  /** Holds up one operation of a rank's commit, counted from 0, until `free`. Gives whether there was such an operation. */
  function heldUp(fs: FileSystem, at: number, free: () => Promise<void>) {
    let count = 0;
    let armed = false;
    const pass = async (): Promise<void> => {
      if (armed && count++ === at) await free();
    };
    const delayed =
      <A extends readonly unknown[], R>(operation: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        await pass();
        return operation(...args);
      };
    const { list, rename, remove, syncDirectory } = fs;
    return {
      fs: {
        ...fs,
        list: delayed(list),
        rename: delayed(rename),
        remove: delayed(remove),
        syncDirectory: delayed(syncDirectory),
      },
      arm: () => {
        armed = true;
      },
      happened: () => count > at,
    };
  }

  /** One checkpoint by both; the commit of `late` is held up at an operation until the other has done what it can. */
  async function saved(late: number, at: number) {
    const files = new FaultyFiles();
    let looks = 0;
    let done = false;
    let looked: () => void = () => undefined;
    const idle = (): Promise<void> =>
      new Promise((resolve) => {
        looks = 0;
        looked = () => (done || looks > 2) && resolve();
        looked();
      });
    const slow = heldUp(files.fs, at, idle);
    const counted: FileSystem = {
      ...files.fs,
      list: async (path) => {
        looks++;
        looked();
        return files.fs.list(path);
      },
    };
    const stores = [0, 1].map((rank) =>
      rankedStore(root, {
        rank,
        ranks: 2,
        patience: 20,
        fs: rank === late ? slow.fs : counted,
        processes: processOf(rank + 1, running),
      }),
    );
    const locks = await Promise.all(stores.map((store) => store.lock()));
    const writers = await Promise.all(
      locks.map(async (lock, rank) => {
        const writer = await lock.begin("one");
        const file = await writer.file("data");
        await file.write(Uint8Array.of(rank));
        await file.close();
        return writer;
      }),
    );
    slow.arm();
    const commits = writers.map((writer) => writer.commit());
    commits[1 - late]
      ?.catch(() => undefined)
      .then(() => {
        done = true;
        looked();
      });
    await Promise.all(commits);
    for (const lock of locks) await lock.release();
    return { files, happened: slow.happened() };
  }

  it.each([0, 1])("save together whatever operation of rank %i is late, and all parts last", async (late) => {
    let at = 0;
    for (; ; at++) {
      const { files, happened } = await saved(late, at);
      // Power fails right after: what was not synced is gone.
      files.restart("power");
      const parts = ["rank-0000", "rank-0000/data", "rank-0001", "rank-0001/data"];
      const names = ["one", ...parts.map((part) => `one/${part}`)];
      // Locks that were given back may be there again.
      expect(
        files
          .paths()
          .filter((path) => !path.includes("/.") && path.startsWith(`${root}/`))
          .sort(),
      ).toEqual(names.map((name) => `${root}/${name}`));
      expect([0, 1].map((rank) => files.file(`${root}/one/rank-000${rank}/data`).data[0])).toEqual([0, 1]);
      if (!happened) break;
    }
    expect(at).toBeGreaterThan(2);
  });
});

describeInSample("a rank that was killed while it wrote its part", () => {
  it("writes it again when it has started again", async () => {
    const files = new FaultyFiles();
    const running = new Set([1, 2, 3]);
    const root = "/runs/two";
    const begin = async (rank: number, pid: number) => {
      const processes = processOf(pid, running);
      const store = rankedStore(root, { rank, ranks: 2, patience: 20, fs: files.fs, processes });
      const writer = await (await store.lock()).begin("one");
      const file = await writer.file("data");
      await file.write(new Uint8Array(2 ** 21).fill(pid));
      await file.close();
      return writer;
    };
    const [main] = [await begin(0, 1), await begin(1, 2)];
    running.delete(2);
    const again = await begin(1, 3);
    await Promise.all([main.commit(), again.commit()]);
    expect(files.file(`${root}/one/rank-0001/data`).data[0]).toBe(3);
  });
});

describeInSample("another number of ranks", () => {
  const train = (directory: string, ranks: number, options: Partial<CheckpointHookOptions> = {}) =>
    Promise.allSettled(
      Array.from({ length: ranks }, (_, rank) =>
        trainerOf([checkpointHook({ directory, patience: 20, ...options })], {
          epochs: 1,
          rank,
          ranks,
        }).trainer.train(),
      ),
    ).then((ends) => ends.map((end) => (end.status === "rejected" ? String(end.reason) : "")));

  it.each([
    [2, 1],
    [1, 2],
    [2, 3],
  ])("is refused in a directory of %i by a run of %i, which writes nothing", async (saved, here) => {
    const directory = temporaryDirectory();
    expect(await train(directory, saved)).toEqual(new Array(saved).fill(""));
    const before = listed(directory);
    for (const said of await train(directory, here)) {
      expect(said).toContain(`ranks is ${saved} in the checkpoint and ${here} here`);
      expect(said).toContain("CHECKPOINT_MISMATCH");
    }
    expect(listed(directory)).toEqual(before);
  });

  it("says of a checkpoint of several which part to give, and takes that", async () => {
    const directory = temporaryDirectory();
    await train(directory, 2);
    const path = join(directory, four as string);
    for (const onStart of [directory, path]) {
      const [said] = await train(temporaryDirectory(), 1, { onStart });
      expect(said).toMatch(/of 2 ranks \[CHECKPOINT_RANKS\].*\n.*update-000004.rank-0000/);
    }
    const warm = { onStart: join(path, "rank-0000"), mode: "warmStart", parameters: ["parameters"] } as const;
    expect(await train(temporaryDirectory(), 1, warm)).toEqual([""]);
    const plain = temporaryDirectory();
    await train(plain, 1);
    const onStart = join(plain, four as string);
    for (const said of await train(temporaryDirectory(), 2, { onStart }))
      expect(said).toContain("ranks is 1 in the checkpoint and 2 here");
  });
});

describeInSample("one rank of several", () => {
  it("refuses a store that others do not see", async () => {
    const { trainer } = trainerOf([checkpointHook({ store: memoryStore() })], { rank: 1, ranks: 2 });
    await expect(trainer.train()).rejects.toThrow(
      /the run has 2 ranks, and a store of its own.*CHECKPOINT_RANKS/s,
    );
  });

  it("does not wait for ever for rank 0", async () => {
    const hook = checkpointHook({ directory: temporaryDirectory(), patience: 0.1 });
    const { trainer } = trainerOf([hook], { rank: 1, ranks: 2 });
    await expect(trainer.train()).rejects.toThrow(/rank 0 has not taken .*RANKS_MISSING/s);
  });
});
