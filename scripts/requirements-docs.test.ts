import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./compiler-options.ts";
import { publicNames } from "./signatures.ts";

const text = readFileSync(join(root, "docs/internal/requirements.md"), "utf8");

/** A row of the tables "in the document | ours | shown by". */
interface Row {
  readonly line: number;
  readonly theirs: string;
  readonly ours: string;
  readonly shown: string;
}

const rows: readonly Row[] = text.split("\n").flatMap((source, i) => {
  const cells = source.split(/(?<!\\)\|/).map((cell) => cell.trim());
  if (cells.length !== 5 || /^-+$/.test(cells[1] as string) || cells[3] === "shown by") return [];
  const [, theirs, ours, shown] = cells as [string, string, string, string];
  return [{ line: i + 1, theirs, ours, shown }];
});

/** Text in backticks. */
const quoted = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, it = ""]) => it);

/** Titles of tests that a cell names. */
const testsIn = (cell: string): readonly string[] =>
  [...cell.matchAll(/\btest ((?:(?:, )?"[^"]+")+)/g)].flatMap(([, titles = ""]) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title),
  );

/** Titles as they are written, before tables of cases are filled in. */
const titlesIn = (source: string): readonly string[] =>
  [...source.matchAll(/[(,]\s*"((?:[^"\\\n]|\\.)+)",\s*(?:async )?\(/g)].map(([, title = ""]) =>
    title.replaceAll('\\"', '"'),
  );

/** What a cell calls things: the first word of every piece of code that is no command, and what follows its dots. */
const namesIn = (cell: string): readonly string[] =>
  quoted(cell)
    .filter((code) => !/[/$]|<name>|^[A-Z_]+(=|$)|^"|^(npm|espalier) /.test(code))
    .flatMap(
      (code) =>
        code
          .replace(/^(new|class) /, "")
          .match(/^[A-Za-z]\w*(\.[A-Za-z]\w*)*/)?.[0]
          .split(".") ?? [],
    );

/** The anchor of a heading, as renderers make it. */
const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");

const planOf = ({ shown }: Row): string | undefined => /^planned: (.+)$/.exec(shown)?.[1];

describe("docs/internal/requirements.md", () => {
  it("has rows for all five documents", () => {
    for (const document of ["000", "001", "002", "003", "004"]) {
      const [, part = ""] = text.split(new RegExp(`^## ${document}`, "m"));
      const own = part.split(/^## /m)[0]?.match(/^\|/gm) ?? [];
      expect(own.length, document).toBeGreaterThan(25);
    }
    expect(rows.length).toBeGreaterThan(250);
  });

  it("links to pages that exist, and to its own headings", () => {
    const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => `#${slug(heading)}`);
    const broken = [...text.matchAll(/\]\(([^)]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) =>
        target.startsWith("#") ? !anchors.includes(target) : !existsSync(join(root, "docs/internal", target)),
      );
    expect(broken).toEqual([]);
  });

  it("names no file of the sources, so that moving one changes nothing here", () => {
    expect(text.match(/`[\w./-]+\/[\w.-]+\.ts`|\bsrc\//g) ?? []).toEqual([]);
  });

  it("names tests that exist", () => {
    const files = ["src", "scripts"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".test.ts"))
        .map((path) => join(root, folder, path)),
    );
    const titles = new Set(files.flatMap((file) => titlesIn(readFileSync(file, "utf8"))));
    const missing = rows.flatMap(({ line, shown }) =>
      testsIn(shown).flatMap((title) => (titles.has(title) ? [] : [`${line}: "${title}"`])),
    );
    expect(missing).toEqual([]);
  });

  it("shows each row by a test, or says that it is planned, measured, an example or a decision", () => {
    const bare = rows.filter(
      (row) =>
        testsIn(row.shown).length === 0 &&
        planOf(row) === undefined &&
        !/^(said here|bench `npm run bench -- |example \[)/.test(row.shown),
    );
    expect(bare.map(({ line, theirs }) => `${line}: ${theirs}`)).toEqual([]);
  });

  it("plans what its last table has", () => {
    const planned = [...(text.split("## What is planned")[1] ?? "").matchAll(/^\| ([^|]+?) \|/gm)].map(
      ([, what]) => what,
    );
    const unknown = rows.filter((row) => planOf(row) !== undefined && !planned.includes(planOf(row)));
    expect(unknown.map(({ line, shown }) => `${line}: ${shown}`)).toEqual([]);
  });
});

describe("public names", () => {
  const names = publicNames();

  it("are those that docs/internal/requirements.md gives for what is there", () => {
    const lost = rows
      .filter((row) => planOf(row) === undefined)
      .flatMap(({ line, ours }) =>
        namesIn(ours)
          .filter((name) => !names.exported.has(name) && !names.members.has(name))
          .map((name) => `${line}: ${name}`),
      );
    expect(lost).toEqual([]);
  });

  it("have a doc comment each", () => {
    expect(names.undocumented).toEqual([]);
  });
});

describe("the checker", () => {
  it("finds titles of plain tests, of tables and of groups", () => {
    const source = `it("one", () => {\nit.each([1])("two %s", async (n) => {\ndescribe("three", () => {\nexpect("four");`;
    expect(titlesIn(source)).toEqual(["one", "two %s", "three"]);
  });

  it("reads several titles, beside words", () => {
    expect(testsIn('test "one", "two: x"; figures by test "three"')).toEqual(["one", "two: x", "three"]);
  });

  it("takes code for names, and leaves out constants, paths and texts", () => {
    const cell =
      '`every({ epochs: 10 })`, `new Trainer(...)`, `nn.mlp`, `tensorboard/`, `"stop"`, `ESPALIER_DEBUG=hooks`, `HOOK_INVALID`';
    expect(namesIn(cell)).toEqual(["every", "Trainer", "nn", "mlp"]);
  });
});
