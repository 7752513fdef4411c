// Writes the reference part of docs/configuration.md: the members of a run, and every name of the catalog with its
// options, from the tables of options that functions check by. Where a table has no words for an option, or a function
// has no table, the doc comments of the sources give them. `npx tsx scripts/docs-configuration.ts` after a change.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { catalogEntries, type Kind, runTable } from "../src/config/index.ts";
import { type OptionRows, optionsOf } from "../src/core/index.ts";
import { compilerOptions, root } from "./compiler-options.ts";

const page = `${root}docs/configuration.md`;
const begin = "<!-- reference: made by scripts/docs-configuration.ts -->\n";
const end = "<!-- end of reference -->\n";

const titles: Readonly<Record<Kind, string>> = {
  task: "Tasks",
  hook: "Hooks",
  sink: "Sinks",
  schedule: "Schedules",
  ramp: "Ramps",
  loss: "Losses and tasks' outputs",
  data: "Data",
  metric: "Metrics",
  environment: "Environments",
  curriculum: "Curricula",
  generator: "Generators of rollouts",
  transport: "Transports",
  store: "Stores of checkpoints",
};

/** One option, as the page shows it. */
interface Row {
  readonly name: string;
  readonly is: string;
  readonly doc: string;
}

/** The page with its reference part as the sources have it. */
export async function configurationPage(): Promise<string> {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${page} has no markers of the reference`);
  return `${before}${begin}\n${await reference()}\n${end}${after}`;
}

async function reference(): Promise<string> {
  const typed = typedNames();
  const parts = ["### The run", table(rowsOf(runTable, new Map()))];
  const sections = new Map<Kind, string[]>();
  for (const { name, kind, door, load } of catalogEntries()) {
    const maker = await load();
    const { doc, args, options } = typed(door, name);
    const made = typeof maker === "function" ? optionsOf(maker as () => unknown) : undefined;
    const rows = made ? rowsOf(made, options) : [...options.values()];
    const given = args.length > 0 ? ` Arguments: \`${args.join(", ")}\`.` : "";
    const lines = [`#### ${name}`, `From \`${door}\`. ${doc}${given}`.trim()];
    if (rows.length > 0) lines.push(table(rows));
    sections.set(kind, [...(sections.get(kind) ?? []), ...lines]);
  }
  for (const [kind, lines] of sections) parts.push(`### ${titles[kind]}`, ...lines);
  return `${parts.join("\n\n")}\n`;
}

const table = (rows: readonly Row[]): string =>
  [
    "| option | values | |",
    "|---|---|---|",
    ...rows.map(({ name, is, doc }) => `| \`${name}\` | ${cell(is)} | ${cell(doc)} |`),
  ].join("\n");

const cell = (text: string): string =>
  text
    .replace(/\{@link (\w+)\s*\}/g, "$1")
    .replace(/\s+/g, " ")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .trim();

function rowsOf(options: OptionRows, typed: ReadonlyMap<string, Row>, within = ""): Row[] {
  return Object.entries(options).flatMap(([name, { is, doc, required, default: value, members }]) => {
    const words = doc ?? typed.get(within + name)?.doc ?? "";
    const known =
      value === undefined || /default/i.test(words) ? "" : ` Default: ${JSON.stringify(value) ?? value}.`;
    const must = required && !words.startsWith("Required.") ? "Required. " : "";
    const row = { name: `${within}${name}`, is, doc: `${must}${words}${known}` };
    return [row, ...(members ? rowsOf(members, typed, `${within}${name}.`) : [])];
  });
}

/** What the sources say of an exported function: its first sentence, its arguments, and its options by their type. */
interface Typed {
  readonly doc: string;
  readonly args: readonly string[];
  readonly options: ReadonlyMap<string, Row>;
}

function typedNames(): (door: string, name: string) => Typed {
  const fileOf = (door: string): string =>
    `${root}src/${door === "espalier" ? "index" : `doors/${door.slice("espalier/".length)}`}.ts`;
  const files = [...new Set(catalogEntries().map(({ door }) => fileOf(door)))];
  const program = ts.createProgram(files, compilerOptions());
  const checker = program.getTypeChecker();
  const docOf = (symbol: ts.Symbol): string =>
    sentences(ts.displayPartsToString(symbol.getDocumentationComment(checker)));
  return (door, name) => {
    const source = program.getSourceFile(fileOf(door));
    const module = source && checker.getSymbolAtLocation(source);
    const exported = module && checker.getExportsOfModule(module).find((symbol) => symbol.name === name);
    if (!exported) throw new Error(`${door} does not export ${name}`);
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const type = checker.getTypeOfSymbol(symbol);
    const parameters = type.getCallSignatures()[0]?.parameters ?? [];
    const args: string[] = [];
    const options = new Map<string, Row>();
    for (const parameter of parameters) {
      const given = checker.getNonNullableType(checker.getTypeOfSymbol(parameter));
      const isLast = parameter === parameters.at(-1);
      const kinds = given.isUnion() ? given.types : [given];
      const isObject = isLast && kinds.every((kind) => isOptions(checker, kind));
      const properties = isObject ? kinds.flatMap((kind) => checker.getPropertiesOfType(kind)) : [];
      const add = (property: ts.Symbol, within = ""): void => {
        const optional = (property.flags & ts.SymbolFlags.Optional) !== 0;
        const type = checker.getNonNullableType(checker.getTypeOfSymbol(property));
        const is = checker.typeToString(type);
        const doc = `${optional ? "" : "Required. "}${docOf(property)}`;
        const name = `${within}${property.name}`;
        options.set(name, { name, is: is.length > 70 ? "" : is, doc });
        // The members of a group.
        if (within === "" && isOptions(checker, type))
          for (const member of checker.getPropertiesOfType(type)) add(member, `${name}.`);
      };
      for (const property of properties) add(property);
      if (properties.length === 0) args.push(parameter.name);
    }
    return { doc: docOf(symbol), args, options };
  };
}

/** An object of options, and no array, function, class or tensor. */
function isOptions(checker: ts.TypeChecker, type: ts.Type): boolean {
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return false;
  if (checker.isArrayLikeType(type) || type.getCallSignatures().length > 0 || type.isClass()) return false;
  return !checker.getPropertiesOfType(type).some((property) => property.flags & ts.SymbolFlags.Method);
}

/** A doc comment's first paragraph, without links. */
const sentences = (text: string): string =>
  (text.split(/\n\s*\n/)[0] ?? "")
    .replace(/\{@link (\w+)\s*\}/g, "$1")
    .replace(/\s+/g, " ")
    .replace(/[,:]$/, ".");

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, await configurationPage());
