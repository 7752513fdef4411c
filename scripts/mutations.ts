// Breaks the sources on purpose, one slip at a time, and runs the tests that must notice: `npm run check:mutations`.
//
//   copy the sources to a temporary folder
//   run the named tests there as they are          a test that fails by itself proves nothing
//   for each mutation of mutations/table.ts
//     find its piece of code, wherever the file is  not found, or found twice: point it to the new code
//     replace it, run its tests, put it back        killed where one fails, which is named; survived where all pass
//
// Exit code 1 where one survived or was not found. `-- losses checkpoint` runs those whose names begin so,
// `--list` only looks for the pieces, `--source DIR` takes another checkout's sources.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { type Mutation, mutations } from "./mutations/table.ts";

const { values, positionals } = parseArgs({
  options: { list: { type: "boolean", default: false }, source: { type: "string" } },
  allowPositionals: true,
});
const here = fileURLToPath(new URL("..", import.meta.url));
const source = resolve(values.source ?? here);
const chosen = mutations.filter(
  ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start)),
);

/** A mutation with the file it is in, the whole text that it makes of it, and its tests. */
interface Located {
  readonly mutation: Mutation;
  readonly file: string;
  readonly text: string;
  readonly tests: readonly string[];
}

const files = readdirSync(join(source, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => join("src", name));
const isTest = (name: string): boolean => /\.(test|test-d|test-support)\.ts$/.test(name);
const texts = new Map(
  files.filter((name) => !isTest(name)).map((name) => [name, readFileSync(join(source, name), "utf8")]),
);

/** The nearest test file of a name: `a.test.ts` may have become `a.slow.test.ts`, in another folder. */
function testFile(wanted: string): string | undefined {
  if (files.includes(wanted)) return wanted;
  const stem = (name: string): string => basename(name).replace(/(\.(slow|isolated|sweep))?\.test\.ts$/, "");
  const shared = (name: string): number => {
    const [a, b] = [name.split("/"), wanted.split("/")];
    return a.filter((part) => b.includes(part)).length;
  };
  return files
    .filter((name) => name.endsWith(".test.ts") && stem(name) === stem(wanted))
    .sort((a, b) => shared(b) - shared(a))[0];
}

/** Where a mutation's piece of code is, or why that is not known. */
function locate(mutation: Mutation): Located | string {
  const escaped = mutation.find.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(escaped.replace(/\s+/g, "\\s+"), "g");
  const found = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(pattern)].map((match) => ({ file, text, match })),
  );
  const [only, ...more] = found;
  if (!only) return `not found: ${mutation.find}`;
  if (more.length > 0) return `found ${found.length} times: ${found.map(({ file }) => file).join(", ")}`;
  const tests = mutation.tests.map((test) => testFile(test) ?? `?${test}`);
  const lost = tests.find((test) => test.startsWith("?"));
  if (lost) return `test not found: ${lost.slice(1)}`;
  const { file, text, match } = only;
  const mutated = text.slice(0, match.index) + mutation.replace + text.slice(match.index + match[0].length);
  return { mutation, file, text: mutated, tests };
}

const located: Located[] = [];
let problems = 0;
const say = (verdict: string, name: string, more = ""): void =>
  console.log(`${verdict.padEnd(9)} ${name}${more && `\n          ${more}`}`);
for (const mutation of chosen) {
  const found = locate(mutation);
  if (typeof found === "string") {
    problems++;
    say("lost", mutation.name, found);
  } else {
    located.push(found);
    if (values.list) say("found", mutation.name, `${found.file}; ${found.tests.join(", ")}`);
  }
}

if (!values.list && located.length > 0) {
  const copy = mkdtempSync(join(tmpdir(), "espalier-mutations-"));
  try {
    for (const name of readdirSync(source))
      if (!["node_modules", ".git", ".cache", "dist"].includes(name))
        cpSync(join(source, name), join(copy, name), { recursive: true });
    symlinkSync(join(here, "node_modules"), join(copy, "node_modules"));
    const vitest = join(here, "node_modules/vitest/vitest.mjs");
    const runIn = (projects: readonly string[], tests: readonly string[], timeout: number) =>
      spawnSync(
        process.execPath,
        [vitest, "run", "--bail", "1", ...projects.map((name) => `--project=${name}`), ...tests],
        { cwd: copy, encoding: "utf8", timeout },
      );
    /** Runs test files until one fails: of sweeps the fast sample, and slow files after the others. */
    const run = (tests: readonly string[], timeout: number) => {
      const slow = tests.filter((name) => name.endsWith(".slow.test.ts"));
      const fast = tests.filter((name) => !slow.includes(name));
      const first = fast.length > 0 ? runIn(["fast", "isolated"], fast, timeout) : undefined;
      return first && (first.status !== 0 || slow.length === 0) ? first : runIn(["slow"], slow, timeout);
    };
    const untouched = run([...new Set(located.flatMap(({ tests }) => tests))], 1_800_000);
    if (untouched.status !== 0) {
      problems = chosen.length;
      console.error(`${untouched.stdout}\n${untouched.stderr}\nthe tests fail without any mutation`);
    }
    for (const { mutation, file, text, tests } of untouched.status === 0 ? located : []) {
      const before = readFileSync(join(copy, file));
      writeFileSync(join(copy, file), text);
      const { status, error, stdout, stderr } = run(tests, 300_000);
      writeFileSync(join(copy, file), before);
      const hung = (error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT";
      const failed = /^ *FAIL +(.*)$/m.exec(stripVTControlCharacters(stdout + stderr))?.[1];
      if (status === 0) problems++;
      say(
        status === 0 ? "survived" : "killed",
        mutation.name,
        status === 0 ? `${file}; ${tests.join(", ")}` : hung ? "its tests hung" : failed,
      );
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
console.log(`${chosen.length - problems} of ${chosen.length} mutations ${values.list ? "found" : "killed"}`);
process.exitCode = problems > 0 ? 1 : 0;
