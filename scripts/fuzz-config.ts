// Mutates the example configurations and builds each: `npm run fuzz:config -- --count 10000 --seed 1`. Whatever a
// file holds, it is built, or refused by an EspalierError that has a place in it; anything else ends this with code 1.
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildRun, parseConfig } from "../src/config/index.ts";
import { EspalierError } from "../src/core/index.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } },
});

const directory = new URL("../examples/runs/", import.meta.url);
const texts = readdirSync(directory)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => readFileSync(new URL(name, directory), "utf8"));

/** Numbers from 0 to below 1, the same for a seed. */
function numbersOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const pieces = [
  ...[
    "null",
    "-1",
    "3.5",
    "[]",
    "{}",
    '""',
    "true",
    "~",
    "*x",
    "&x",
    "use: ppo",
    "{ use: every, epochs: 0 }",
  ],
  ...[
    "{ get: task }",
    "use:",
    "!!js/function x",
    "\t",
    "'",
    '"',
    ": ",
    "- ",
    "\n",
    "#",
    "\u0000",
    "{ use: nn.mlp }",
  ],
];

/** A text with some characters, lines or values changed. */
function mutated(text: string, random: () => number): string {
  let changed = text;
  const at = (length: number): number => Math.floor(random() * length);
  for (let i = 0; i <= at(3); i++) {
    const where = at(changed.length);
    const piece = pieces[at(pieces.length)] ?? "";
    const lines = changed.split("\n");
    const kind = at(6);
    if (kind === 0) changed = changed.slice(0, where) + changed.slice(where + 1 + at(6));
    else if (kind === 1) changed = changed.slice(0, where) + piece + changed.slice(where);
    else if (kind === 2) changed = lines.filter((_, line) => line !== where % lines.length).join("\n");
    else if (kind === 3)
      changed = lines.toSpliced(where % lines.length, 0, lines[at(lines.length)] ?? "").join("\n");
    else if (kind === 4) changed = changed.replace(/: [^\n{[]+$/m, `: ${piece}`);
    else {
      const found = [...changed.matchAll(/[\w-]+/g)][at(40)];
      if (found)
        changed = changed.slice(0, found.index) + piece + changed.slice(found.index + found[0].length);
    }
  }
  return changed;
}

const random = numbersOf(Number(values.seed));
const counts = { built: 0, refused: 0 };
for (let i = 0; i < Number(values.count); i++) {
  const text = mutated(texts[Math.floor(random() * texts.length)] ?? "", random);
  try {
    await buildRun(parseConfig(text, "run.yaml"), ".");
    counts.built++;
  } catch (error) {
    const isLocated = error instanceof EspalierError && /run\.yaml(:\d+:\d+| has )/.test(error.message);
    if (isLocated) counts.refused++;
    else {
      console.error(`mutation ${i}:\n${text}\n`, error);
      process.exitCode = 1;
      break;
    }
  }
}
console.log(`${counts.refused} refused with their places, ${counts.built} built`);
process.exit();
