import { spawnSync } from "node:child_process";
import { Argument, Option } from "commander";
import { describe, expect, it, vi } from "vitest";
import { registerCompletion } from "./completion.ts";
import { createProgram } from "./program.ts";
import { registerTrain } from "./train.ts";

function script(shell: string): string {
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    const program = createProgram([
      (parent) => registerTrain(parent),
      (parent) => {
        const engine = parent.command("engine").description("the machine's engines");
        engine.command("list").description("all").option("--json", "print JSON");
        engine.command("install").addArgument(new Argument("[kind]").choices(["cpu", "cuda"]));
        engine.command("probe", { hidden: true });
        parent.command("runs").addOption(new Option("--metric <key>", "which"));
      },
      (parent) => registerCompletion(parent),
    ]);
    program.parse(["completion", shell], { from: "user" });
    return String(printed.mock.calls[0]?.[0]);
  } finally {
    printed.mockRestore();
  }
}

/** What bash offers after these words, the last of which is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const call = `${script("bash")}
COMP_WORDS=(${["espalier", ...words].map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}
complete -p espalier >/dev/null || exit 9
_espalier; printf '%s\\n' "\${COMPREPLY[@]}"; echo "files $files"`;
  const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-c", call], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "" && !line.startsWith("files"));
}

describe("espalier completion", () => {
  it("offers commands, subcommands, options and values in bash", () => {
    expect(offered("")).toEqual(expect.arrayContaining(["train", "resume", "engine", "completion"]));
    expect(offered("tr")).toEqual(["train"]);
    expect(offered("engine", "")).toEqual(["list", "install"]);
    expect(offered("engine", "install", "cu")).toEqual(["cuda"]);
    expect(offered("engine", "list", "--j")).toEqual(["--json"]);
    expect(offered("train", "run.yaml", "--engine", "")).toEqual(["wasm", "xla"]);
    expect(offered("train", "--qu")).toEqual(["--quiet"]);
    expect(offered("--de")).toEqual(["--debug"]);
    expect(offered("completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(offered("train", "")).toEqual([]);
    expect(offered("runs", "--metric", "")).toEqual([]);
  });

  it("lets bash complete files where a file is expected", () => {
    const text = script("bash");
    expect(text).toMatch(/'train'\)\n +offers=''; files=1/);
    expect(text).toMatch(/'engine list'\)\n +offers=''; files=0/);
    expect(text).toContain("compopt -o default");
  });

  it("has the same commands in zsh, and a function that compinit finds", () => {
    const text = script("zsh");
    expect(text).toMatch(/^#compdef espalier\n/);
    expect(text).toMatch(/'\/engine'\) at='engine'/);
    expect(text).toMatch(/'train\/--engine'\) offers='wasm xla'/);
    expect(balanced(text)).toBe(true);
  });

  it("has a line for each command and option in fish", () => {
    const lines = script("fish").split("\n");
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^complete -c espalier -n 'not __fish_seen_subcommand_from train .*' -a train -d '/,
      ),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/-n '__fish_seen_subcommand_from train'.* -l engine -r -a 'wasm xla'/),
    );
    expect(lines).toContainEqual("complete -c espalier -n '__fish_seen_subcommand_from train' -F");
    expect(lines.filter((line) => !/^(#|complete -c espalier )/.test(line))).toEqual([]);
    expect(lines.every((line) => (line.replaceAll("'\\''", "").match(/'/g)?.length ?? 0) % 2 === 0)).toBe(
      true,
    );
    expect(script("fish")).toContain("the machine'\\''s engines");
  });

  it("names nothing that is hidden", () => {
    for (const shell of ["bash", "zsh", "fish"]) expect(script(shell)).not.toContain("probe");
  });
});

/** Every case, for and if is closed. */
const balanced = (text: string): boolean =>
  [
    [/\bcase\b/g, /\besac\b/g],
    [/\bdo$/gm, /\bdone\b/g],
    [/\bif \[/g, /\bfi$/gm],
  ].every(([open, close]) => text.match(open as RegExp)?.length === text.match(close as RegExp)?.length);
