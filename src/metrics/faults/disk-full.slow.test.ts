import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { node } from "../../core/index.ts";
import type { Logger } from "../logger/logger.ts";
import { faultyFiles } from "../sinks/faulty-files.test-support.ts";
import { closeReaders, heldIn, readable, sinksIn, unreadable } from "./file-sinks.test-support.ts";
import { newFolder, removeFolder, shared, type Trained, trained } from "./run.test-support.ts";

const stateOf = (logger: Logger, name: string) => logger.summary().sinks.find((sink) => sink.name === name);

let quiet: Trained;
let healthy: Trained;
/** What each sink holds of a run without faults. */
const without = new Map<string, readonly string[]>();
beforeAll(async () => {
  quiet = await trained({ silent: true });
  const folder = newFolder(false);
  healthy = await trained({ sinks: sinksIn(folder) });
  for (const kind of readable) without.set(kind, await heldIn(folder, kind));
  removeFolder(folder);
  expect(healthy.numbers).toEqual(quiet.numbers);
  for (const kind of readable) expect(without.get(kind), kind).toHaveLength(healthy.kept.length);
});
afterAll(closeReaders);

for (const kind of unreadable)
  it.skip(`the disk of the ${kind} sink: nothing here reads its files`, () => undefined);

describe.each(readable)("the disk of the %s sink is full", (kind) => {
  it.each(["with a place to wait on disk", "in memory only"])(
    "in the middle of a run and then not any more: nothing is missing anywhere, %s",
    async (how) => {
      const [folder, spill] = [newFolder(), join(newFolder(), "spill")];
      const disk = faultyFiles();
      const onDisk = how.startsWith("with");
      const run = await trained({
        sinks: sinksIn(folder, (each) => (each === kind ? disk : node.fs)),
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
      for (const each of readable) {
        expect(run.state(each)).toMatchObject({
          ...{ written: healthy.kept.length, waiting: 0, spilled: 0, lost: 0 },
        });
        expect(await heldIn(folder, each), each).toEqual(without.get(each));
      }
      expect(existsSync(join(spill, `${kind}.faulty.jsonl`))).toBe(false);
      expect(run.said).toEqual([
        expect.stringMatching(new RegExp(`^sink "${kind}" fails: .*ENOSPC.*Training goes on`)),
        expect.stringMatching(new RegExp(`^sink "${kind}" works again`)),
      ]);
    },
  );

  it("for the rest of the run: what is missing waits on disk, and all others have everything", async () => {
    const [folder, spill] = [newFolder(), join(newFolder(), "spill")];
    const disk = faultyFiles();
    const run = await trained({
      sinks: sinksIn(folder, (each) => (each === kind ? disk : node.fs)),
      spill,
      // A log file is only appended to: of a torn line the rest follows, so that each retry would bring a bit more.
      after: { 100: () => disk.fail(kind === "log-file" ? 0 : 20, Number.POSITIVE_INFINITY) },
    });
    expect(run.outcome).toBe("completed");
    expect(run.numbers).toEqual(quiet.numbers);
    const total = healthy.kept.length;
    for (const each of readable.filter((other) => other !== kind)) {
      expect(run.state(each)).toMatchObject({ written: total, failures: 0 });
      expect(await heldIn(folder, each), each).toEqual(without.get(each));
    }
    const state = run.state(kind);
    expect(state).toMatchObject({ lost: 0, waiting: 0, lastError: expect.stringContaining("ENOSPC") });
    expect(state.written).toBeGreaterThan(5);
    expect(state.spilled).toBe(total - state.written);
    expect(existsSync(join(spill, `${kind}.faulty.jsonl`))).toBe(true);
    // What it has is whole.
    const found = await heldIn(folder, kind);
    expect(found).toHaveLength(state.written);
    expect(without.get(kind)).toEqual(expect.arrayContaining([...found]));
    expect(run.said).toHaveLength(2);
    expect(run.said[1]).toMatch(`has not taken ${state.spilled} values`);
  });
});
