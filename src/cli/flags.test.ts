import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { wholeProgram } from "./commands.test-support.ts";

/** Every command that does something, by all its words. */
function commandsOf(parent: Command, words: readonly string[] = []): readonly (readonly [string, Command])[] {
  return parent.commands.flatMap((command) => {
    const all = [...words, command.name()];
    if ((command as Command & { readonly _hidden?: boolean })._hidden) return [];
    return command.commands.length > 0 ? commandsOf(command, all) : [[all.join(" "), command] as const];
  });
}

const commands = commandsOf(await wholeProgram());

/** Commands that print nothing which a program would read otherwise. */
const without: Readonly<Record<string, string>> = {
  schema: "it prints JSON",
  completion: "it prints a script of a shell",
  "cluster forget": "it says that it is done",
  "cluster install": "it says that it is done",
  "engine install": "it says that it is done",
  help: "it prints what a command takes",
  dashboard: "it serves pages",
  report: "it writes a page",
};

describe("the flags of all commands", () => {
  it("are those of about thirty", () => {
    expect(commands.length).toBeGreaterThan(28);
  });

  it.each(commands)("espalier %s prints JSON where it is asked to", (name, command) => {
    const has = command.options.some(({ long }) => long === "--json");
    expect(has || name in without, "a command that prints data has --json").toBe(true);
  });

  it.each(commands)("espalier %s has the values and defaults that others have", (_, command) => {
    for (const { long, argChoices, defaultValue } of command.options) {
      if (long === "--engine") expect(argChoices).toEqual(["wasm", "xla"]);
      if (long === "--which") expect([argChoices, defaultValue]).toEqual([["best", "last"], "last"]);
      if (long === "--runs") expect(defaultValue).toBe("runs");
    }
  });
});
