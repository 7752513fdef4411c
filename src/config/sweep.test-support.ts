import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";

/** The directory of all files of a test. */
export const folder = mkdtempSync(join(tmpdir(), "espalier-sweep-"));

/** A small classifier, in a directory of its own. */
export function configFile(name: string, sweep: string, more = ""): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(
    file,
    `name: ${name}
engine: wasm
directory: ${join(folder, name)}
${more}
task:
  use: supervisedTask
  model: { use: nn.mlp, hidden: [4], out: 1 }
  optimizer: { use: optim.adam }
  loss: { get: nn.mse }
  data: &rows { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [[0], [1], [1], [0]] }
  validation: *rows
  batchSize: 2
  learningRate: 0.01
training: { epochs: 4, seed: 5 }
metrics: { system: false, timing: false }
sweep:
${sweep
  .trim()
  .split("\n")
  .map((line) => `  ${line}`)
  .join("\n")}
`,
  );
  return file;
}

export const failure = (
  work: Promise<unknown>,
): Promise<{ readonly code: string; readonly message: string }> =>
  work.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );
