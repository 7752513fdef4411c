import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import manifest from "../package.json" with { type: "json" };
import { compilerOptions, root } from "./compiler-options.ts";

/** The doors of the package: what a program imports from, and the source behind it. */
const doors: Readonly<Record<string, URL>> = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const source = target.default.replace("./dist/", "../src/").replace(/\.js$/, ".ts");
    return [[subpath.replace(/^\./, "espalier"), new URL(source, import.meta.url)]];
  }),
);

/** A program that stands in a document, as a reader would copy it. */
export interface DocProgram {
  /** Where it stands: `math-20`, the block that begins in line 20. */
  readonly name: string;
  readonly source: string;
}

/** The blocks of a document that are marked as `fence`, such as "ts" or "ts run". */
export function programsIn(document: string, fence: string): readonly DocProgram[] {
  const text = readFileSync(join(root, document), "utf8");
  const stem = (document.split("/").pop() as string).replace(/\.md$/, "").toLowerCase();
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]
    .filter(([, marked]) => marked === fence)
    .map((found) => ({
      name: `${stem}-${text.slice(0, found.index).split("\n").length}`,
      source: found[2] as string,
    }));
}

/** Programs as files, in a folder that is gone afterwards. */
function asFiles<T>(
  programs: readonly DocProgram[],
  use: (files: readonly string[], folder: string) => T,
): T {
  const folder = mkdtempSync(join(tmpdir(), "espalier-docs-"));
  try {
    const files = programs.map(({ name, source }) => {
      const file = join(folder, `${name}.mts`);
      writeFileSync(file, source);
      return file;
    });
    return use(files, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs programs one after the other in one process, "espalier" being the sources, and gives what they wrote. */
export function runPrograms(programs: readonly DocProgram[], env: NodeJS.ProcessEnv = {}): string {
  const fromSources = programs.map(({ name, source }) => ({
    name,
    source: source.replace(/from "(espalier[^"]*)"/g, (text, name: string) =>
      doors[name] ? `from ${JSON.stringify(doors[name].href)}` : text,
    ),
  }));
  return asFiles(fromSources, (files, folder) => {
    const all = join(folder, "all.mts");
    writeFileSync(
      all,
      files.map((file) => `await import(${JSON.stringify(pathToFileURL(file).href)});\n`).join(""),
    );
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", all], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
    if (status !== 0) throw new Error(`the programs ended with ${status}\n${stderr}`);
    return stdout;
  });
}

/** What the compiler has to say against programs, with this project's settings. */
export function typeErrors(programs: readonly DocProgram[]): readonly string[] {
  return asFiles(programs, (files) => {
    const program = ts.createProgram([...files], {
      ...compilerOptions(),
      paths: Object.fromEntries(Object.entries(doors).map(([name, url]) => [name, [fileURLToPath(url)]])),
      typeRoots: [join(root, "node_modules/@types")],
    });
    return files.flatMap((file) => {
      const source = program.getSourceFile(file);
      return ts.getPreEmitDiagnostics(program, source).map(({ messageText, start, file: at }) => {
        const line = (at?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0) + 1;
        return `${file.split("/").pop()}:${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
      });
    });
  });
}
