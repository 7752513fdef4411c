import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { createProgram, type RegisterCommand } from "./program.ts";

/** The program with all its commands: main.ts loads those alone that are called. */
export async function wholeProgram(): Promise<Command> {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const files = (readdirSync(here, { recursive: true }) as string[])
    .filter((file) => file.endsWith(".ts") && !file.includes("test"))
    .map((file) => `${here}${file}`)
    .filter((file) => /export function register/.test(readFileSync(file, "utf8")));
  const registers: RegisterCommand[] = [];
  for (const file of files) {
    const exports = (await import(file)) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(exports))
      if (name.startsWith("register")) registers.push(value as RegisterCommand);
  }
  return createProgram(registers.map((register) => (program) => register(program)));
}
