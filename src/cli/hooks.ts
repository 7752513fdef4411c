import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { EspalierError, optionsOf, printable } from "../core/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { type Surroundings, styleFor, thisProcess } from "./terminal.ts";
import { headedTable, jsonText } from "./text.ts";

const KEYWORD = "espalier-hook";

const hooksOptions = {
  directory: option.text("<path>", "the project whose packages are looked at", { default: "." }),
  json: option.json("print JSON, with what each option takes"),
};

export function registerHooks(program: Command, around: Surroundings = thisProcess()): void {
  withOptions(program.command("hooks"), hooksOptions)
    .addHelpText(
      "after",
      `
A package shares hooks when the keywords of its package.json have "${KEYWORD}".

Examples:
  espalier hooks
  espalier hooks --json`,
    )
    .action(async ({ directory, json }: Values<typeof hooksOptions>) => {
      if (!existsSync(directory))
        throw new EspalierError("OPTION_INVALID", `--directory is "${directory}", which is not there`, {
          fix: "give the directory of a project",
        });
      const builtIn = await builtInHooks();
      const packages = hookPackages(directory);
      if (json) return around.out.write(`${jsonText({ builtIn, packages })}\n`);
      const { colors } = styleFor(around.out, around.env, false);
      const lines = [
        ...headedTable(
          ["hook", "from", "options"],
          builtIn.map(({ name, from, options }) => [name, from, options.map((each) => each.name).join(", ")]),
          colors,
        ),
        "",
        ...(packages.length === 0
          ? [`no installed package has the keyword "${KEYWORD}"`]
          : headedTable(
              ["package", "version", "use", "what it is"],
              packages.map((each) => [each.name, each.version, each.exports.join(", "), each.description]),
              colors,
            )),
        "",
        "in a configuration: hooks: [{ use: NAME, ...options }]; of a package: { use: PACKAGE#NAME }",
      ];
      await around.out.write(`${lines.join("\n")}\n`);
    });
}

/** The hooks of this package: each with the module that a program imports it from, and its options. */
async function builtInHooks() {
  const { catalogEntries } = await import("../config/index.ts");
  const found = catalogEntries()
    .filter(({ kind }) => kind === "hook")
    .map(async ({ name, door, load }) => {
      const table = optionsOf((await load()) as () => unknown) ?? {};
      const options = Object.entries(table).map(
        ([option, { is, doc, default: usual, required = false }]) => ({
          name: option,
          is,
          required,
          doc,
          default: isPlain(usual) ? usual : undefined,
        }),
      );
      return { name, from: door, options };
    });
  return (await Promise.all(found)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const isPlain = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);

/** The packages with the keyword that a program in `directory` could import, the nearest of each name. */
export function hookPackages(directory: string) {
  const found = new Map<string, NonNullable<ReturnType<typeof hookPackage>>>();
  for (let at = resolve(directory); ; at = dirname(at)) {
    for (const folder of packageFolders(join(at, "node_modules"))) {
      const shared = hookPackage(folder);
      if (shared && !found.has(shared.name)) found.set(shared.name, shared);
    }
    if (at === dirname(at)) break;
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function packageFolders(modules: string): readonly string[] {
  if (!existsSync(modules)) return [];
  return readdirSync(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      name.startsWith("@")
        ? readdirSync(join(modules, name)).map((inner) => join(modules, name, inner))
        : [join(modules, name)],
    );
}

/** A package that shares hooks; `exports` has what a configuration can name of it: `package`, `package/part`. */
function hookPackage(directory: string) {
  let text: string;
  try {
    text = readFileSync(join(directory, "package.json"), "utf8");
    if (!text.includes(KEYWORD)) return undefined; // Most of hundreds: parsing them takes longer than reading.
    const { name, version, description = "", keywords, exports } = JSON.parse(text);
    if (!Array.isArray(keywords) || !keywords.includes(KEYWORD) || typeof name !== "string") return undefined;
    const entries = typeof exports === "object" && exports !== null ? Object.keys(exports) : ["."];
    const parts = entries.filter((entry) => /^\.(\/|$)/.test(entry) && !/\*|\.json$/.test(entry));
    return {
      name: printable(name),
      version: printable(String(version ?? "")),
      description: printable(String(description)),
      exports: (parts.length > 0 ? parts : ["."]).map((entry) => printable(name + entry.slice(1))),
      directory,
    };
  } catch {
    return undefined; // No package, or none that can be read: npm says so.
  }
}
