import { CheckpointManager, localStore } from "../../src/checkpoint/index.ts";
import { type Tensor, treeLeaves } from "../../src/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { folder, freshFolder } from "../harness/scratch.ts";
import { seconds } from "../harness/stopwatch.ts";
import { components } from "./payload.ts";

/** All states of a checkpoint, back on the device. */
async function loading(where: string, verified: boolean): Promise<Subject> {
  const manager = new CheckpointManager({ store: localStore(freshFolder(where)) });
  const parts = components(1);
  const { name } = await manager.save(parts, { counters: {} });
  const dispose = (states: readonly unknown[]): void => {
    for (const tensor of treeLeaves(states as never)) (tensor as unknown as Tensor).dispose();
  };
  dispose(Object.values(parts).map((part) => part.getState()));
  const load = async (): Promise<readonly unknown[]> => {
    const checkpoint = await manager.load(name);
    if (!verified) checkpoint.trust();
    const states = await Promise.all(checkpoint.components.map((component) => checkpoint.state(component)));
    for (const tensor of treeLeaves(states as never)) await (tensor as unknown as Tensor).ready();
    return states;
  };
  return {
    run: async (times) => {
      let all = 0;
      for (let i = 0; i < times; i++) {
        let states: readonly unknown[] = [];
        all += await seconds(async () => {
          states = await load();
        });
        dispose(states);
      }
      return all;
    },
    dispose: async () => {
      await manager.close();
      freshFolder(where);
    },
  };
}

const figure = (name: string, where: string, verified: boolean, bars: TimedFigure["bars"]): TimedFigure => ({
  kind: "timed",
  name,
  engine: "xla",
  unit: "s",
  steps: 1,
  ours: () => loading(where, verified),
  peers: { plain: { script: "plain_files.ts", case: "read", params: { folder: `${folder}/${where}` } } },
  bars,
});

/** Files lie in the system's cache, for ours and for plain reads alike. */
export const reading: readonly TimedFigure[] = [
  figure("loading 1 GB onto the device, every byte verified: 1.5 GB/s is 0.667 s", "verified", true, [
    { kind: "absolute", atMost: 0.667 },
  ]),
  figure("loading 1 GB onto the device, unverified; plain files read into memory", "trusted", false, [
    { kind: "ratio", against: "plain", atMost: 1.11 },
  ]),
];
