// Run by rates.ts in a fresh process: how long so many frames take in compiled environments, compilation left out.
import { trainingOf } from "./cart-pole.ts";

const frames = Number(process.argv[2]);
const { run } = await trainingOf({ engine: "xla", compiled: true });
await run(frames);
process.send?.(await run(frames));
