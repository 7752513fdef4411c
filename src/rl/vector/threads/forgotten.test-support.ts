import { threadedEnvironment } from "./threaded-environment.ts";

// A program that forgets to close its threads, whose environments print.
const make = { module: new URL("../environments.test-support.ts", import.meta.url), name: "makePrinting" };
const vector = threadedEnvironment({ make, count: 2, threads: 2 });
vector.reset(1);
for (let t = 0; t < 2; t++) vector.step(new Float32Array(2));
process.stdout.write(`${vector.observations[1]} ${vector.resets[0]}\n`);
