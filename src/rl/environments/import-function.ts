import { didYouMean, type EspalierError, messageOf, node } from "../../core/index.ts";

/** A file by its URL or absolute path, as a URL. */
export const urlOf = (file: string): string =>
  node.path.isAbsolute(file) ? node.url.pathToFileURL(file).href : file;

export const isClass = (value: unknown): value is new () => unknown =>
  typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));

/**
 * The function that a file exports under a name. `failed` makes the errors: about a file that could not be imported, whose
 * cause they have, or that exports no such function.
 */
export async function importFunction(
  file: string,
  name: string,
  failed: (what: string, fix: string, cause?: unknown) => EspalierError,
): Promise<(...given: readonly unknown[]) => unknown> {
  let found: Readonly<Record<string, unknown>>;
  try {
    found = (await import(urlOf(file))) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const fix = "make sure that this Node can load the module and all that it imports";
    throw failed(`could not be imported: ${messageOf(cause)}`, fix, cause);
  }
  // CommonJS exports may be found under `default` only.
  const made = found[name] ?? (found.default as Readonly<Record<string, unknown>> | undefined)?.[name];
  if (isClass(made))
    throw failed(
      `exports "${name}" as a class, which cannot be called without new`,
      "export a function that makes one with new, and give the function's name",
    );
  if (typeof made === "function") return made as (...given: readonly unknown[]) => unknown;
  const names = Object.keys(found);
  throw failed(
    `exports no function "${name}"${didYouMean(name, names)}`,
    `export function ${name}() from it; it exports ${names.join(", ") || "nothing"}`,
  );
}
