import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Logger } from "../logger/index.ts";
import { faultyFiles } from "../sinks/faulty-files.test-support.ts";
import { systemFiles } from "../sinks/files.ts";
import { kinds, sinksIn, written } from "./file-sinks.test-support.ts";
import { newFolder, shared, type Trained, trained } from "./run.test-support.ts";

const stateOf = (logger: Logger, name: string) => logger.summary().sinks.find((sink) => sink.name === name);

describe.each(kinds)("the disk of the %s sink is full", (kind) => {
  const without = new Map<string, Buffer>();
  let quiet: Trained;
  let healthy: Trained;
  let total = 0;
  beforeAll(async () => {
    quiet = await trained({ silent: true });
  });

  /** What a run without faults does. */
  async function reference(): Promise<void> {
    const folder = newFolder();
    healthy = await trained({ sinks: sinksIn(folder) });
    for (const each of kinds) without.set(each, written(folder, each));
    total = healthy.kept.length;
    expect(total).toBeGreaterThan(40);
  }

  it.each(["with a place to wait on disk", "in memory only"])(
    "in the middle of a run and then not any more: nothing is missing anywhere, %s",
    async (how) => {
      await reference();
      const [folder, spill] = [newFolder(), join(newFolder(), "spill")];
      const disk = faultyFiles();
      const onDisk = how.startsWith("with");
      const run = await trained({
        sinks: sinksIn(folder, (each) => (each === kind ? disk : systemFiles)),
        ...(onDisk && { spill }),
        after: {
          100: () => disk.fail(20, Number.POSITIVE_INFINITY),
          200: async (logger) => {
            await vi.waitFor(() =>
              expect(stateOf(logger, kind)?.[onDisk ? "spilled" : "waiting"]).toBeGreaterThan(10),
            );
            disk.fail(0, 0);
          },
          250: (logger) =>
            vi.waitFor(() => expect(stateOf(logger, kind)).toMatchObject({ waiting: 0, spilled: 0 })),
        },
      });
      expect(run.numbers).toEqual(quiet.numbers);
      expect(run.kept.map(shared)).toEqual(healthy.kept.map(shared));
      for (const each of kinds) {
        expect(run.state(each)).toMatchObject({ written: total, waiting: 0, spilled: 0, lost: 0 });
        expect(written(folder, each).equals(without.get(each) ?? Buffer.of()), each).toBe(true);
      }
      expect(run.said).toEqual([
        expect.stringMatching(new RegExp(`^sink "${kind}" fails: .*ENOSPC.*Training goes on`)),
        expect.stringMatching(new RegExp(`^sink "${kind}" works again`)),
      ]);
    },
  );

  it("for the rest of the run: what is missing waits on disk, and all others have everything", async () => {
    await reference();
    const [folder, spill] = [newFolder(), join(newFolder(), "spill")];
    const disk = faultyFiles();
    const run = await trained({
      sinks: sinksIn(folder, (each) => (each === kind ? disk : systemFiles)),
      spill,
      after: { 100: () => disk.fail(20, Number.POSITIVE_INFINITY) },
    });
    expect(run.numbers).toEqual(quiet.numbers);
    expect(run.outcome).toBe("completed");
    for (const each of kinds.filter((other) => other !== kind)) {
      expect(run.state(each)).toMatchObject({ written: total, failures: 0 });
      expect(written(folder, each).equals(without.get(each) ?? Buffer.of()), each).toBe(true);
    }
    const state = run.state(kind);
    expect(state).toMatchObject({ lost: 0, waiting: 0, lastError: expect.stringContaining("ENOSPC") });
    expect(state.written).toBeGreaterThan(10);
    expect(state.spilled).toBe(total - state.written);
    expect(existsSync(join(spill, `${kind}.faulty.jsonl`))).toBe(true);
    // What it has is whole: the beginning of what it would have.
    const found = written(folder, kind);
    expect((without.get(kind) ?? Buffer.of()).subarray(0, found.length).equals(found)).toBe(true);
    expect(run.said).toHaveLength(2);
    expect(run.said[1]).toMatch(`has not taken ${state.spilled} values`);
  });
});
