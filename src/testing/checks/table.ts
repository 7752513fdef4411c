import { isLacking, nn, np, opTable, random } from "../../engine/index.ts";
import { failure } from "../compare.ts";
import { references } from "../reference/index.ts";
import { elsewhere, samples } from "../samples/index.ts";

const columns = ["derivative", "batch", "stablehlo", "wasm"] as const;

/** What users call. Named here so that a bundler keeps all rows, as each comes into the table with what uses it. */
const doors = { np, nn, random };

/** Every row has every column or a reason why not, and is checked by this suite; every check has its row. */
export function checkTable(): void {
  const faults: string[] = [];
  for (const [door, functions] of Object.entries(doors))
    if (Object.keys(functions).length === 0) faults.push(`${door} has no functions`);
  for (const [name, row] of opTable) {
    if (row.name !== name) faults.push(`${name} is called ${row.name}`);
    if (typeof row.type !== "function") faults.push(`${name} has no type rule`);
    for (const column of columns) {
      const entry = row[column];
      if (entry === undefined) faults.push(`${name} has no ${column}, and no reason for it`);
      if (isLacking(entry) && entry.lacking.length < 10)
        faults.push(`${name} lacks ${column} for no reason one could read`);
    }
    if (!samples.has(name) && !elsewhere.has(name))
      faults.push(`${name} has no samples: add an entry to testing/samples/`);
    if (samples.has(name) && !references.has(name))
      faults.push(`${name} has no reference: add an entry to testing/reference/`);
  }
  for (const name of [...samples.keys(), ...elsewhere.keys()])
    if (!opTable.has(name)) faults.push(`there are samples of ${name}, which is no row`);
  if (faults.length > 0) throw failure(`the op table is not whole:\n  ${faults.join("\n  ")}`);
}
