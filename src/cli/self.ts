/** How to run this program once more: Node, its own arguments, and the program's file. */
export type Self = readonly [node: string, ...args: string[]];

/** This program as it was called. */
export const thisProgram = (): Self => [process.execPath, ...process.execArgv, process.argv[1] ?? ""];

/** What people type to call it: in a checkout, where it runs from its sources, an npm script. */
export const callName = (self: Self): string =>
  self.at(-1)?.endsWith(".ts") ? "npm run --silent espalier --" : "npx espalier";
