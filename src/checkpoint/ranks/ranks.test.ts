import { spawn } from "node:child_process";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { checkpointHook } from "../hook/checkpoint-hook.ts";
import type { CheckpointHookOptions } from "../hook/options.ts";
import { temporaryDirectory, trainerOf } from "../hook/runs.test-support.ts";
import { memoryStore } from "../store/index.ts";

const script = fileURLToPath(new URL("./ranks.test-support.ts", import.meta.url));

interface Told {
  readonly resumedAt: number;
  readonly w?: number;
  readonly hashes?: object;
  readonly error?: string;
}

/** Runs all ranks at once; undefined for one that was killed. */
function launched(
  directory: string,
  { quitAt = {}, patience = "120" }: { quitAt?: Readonly<Record<number, number>>; patience?: string } = {},
): Promise<readonly (Told | undefined)[]> {
  return Promise.all(
    [0, 1, 2].map(
      (rank) =>
        new Promise<Told | undefined>((resolve) => {
          const args = [directory, rank, 3, quitAt[rank] ?? 0, patience].map(String);
          const child = spawn(process.execPath, ["--import", "tsx", script, ...args], {
            stdio: ["ignore", "pipe", "inherit"],
          });
          let text = "";
          child.stdout.on("data", (part) => {
            text += part;
          });
          child.on("close", () => resolve(text === "" ? undefined : (JSON.parse(text) as Told)));
        }),
    ),
  );
}

const [four, eight, twelve] = [1, 2, 3].map(
  (n) => `epoch-000${n}-update-0000${String(4 * n).padStart(2, "0")}`,
);
const listed = (directory: string) =>
  readdirSync(directory)
    .filter((name) => !name.startsWith(".lock"))
    .sort();

describe("several ranks, each a process, one directory", () => {
  it("write one checkpoint with the parts of all, lose none when one is killed, and go on alike", async () => {
    const [whole, broken] = [temporaryDirectory(), temporaryDirectory()];
    const expected = await launched(whole);
    expect(expected.map((told) => told?.error)).toEqual([undefined, undefined, undefined]);
    expect(listed(whole)).toEqual([eight, twelve]);
    expect(listed(join(whole, twelve as string))).toEqual(["rank-0000", "rank-0001", "rank-0002"]);
    expect(new Set(expected.map((told) => told?.w)).size).toBe(3);

    const lost = await launched(broken, { quitAt: { 2: 10 }, patience: "2" });
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
    truncateSync(join(directory, twelve as string, "rank-0002", "parameters.safetensors"), 3);
    const again = await launched(directory);
    expect(again.map((told) => told?.resumedAt)).toEqual([8, 8, 8]);
  });
});

describe("another number of ranks", () => {
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

describe("one rank of several", () => {
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
