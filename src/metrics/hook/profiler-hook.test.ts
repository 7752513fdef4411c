import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { every } from "../../schedule/index.ts";
import { ran, simulate } from "../../testing/index.ts";
import type { TrainerHook } from "../../trainer/index.ts";
import type { ProfilerHookOptions } from "./profiler-hook.ts";
import { profilerHook } from "./profiler-hook.ts";

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string } }[];
  readonly samples: readonly number[];
  readonly startTime: number;
  readonly endTime: number;
}

function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "espalier-profiler-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const profileOf = (directory: string, epoch: number): Profile =>
  JSON.parse(readFileSync(join(directory, `epoch-${epoch}.cpuprofile`), "utf8")) as Profile;
const functionsOf = ({ nodes }: Profile): readonly string[] =>
  nodes.map(({ callFrame }) => callFrame.functionName);

/** Something that takes long enough to be found by samples. */
function sumOfManyRoots(): number {
  let sum = 0;
  for (let i = 0; i < 2e7; i++) sum += Math.sqrt(i);
  return sum;
}

/** Works in one epoch, from its batches' ends. */
const worker = (epoch: number): TrainerHook => ({
  name: "worker",
  onBatchEnd: ({ counters }) => void (counters.epoch === epoch && sumOfManyRoots()),
});

describe("profilerHook", () => {
  it("writes profiles of the chosen epochs, with samples and the names of what ran", async () => {
    const directory = join(temporaryDirectory(), "profiles");
    const hook = profilerHook({ epochs: [0, 2], directory, interval: 200 });
    const run = await simulate([hook, worker(2)], { epochs: 4, batches: 2 });
    expect(run.outcome).toBe("completed");
    expect(run.warnings).toEqual([]);
    expect(readdirSync(directory).sort()).toEqual(["epoch-0.cpuprofile", "epoch-2.cpuprofile"]);
    const profile = profileOf(directory, 2);
    const busy = profile.nodes.find(({ callFrame }) => callFrame.functionName === "sumOfManyRoots");
    expect(profile.samples.filter((id) => id === busy?.id).length).toBeGreaterThan(1);
    expect(profile.endTime).toBeGreaterThan(profile.startTime);
    expect(functionsOf(profileOf(directory, 0))).not.toContain("sumOfManyRoots");
  });

  it("profiles the second epoch unless told, and watches no other", async () => {
    const directory = temporaryDirectory();
    const look: TrainerHook = { name: "look", onBatchesEnd: () => {} };
    const run = await simulate([profilerHook({ directory }), look], { epochs: 5, fuse: true });
    expect(readdirSync(directory)).toEqual(["epoch-1.cpuprofile"]);
    expect(ran(run, "look", "batches")).toEqual([10, 20, 50]);
  });

  it("leaves the profile of a run that ended within the epoch", async () => {
    const directory = temporaryDirectory();
    const run = await simulate(profilerHook({ epochs: [0], directory }), { failAt: 5 });
    expect(run.outcome).toBe("failed");
    expect(profileOf(directory, 0).samples).toBeInstanceOf(Array);
  });

  it("says which epochs the run never came to", async () => {
    const directory = join(temporaryDirectory(), "profiles");
    const run = await simulate(profilerHook({ epochs: [0, 7, 9], directory }), { epochs: 2 });
    expect(run.warnings).toEqual([
      "profiler: no profile of epoch 7, 9: the run ended after 2 epochs, and the first one is epoch 0",
    ]);
    expect(readdirSync(directory)).toEqual(["epoch-0.cpuprofile"]);
    const short = await simulate(profilerHook({ directory }), { epochs: 1 });
    expect(short.warnings).toEqual([expect.stringMatching(/epoch 1: the run ended after 1 epoch,/)]);
  });

  it("lets training go on where the profile cannot be written", async () => {
    const file = join(temporaryDirectory(), "file");
    writeFileSync(file, "");
    const run = await simulate(profilerHook({ epochs: [0], directory: join(file, "profiles") }));
    expect(run.outcome).toBe("completed");
    expect(run.warnings).toEqual([
      expect.stringMatching(/^profiler: no profile of epoch 0: E.*; training goes on$/),
    ]);
  });

  it("takes one at a time: the second is refused by the name of the first", async () => {
    const directories = [temporaryDirectory(), temporaryDirectory()];
    const hooks = directories.map((directory, i) => profilerHook({ name: `p${i}`, epochs: [0], directory }));
    const run = await simulate(hooks, { epochs: 2 });
    expect(run.outcome).toBe("completed");
    expect(run.warnings).toEqual([
      'p1: no profile of epoch 0: profilerHook "p0" is taking a profile in this process, and two at once are none; training goes on',
    ]);
    expect(directories.map((directory) => readdirSync(directory).length)).toEqual([1, 0]);
    // And is there for the next.
    const later = await simulate(profilerHook({ epochs: [0], directory: directories[1] as string }));
    expect(later.warnings).toEqual([]);
  });

  it("says that an epoch which another process began has no profile", async () => {
    const [store, directory] = [memoryStore(), temporaryDirectory()];
    const part = (maxUpdates: number) =>
      simulate(
        [
          profilerHook({ epochs: [0], directory }),
          checkpointHook({ store, schedule: every({ updates: 5 }) }),
        ],
        { config: { maxUpdates } },
      );
    await part(5);
    rmSync(join(directory, "epoch-0.cpuprofile"));
    const run = await part(10);
    expect(run.warnings).toEqual([
      expect.stringMatching(/no profile of epoch 0: it was begun by another process/),
    ]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ["no directory", {}, /profilerHook: directory is missing .*OPTION_INVALID/],
    ["no epochs", { directory: "x", epochs: [] }, /epochs is \[\]/],
    ["half an epoch", { directory: "x", epochs: [1.5] }, /epochs is \[1.5\].*the first epoch being 0/s],
    ["no time between samples", { directory: "x", interval: 0 }, /interval is 0/],
    ["misspelt names", { directory: "x", epoch: [1] }, /no option "epoch"; did you mean "epochs"/],
  ])("refuses %s", (_title, options, message) => {
    expect(() => profilerHook(options as ProfilerHookOptions)).toThrow(message);
  });
});
