import { fileURLToPath } from "node:url";
import ts from "typescript";

/** The checkout. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** The settings of tsconfig.json, for scripts that ask the compiler themselves. */
export function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, root).options;
}

/** The same for a project elsewhere that uses the package: without the paths to the sources. */
export function installedOptions(): Readonly<Record<string, unknown>> {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  const { paths: _, ...options } = config.compilerOptions;
  return { ...options, typeRoots: [`${root}node_modules/@types`] };
}
