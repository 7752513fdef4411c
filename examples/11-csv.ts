// A classifier from a CSV file, and its use in another program. New ideas: `csv` reads the file, `split` holds rows out,
// `columns` turns rows into numbers by what it learned from the training rows, `earlyStopping` ends the run, and
// `loadModel` needs nothing but the run's directory.
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { earlyStopping, nn } from "espalier";
import { columns, csv, label, numeric, oneHot, standardize, tabular } from "espalier/data";
import { loadModel, supervisedTrainer } from "espalier/supervised";

/** Customers that are made up, in a file such as one has. */
export async function writeCustomers(file = join(tmpdir(), "espalier-customers.csv")): Promise<string> {
  const names = ["age", "income", "city", "member", "bought"] as const;
  const lines = [names.join(",")];
  for await (const row of tabular({ rows: 1500, seed: 1 }))
    lines.push(names.map((name) => row[name]).join(","));
  writeFileSync(file, lines.join("\n"));
  return file;
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const PROMISED = 0.88;
  const directory = mkdtempSync(join(tmpdir(), "espalier-csv-"));
  try {
    const file = await writeCustomers(join(directory, "customers.csv"));
    const rows = await csv(file).inMemory();
    const { train, validation } = rows.split({ train: 0.8, validation: 0.2 }, { seed: 1 });
    const trainer = supervisedTrainer({
      model: nn.mlp({ hidden: [32, 32], out: 2 }),
      transform: columns({
        x: [standardize("age", "income"), oneHot("city"), numeric("member")],
        y: label("bought"),
      }),
      trainingConfig: { epochs: 60, batchSize: 32, learningRate: 3e-3 },
      checkpointDir: join(directory, "run"),
      hooks: [earlyStopping({ patience: 8, restoreBest: true })],
    });
    const {
      outcome,
      reason,
      validation: measured,
    } = await trainer.train({ trainData: train, valData: validation });
    console.log(`${outcome}: ${reason ?? "all epochs"}; accuracy ${measured?.accuracy?.toFixed(3)}`);
    assert.ok((measured?.accuracy ?? 0) > PROMISED, "it knows who buys");

    // Another program: the directory is all it has.
    const model = await loadModel<string>(join(directory, "run"));
    const [rich, poor] = await model.predict([
      { age: 70, income: 90_000, city: "Lima", member: true },
      { age: 20, income: 16_000, city: "Rome", member: false },
    ]);
    console.log("rich:", rich, "poor:", poor);
    assert.deepEqual([rich, poor], ["yes", "no"]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
