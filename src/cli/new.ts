import { cpSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { EspalierError, makeDirectory } from "../core/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { jsonText } from "./text.ts";

const kinds = ["agent", "classifier", "language"] as const;
type ProjectKind = (typeof kinds)[number];

const newOptions = {
  kind: option.oneOf("<kind>", kinds, "what it trains", { short: "k", default: "agent" }),
  json: option.json(),
};

export function registerNew(program: Command): void {
  withOptions(program.command("new"), newOptions)
    .argument("<directory>", "where; it may be there, if it is empty")
    .addHelpText(
      "after",
      `
agent       a small game of its own, and PPO that learns to play it
classifier  a CSV file, and a model of its rows
language    a text file, and a small transformer of its characters

Examples:
  espalier new my-agent
  espalier new my-model --kind classifier`,
    )
    .action((directory: string, { kind, json }: Values<typeof newOptions>) => {
      const made = newProject(directory, kind);
      if (json) return console.log(jsonText(made));
      const { name, files } = made;
      console.log([`${name}, a project with`, ...files.map((file) => `  ${file}`)].join("\n"));
      const inside = relative(process.cwd(), made.directory);
      const steps = [...(inside ? [`cd ${inside}`] : []), "npm install", "npm test", "npm start"];
      console.log(`next: ${steps.join(" && ")}`);
    });
}

/** Makes a project from its template, with its name and this version of the package filled in. */
function newProject(path: string, kind: ProjectKind) {
  const directory = resolve(path);
  if (existsSync(directory) && !(statSync(directory).isDirectory() && readdirSync(directory).length === 0))
    throw new EspalierError("PROJECT_EXISTS", `${path} is there already, and no empty directory`, {
      fix: "give a directory that is not there yet, or an empty one",
    });
  const name = projectName(basename(directory));
  makeDirectory(directory);
  cpSync(templateOf(kind), directory, { recursive: true });
  // npm would not pack them under their own names.
  renameSync(join(directory, "_package.json"), join(directory, "package.json"));
  renameSync(join(directory, "_gitignore"), join(directory, ".gitignore"));
  for (const file of ["package.json", "run.yaml", "README.md"]) {
    const text = readFileSync(join(directory, file), "utf8");
    const filled = text.replace(/\bNAME\b/g, name).replace(/\bVERSION\b/g, manifest.version);
    writeFileSync(join(directory, file), filled);
  }
  const files = (readdirSync(directory, { recursive: true }) as string[]).filter((file) => file !== "test");
  return { name, directory, files: files.sort() };
}

/** A name that npm accepts and that reads as plain text in YAML: `My Agent` is `my-agent`. */
const projectName = (text: string): string => {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return /^[a-z]/.test(name) && !["null", "true", "false"].includes(name) ? name : `project-${name || "new"}`;
};

/** The directory of a template: in the package's examples, above this file in the sources and in the build. */
function templateOf(kind: ProjectKind): string {
  for (const up of ["../..", "..", "../../.."]) {
    const found = fileURLToPath(new URL(`${up}/examples/templates/${kind}`, import.meta.url));
    if (existsSync(found)) return found;
  }
  throw new EspalierError("TEMPLATE_MISSING", `the package has no template "${kind}"`, {
    fix: `install espalier@${manifest.version} again`,
  });
}
