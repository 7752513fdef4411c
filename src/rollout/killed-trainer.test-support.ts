import { workerProcesses } from "./processes.ts";

// A trainer that says which processes it starts, and waits for rollouts that never come; or leaves them, and is done.
const [how, options] = process.argv.slice(2);
const transport = workerProcesses({
  module: new URL("./workers.test-support.ts", import.meta.url).href,
  ...{ name: how === "blocking" ? how : "waiting", count: 2, options },
  started: (pid, name) => process.stdout.write(`${name} ${pid}\n`),
});
await transport.publish({ id: 5, arrays: { w: { data: new Float32Array(1000), shape: [1000] } } });
if (how !== "leave") await transport.take();
