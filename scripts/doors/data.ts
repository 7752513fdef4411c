// Rows of a file as arrays, by `espalier/data` alone.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { columns, csv, label, oneHot, standardize } from "espalier/data";

const folder = mkdtempSync(join(tmpdir(), "espalier-door-"));
const path = join(folder, "pets.csv");
writeFileSync(path, 'weight,color,kind\n4,"grey",cat\n30,brown,dog\n5,brown,cat\n25,grey,dog\n');
const rows = await csv(path).inMemory();
rmSync(folder, { recursive: true });
const { train, rest } = rows.split(
  { train: 0.5, rest: 0.5 },
  { seed: 1, stratify: (row) => row.kind as string },
);
const transform = columns({ x: [standardize("weight"), oneHot("color")], y: label("kind") });
await transform.fit(rows);
const { x, y } = await train.concat(rest).transform(transform).toArrays();
assert.deepEqual([x.shape, y?.shape], [[4, 3], [4]]);
assert.equal(transform.decode([0, 1]), "dog");
console.log(`espalier/data: ${rows.length} rows, ${train.length} to train with`);
