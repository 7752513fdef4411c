// A run that is broken off and goes on, and proof that nothing was lost. New ideas: checkpoints as a hook, a run that
// resumes by being started again, and hashes of everything that decides how it goes on. The second half of the run is
// in a process of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkpointHook, compile, every, hashState, nn, np, optim, random, Trainer } from "espalier";
import { supervisedTask } from "espalier/supervised";

export const points = compile(() => {
  const x = random.uniform(random.key(7), [256, 1]).mul(4).sub(2);
  return { x, y: np.sin(x.mul(2)) };
});

/** The same run each time it is made: shuffled batches, dropout, and a checkpoint every five updates. */
function made(directory: string, maxUpdates = Number.POSITIVE_INFINITY): Trainer {
  const task = supervisedTask({
    model: nn.sequential([nn.dense(32), nn.tanh, nn.dropout(0.1), nn.dense(1)]),
    optimizer: optim.adam({ learningRate: 5e-3 }),
    data: points(),
    loss: nn.mse,
    batchSize: 32,
  });
  const checkpoint = checkpointHook({ directory, schedule: every({ updates: 5 }), keep: { last: 2 } });
  return new Trainer({ task, config: { epochs: 6, seed: 3, maxUpdates }, hooks: [checkpoint] });
}

/** A hash of every component, but for the time, which no two runs share. */
async function hashesOf({ components }: Trainer): Promise<Readonly<Record<string, string>>> {
  const hashes: Record<string, string> = {};
  for (const [name, part] of Object.entries(components))
    if (name !== "time") hashes[name] = await hashState(await part.getState());
  return hashes;
}

const [, , second] = process.argv;
if (realpathSync(process.argv[1] ?? ".") !== import.meta.filename) {
  // Imported, by runs/04-resume.yaml.
} else if (second) {
  // The same call as ever: the hook finds the newest checkpoint and goes on from there.
  const trainer = made(second);
  await trainer.train();
  process.stdout.write(JSON.stringify(await hashesOf(trainer)));
} else {
  const root = mkdtempSync(join(tmpdir(), "espalier-resume-"));
  try {
    const whole = made(join(root, "whole"));
    const { counters } = await whole.train();
    console.log(`in one go: ${counters.epochs} epochs, ${counters.updates} updates`);

    const half = await made(join(root, "broken"), 23).train();
    console.log(
      `broken off: ${half.counters.updates} updates, in the middle of epoch ${half.counters.epoch}`,
    );

    const args = ["--import", "tsx", fileURLToPath(import.meta.url), join(root, "broken")];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(status, 0, "the second process ends well");
    const resumed = JSON.parse(stdout) as Readonly<Record<string, string>>;
    for (const [name, hash] of Object.entries(resumed))
      console.log(`${name.padEnd(10)} ${hash.slice(0, 16)}`);

    assert.equal(half.counters.updates, 23);
    assert.deepEqual(resumed, await hashesOf(whole), "every component has the same bits");
    console.log("the resumed run equals the one in one go");
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
