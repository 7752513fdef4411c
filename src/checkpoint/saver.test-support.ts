import { Holder, somebody } from "./fakes.test-support.ts";
import { storeAt } from "./index.ts";
import { CheckpointManager } from "./manager.ts";

// A process that saves over and over until it is killed, and tells of each beginning and end.
const [directory = "", first = "1"] = process.argv.slice(2);
const manager = new CheckpointManager({
  store: storeAt(directory),
  keep: { last: 2 },
  computedBy: async () => somebody,
});
for (let epoch = Number(first); ; epoch++) {
  const part = new Holder({ w: new Float32Array(2_000_000).fill(epoch), epoch });
  process.stdout.write(`begin ${epoch}\n`);
  await manager.save({ part, rest: new Holder([epoch]) }, { counters: { epochs: epoch } });
  process.stdout.write(`end ${epoch}\n`);
}
