// Ours with all examples on the device: what bench/supervised.ts compares streaming with.
import { trainOnce, windowsInMemory } from "../supervised/token-run.ts";
import { Seconds, serve } from "./protocol.ts";

const tokens = async () => {
  const windows = windowsInMemory();
  return { run: async () => new Seconds(await trainOnce(windows)) };
};

await serve(() => "the same training from memory", { tokens });
