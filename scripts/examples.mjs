// Runs examples/math/01-*.ts, ..., then examples/01-*.ts, 02-*.ts, ... in order, each in its own process. Each asserts what it promises, so one that
// exits with a failure fails the lot. `npm run examples -- 02 lstm` runs those whose names contain a word given.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const words = process.argv.slice(2);
const files = ["math", ""]
  .flatMap((folder) =>
    readdirSync(join(root, "examples", folder))
      .filter((file) => /^\d\d-.*\.ts$/.test(file))
      .sort()
      .map((file) => join(folder, file)),
  )
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));

if (files.length === 0) {
  console.error(words.length === 0 ? "examples: none found" : `examples: none matches ${words.join(", ")}`);
  process.exit(1);
}

const failed = [];
for (const file of files) {
  console.log(`--- ${file}`);
  const start = performance.now();
  const { status } = spawnSync(process.execPath, ["--import", "tsx", join("examples", file)], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) failed.push(file);
  console.log(`--- ${file} ${status === 0 ? "ok" : "FAILED"} in ${seconds(start)} s`);
}
console.log(`examples: ${files.length - failed.length} of ${files.length} ok`);
if (failed.length > 0) {
  console.error(`examples: failed: ${failed.join(", ")}`);
  process.exit(1);
}

function seconds(start) {
  return ((performance.now() - start) / 1000).toFixed(1);
}
