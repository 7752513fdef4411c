import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { createProgram } from "./program.ts";

/** Runs the program with one made-up command and returns what it did. */
function run(...args: string[]) {
  const printed: string[] = [];
  const calls: string[] = [];
  const program = createProgram([
    (parent) => {
      const engine = parent.command("engine").description("the engines");
      engine.command("list").action(() => {
        calls.push("list");
      });
    },
  ]);
  for (const command of [program, ...program.commands.flatMap((each) => [each, ...each.commands])])
    command.exitOverride().configureOutput({
      writeOut: (text) => printed.push(text),
      writeErr: (text) => printed.push(text),
    });
  let code = 0;
  try {
    program.parse(args, { from: "user" });
  } catch (error) {
    code = (error as { readonly exitCode: number }).exitCode;
  }
  return { code, calls, printed: printed.join(""), debug: program.opts().debug };
}

describe("espalier", () => {
  it("runs a command", () => {
    expect(run("engine", "list")).toMatchObject({ code: 0, calls: ["list"], printed: "" });
  });

  it("prints the package's version", () => {
    expect(run("--version")).toMatchObject({ code: 0, printed: `${manifest.version}\n` });
  });

  it("prints help that names the commands and shows examples", () => {
    const { code, printed } = run("--help");
    expect(code).toBe(0);
    expect(printed).toContain("engine");
    expect(printed).toContain("espalier engine install cpu");
  });

  it("suggests the command that was meant", () => {
    const { code, printed } = run("egnine");
    expect(code).toBe(1);
    expect(printed).toContain("unknown command 'egnine'");
    expect(printed).toContain("Did you mean engine?");
  });

  it("suggests the subcommand that was meant", () => {
    expect(run("engine", "lits").printed).toContain("Did you mean list?");
  });

  it("helps with a command of a group, and says which there is not", () => {
    expect(run("help", "engine", "list")).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^Usage: espalier engine list/),
    });
    expect(run("help")).toMatchObject({ code: 0, printed: expect.stringMatching(/^Usage: espalier \[/) });
    for (const words of [["egnine"], ["engine", "lits"]]) {
      const { code, printed } = run("help", ...words);
      expect(code).toBe(1);
      expect(printed).toMatch(/unknown command '(egnine|lits)'; did you mean "(engine|list)"\?/);
    }
  });

  it("names the help of the group whose command is unknown", () => {
    expect(run("engine", "lits").printed).toContain("(espalier engine --help says what there is)");
  });

  it("takes --debug before and after the command", () => {
    expect(run("--debug", "engine", "list").debug).toBe(true);
    expect(run("engine", "list", "--debug").debug).toBe(true);
    expect(run("engine", "list").debug).toBeUndefined();
  });
});
