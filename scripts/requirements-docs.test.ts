import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./compiler-options.ts";

const text = readFileSync(join(root, "docs/requirements.md"), "utf8");

/** A row of the tables "in the document | ours | where | shown by". */
interface Row {
  readonly line: number;
  readonly theirs: string;
  readonly ours: string;
  readonly where: string;
  readonly shown: string;
}

const rows: readonly Row[] = text.split("\n").flatMap((source, i) => {
  const cells = source.split(/(?<!\\)\|/).map((cell) => cell.trim());
  if (cells.length !== 6 || /^-+$/.test(cells[1] as string) || cells[4] === "shown by") return [];
  const [, theirs, ours, where, shown] = cells as [string, string, string, string, string];
  return [{ line: i + 1, theirs, ours, where, shown }];
});

/** Text in backticks. */
const quoted = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, it = ""]) => it);

/** Paths begin at src/, or at the folder beside it that they name. */
const fileOf = (path: string): string =>
  join(root, /^(scripts|bench|docs|examples)\//.test(path) ? path : join("src", path));

/** The files a cell names: what is in backticks and has a slash and an ending. */
const filesIn = (cell: string): readonly string[] =>
  quoted(cell).filter((name) => /^[\w.-]+(\/[\w.-]+)*\/[\w.-]+\.(ts|md)$/.test(name));

/** Tests a cell names: a file, then titles in quotation marks. */
function testsIn(cell: string): readonly { readonly file: string; readonly title: string }[] {
  return [...cell.matchAll(/`([^`]+\.test\.ts)`((?:,? "[^"]+")+)/g)].flatMap(([, file = "", titles = ""]) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => ({ file, title })),
  );
}

const sources = new Map<string, string>();

function sourceOf(path: string): string {
  const file = fileOf(path);
  const known = sources.get(file) ?? (existsSync(file) ? readFileSync(file, "utf8") : "");
  sources.set(file, known);
  return known;
}

/** Titles as they are written, before tables of cases are filled in. */
const titlesIn = (source: string): readonly string[] =>
  [...source.matchAll(/[(,]\s*"((?:[^"\\\n]|\\.)+)",\s*(?:async )?\(/g)].map(([, title = ""]) =>
    title.replaceAll('\\"', '"'),
  );

/** What a cell calls things: the first word of every piece of code in it that is not a path. */
const namesIn = (cell: string): readonly string[] =>
  quoted(cell)
    .filter((code) => !code.includes("/"))
    .map((code) => code.replace(/^(new|class) /, "").match(/^[A-Za-z]\w*/)?.[0] ?? "")
    .filter((name) => name !== "");

/** The anchor of a heading, as renderers make it. */
const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");

const isPlanned = ({ shown }: Row): boolean => shown.startsWith("planned");

describe("docs/requirements.md", () => {
  it("has rows for all four documents", () => {
    for (const document of ["000", "001", "002", "003"])
      expect(text).toMatch(new RegExp(`^## ${document}`, "m"));
    expect(rows.length).toBeGreaterThan(200);
  });

  it("names files that exist", () => {
    const missing = rows.flatMap(({ line, ours, where, shown }) =>
      [ours, where, shown]
        .flatMap(filesIn)
        .flatMap((file) => (existsSync(fileOf(file)) ? [] : [`${line}: ${file}`])),
    );
    expect(missing).toEqual([]);
  });

  it("links to pages that exist, and to its own headings", () => {
    const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => `#${slug(heading)}`);
    const broken = [...text.matchAll(/\]\(([^)]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) =>
        target.startsWith("#") ? !anchors.includes(target) : !existsSync(join(root, "docs", target)),
      );
    expect(broken).toEqual([]);
  });

  it("names tests that exist", () => {
    const missing = rows.flatMap(({ line, shown }) =>
      testsIn(shown).flatMap(({ file, title }) =>
        titlesIn(sourceOf(file)).includes(title) ? [] : [`${line}: ${file} "${title}"`],
      ),
    );
    expect(missing).toEqual([]);
  });

  it("shows each row by a test, or says that it is planned, or that it is a decision", () => {
    const bare = rows.filter(
      (row) =>
        testsIn(row.shown).length === 0 &&
        !isPlanned(row) &&
        !/^(said here|`bench\/|`examples\/)/.test(row.shown),
    );
    expect(bare.map(({ line, theirs }) => `${line}: ${theirs}`)).toEqual([]);
  });

  it("finds our names in the files it sends readers to", () => {
    const lost = rows
      .filter((row) => !isPlanned(row))
      .flatMap(({ line, ours, where }) => {
        const files = filesIn(where);
        if (files.length === 0) return [];
        return namesIn(ours)
          .filter((name) => !files.some((file) => new RegExp(`\\b${name}\\b`).test(sourceOf(file))))
          .map((name) => `${line}: ${name} in ${files.join(", ")}`);
      });
    expect(lost).toEqual([]);
  });

  it("plans only for rooms there are or will be", () => {
    const rooms = readFileSync(join(root, "src/rooms.test.ts"), "utf8");
    const unknown = rows.filter(isPlanned).flatMap(({ line, shown }) => {
      const named = quoted(shown).filter((name) => name.endsWith("/"));
      if (named.length === 0) return [`${line}: no room`];
      return named
        .filter((room) => !rooms.includes(`"${room.slice(0, -1)}",`))
        .map((room) => `${line}: ${room}`);
    });
    expect(unknown).toEqual([]);
  });
});

describe("the checker", () => {
  it("finds titles of plain tests, of tables and of groups", () => {
    const source = `it("one", () => {\nit.each([1])("two %s", async (n) => {\ndescribe("three", () => {\nexpect("four");`;
    expect(titlesIn(source)).toEqual(["one", "two %s", "three"]);
  });

  it("reads several titles after one file", () => {
    expect(testsIn('`a/b.test.ts` "one", "two"; `c/d.test.ts` "three"')).toEqual([
      { file: "a/b.test.ts", title: "one" },
      { file: "a/b.test.ts", title: "two" },
      { file: "c/d.test.ts", title: "three" },
    ]);
  });

  it("takes code for names and paths for files", () => {
    const cell =
      "`every({ epochs: 10 })`, `new Trainer(...)`, `hooks/hook.ts`, `docs/schedules.md`, `checkpoint/`";
    expect(namesIn(cell)).toEqual(["every", "Trainer"]);
    expect(filesIn(cell)).toEqual(["hooks/hook.ts", "docs/schedules.md"]);
  });
});
