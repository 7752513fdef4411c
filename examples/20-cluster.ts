// Workers on other machines: the trainer and its workers know the address of a NATS server, and nothing of each other.
// Here all of them run on this machine; with another address nothing else changes. New ideas: `natsTransport`,
// `natsLink`, `startNatsServer`, which is `espalier cluster up` for programs (`npx espalier cluster install` gets it).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linear, never, Trainer } from "espalier";
import { natsTransport, startNatsServer } from "espalier/cluster";
import { entropyLoss, playEpisodes, policyLoss, valueLoss } from "espalier/rl";
import { policyTask } from "espalier/rollout";
import { game } from "./setups/cart-pole-worker.ts";

const directory = mkdtempSync(join(tmpdir(), "espalier-cluster-"));
const server = await startNatsServer({ directory, port: 0 });
const { url: servers, token = "" } = server;

const file = fileURLToPath(new URL("./cluster/worker.ts", import.meta.url));
const env = { ...process.env, NATS_URL: servers, NATS_TOKEN: token };
const workers = [1, 2].map(() =>
  spawn(process.execPath, [...process.execArgv, file], { env, stdio: "inherit" }),
);

const over = { epochs: 200 };
const task = policyTask({
  ...game,
  transport: natsTransport({ servers, token, run: "poles" }),
  losses: [policyLoss({ clip: linear({ from: 0.2, to: 0, over }) }), valueLoss(), entropyLoss()],
  learningRate: linear({ from: 1e-3, to: 0, over }),
});
const { timings } = await new Trainer({ task, config: { ...over, seed: 1, validate: never() } }).train();
const episodes = await playEpisodes({
  player: task.player,
  state: (await task.snapshot(task.player.reads)).components,
  ...{ env: game.env, episodes: 20, seed: 1234 },
});
const mean = episodes.reduce((sum, episode) => sum + episode.return, 0) / episodes.length;
console.log(`mean return ${mean} after ${task.counts.rollouts} rollouts in ${timings.seconds.toFixed(1)} s`);

await task.close(); // the run has ended: its workers leave
for (const [code] of await Promise.all(workers.map((worker) => once(worker, "exit")))) assert.equal(code, 0);
await server.stop();
rmSync(directory, { recursive: true });
assert.ok(mean >= 60, `the mean return is ${mean}`); // a random player gets 22, the best 500: 18-impala.ts trains longer
