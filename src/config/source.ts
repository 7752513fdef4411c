import { existsSync, readFileSync } from "node:fs";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from "yaml";
import { EspalierError, printableText } from "../core/index.ts";

/** The way to a value of a configuration: ["hooks", 2, "schedule"]. */
export type Path = readonly (string | number)[];

/** A path as people write it: `hooks[2].schedule`. */
export const pathText = (path: Path): string =>
  path.map((part, i) => (typeof part === "number" ? `[${part}]` : `${i > 0 ? "." : ""}${part}`)).join("");

export interface Problem {
  readonly path: Path;
  readonly message: string;
  readonly fix?: string | undefined;
}

/** The values of a configuration, and where each of them is written. */
export interface ConfigSource {
  /** Its file, as it was named. */
  readonly file: string;
  /** Plain values; in a TypeScript file, any. */
  readonly value: unknown;
  /** The place of a value, or of the nearest thing around it: `run.yaml:4:7`. */
  place(path: Path): string;
}

/** More than this no configuration is, and a mistaken file would be read for minutes. */
const longest = 1_000_000;

/** Reads a configuration from the text of a YAML or JSON file, with values changed by `--set PATH=VALUE`. */
export function parseConfig(text: string, file: string, overrides: readonly string[] = []): ConfigSource {
  if (text.length > longest) throw unreadable([`${file}: it has ${text.length} characters`]);
  const lines = new LineCounter();
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // JSON without a comma between two members is YAML, of one long text.
    schema: /\.json$/i.test(file) ? "json" : "core",
  });
  const mistakes = mistakesIn(document);
  if (mistakes.length > 0)
    throw unreadable(
      mistakes.map(({ pos, code, message }) => {
        const what = code === "MULTIPLE_DOCS" ? "a second document begins, and a file is one run" : message;
        return `${at(pos[0])}  ${what}`;
      }),
    );
  const typed = new Map<string, string>();
  for (const override of overrides) {
    const { path, value } = parseOverride(override);
    // Lists and maps on the way are made; a scalar there is replaced.
    for (let i = 1; i < path.length; i++) {
      const outer = document.getIn(path.slice(0, i), true);
      if (isAlias(outer))
        throw badOverride(override, `${pathText(path.slice(0, i))} is an alias of another value`);
      checkIndex(isSeq(outer) ? outer.items.length : isMap(outer) ? undefined : 0, path, i, override);
      if (!isMap(outer) && !isSeq(outer))
        document.setIn(path.slice(0, i), document.createNode(typeof path[i] === "number" ? [] : {}));
    }
    if (path.length === 1 && !isMap(document.contents)) document.contents = document.createNode({}) as never;
    document.setIn(path, document.createNode(value));
    typed.set(pathText(path), override);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 1000 });
  } catch (error) {
    let start = 0;
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document)) return undefined;
        start = alias.range?.[0] ?? 0;
        return visit.BREAK;
      },
    });
    throw unreadable([`${at(start)}  ${(error as Error).message}`]);
  }
  const circle = circleIn(value);
  if (circle)
    throw unreadable([
      `${at(startOf(document.contents, circle) ?? 0)}  ${pathText(circle)} is made of itself`,
    ]);
  return {
    file,
    value,
    place: (path) => {
      for (let length = path.length; length > 0; length--) {
        const part = path.slice(0, length);
        const given = typed.get(pathText(part));
        if (given !== undefined) return `--set ${given}`;
        const start = startOf(document.contents, part);
        if (start !== undefined) return at(start);
      }
      return at(startOf(document.contents, []) ?? 0);
    },
  };
}

/** Errors of a YAML text. A tag that YAML does not know is one: its value would be taken for something else. */
const mistakesIn = ({ errors, warnings }: ReturnType<typeof parseDocument>) => [
  ...errors,
  ...warnings.filter(({ code }) => code === "TAG_RESOLVE_FAILED"),
];

/** The path of a value that is around itself, as an alias within its own anchor is. */
function circleIn(
  value: unknown,
  path: Path = [],
  around: readonly unknown[] = [],
  seen = new Set<unknown>(),
): Path | undefined {
  if (around.includes(value)) return path;
  if (typeof value !== "object" || value === null || seen.has(value)) return undefined;
  seen.add(value);
  for (const [name, member] of Object.entries(value)) {
    const part = Array.isArray(value) ? Number(name) : name;
    const found = circleIn(member, [...path, part], [...around, value], seen);
    if (found) return found;
  }
  return undefined;
}

/** Where a member is written: its name, or an item of a list. */
function startOf(contents: unknown, path: Path): number | undefined {
  let node = contents as Node | null | undefined;
  let start = node?.range?.[0];
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      start = (pair?.key as Node | undefined)?.range?.[0];
      node = pair?.value as Node | undefined;
    } else if (isSeq(node)) {
      node = node.items[Number(part)] as Node | undefined;
      start = node?.range?.[0];
    } else return undefined;
    if (start === undefined) return undefined;
  }
  return start;
}

/** The path and the value of `training.epochs=3`; the value is YAML. */
export function parseOverride(override: string): { readonly path: Path; readonly value: unknown } {
  const equals = override.indexOf("=");
  const left = override.slice(0, equals).trim();
  if (equals < 1 || left === "") throw badOverride(override, "it is not PATH=VALUE");
  const path = left
    .replace(/\[(\d+)\]/g, ".$1")
    .split(".")
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  if (path.includes("") || path.includes("__proto__")) throw badOverride(override, `"${left}" is no path`);
  const document = parseDocument(override.slice(equals + 1));
  try {
    const [mistake] = mistakesIn(document);
    if (mistake) throw mistake;
    return { path, value: document.toJS() };
  } catch (error) {
    throw badOverride(override, (error as Error).message.split("\n")[0] ?? "");
  }
}

/** Refuses what is no index of the list that has `length` items, the part `i` of a path; the next one appends. */
export function checkIndex(length: number | undefined, path: Path, i: number, override: string): void {
  const index = path[i];
  const isList = length !== undefined && (length > 0 || typeof index === "number");
  if (!isList || (typeof index === "number" && index <= length)) return;
  const list = pathText(path.slice(0, i));
  throw badOverride(
    override,
    `${list} is a list of ${length}, and ${index} is none of its indices, nor the next`,
  );
}

export const badOverride = (override: string, why: string): EspalierError =>
  new EspalierError("CONFIG_OVERRIDE", `--set ${override}: ${printableText(why)}`, {
    fix: "write --set PATH=VALUE, as --set task.learningRate=1e-3 or --set hooks[0].use=progressHook",
  });

const unreadable = (problems: readonly string[]): EspalierError =>
  new EspalierError("CONFIG_SYNTAX", problems.map((line) => printableText(line)).join("\n  "), {
    fix: "correct the file: it is YAML or JSON",
  });

/** The error of all that is wrong with a configuration, each with its place. */
export function configError(source: ConfigSource, problems: readonly Problem[]): EspalierError {
  const seen = new Set<string>();
  const lines = problems
    .map(({ path, message, fix }) => {
      const where = [source.place(path), pathText(path)].filter(Boolean).join("  ");
      return `${where}: ${message}${fix === undefined ? "" : `\n      ${fix}`}`;
    })
    .filter((line) => !seen.has(line) && seen.add(line));
  const count = lines.length === 1 ? "a problem" : `${lines.length} problems`;
  return new EspalierError("CONFIG_INVALID", `${source.file} has ${count}\n  ${lines.join("\n  ")}`);
}

/**
 * The settings of a run by their paths: those of the configuration in its directory, `file`, where there is one, else
 * those that it filed. What runs are compared by.
 */
export function runSettings(file: string | undefined, filed: unknown): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  const collect = (value: unknown, path: string): void => {
    if (typeof value === "object" && value !== null && Object.keys(value).length > 0)
      for (const [name, part] of Object.entries(value)) collect(part, path === "" ? name : `${path}.${name}`);
    else if (path !== "") leaves.set(path, typeof value === "string" ? value : JSON.stringify(value));
  };
  if (file === undefined || !existsSync(file)) collect(filed, "");
  else collect(parseConfig(readFileSync(file, "utf8"), file).value, "");
  return leaves;
}
