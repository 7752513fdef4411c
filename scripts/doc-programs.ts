import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "./compiler-options.ts";

/** A program that stands in a document, as a reader would copy it. */
export interface DocProgram {
  /** Where it stands: `math-20`, the block that begins in line 20. */
  readonly name: string;
  readonly source: string;
}

/** The TypeScript blocks of a document. Each is a program: `npm run check:installed` runs it as it stands. */
export function programsIn(document: string, folder = root): readonly DocProgram[] {
  const text = readFileSync(join(folder, document), "utf8");
  const stem = (document.split("/").pop() as string).replace(/\.md$/, "").toLowerCase();
  return [...text.matchAll(/^```(?:ts|typescript)\b.*\n([\s\S]*?)^```$/gm)].map((found) => ({
    name: `${stem}-${text.slice(0, found.index).split("\n").length}`,
    source: found[1] as string,
  }));
}

/** Relative links of the documents in a folder (`node_modules` aside) that lead to no file or heading: `README.md: docs/x.md`. */
export function brokenLinks(folder: string): readonly string[] {
  const documents = (readdirSync(folder, { recursive: true }) as string[]).filter(
    (file) => file.endsWith(".md") && !file.includes("node_modules"),
  );
  if (!documents.includes("README.md")) return ["README.md is missing"];
  return documents.flatMap((document) => {
    const text = readFileSync(join(folder, document), "utf8");
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target) && !leads(join(folder, document), target))
      .map((target) => `${relative(folder, join(folder, document))}: ${target}`);
  });
}

function leads(document: string, target: string): boolean {
  const [path = "", heading] = target.split("#");
  const file = path === "" ? document : join(dirname(document), path);
  if (!existsSync(file)) return false;
  if (heading === undefined) return true;
  const headings = [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, it = ""]) => anchor(it));
  return headings.includes(heading);
}

/** The anchor of a heading, as renderers make it. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");
