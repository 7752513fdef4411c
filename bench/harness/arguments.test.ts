import { describe, expect, it } from "vitest";
import { commandOf, readArguments } from "./arguments.ts";

const read = (...words: readonly string[]) => readArguments(words, ["engine", "parts"]);

describe("readArguments", () => {
  it("reads a bench, its flags and its options", () => {
    expect(read("--peers", "engine", "--json", "out.json", "--engine", "wasm", "--only", "adam")).toEqual({
      bench: "engine",
      peers: true,
      check: false,
      quick: false,
      writeDocs: false,
      json: "out.json",
      engine: "wasm",
      only: "adam",
    });
  });

  it("lists the benches there are when it does not know one", () => {
    expect(() => read("engin")).toThrow(
      /no bench "engin"; did you mean "engine"\?[\s\S]*NAME: engine, parts/,
    );
    expect(() => read()).toThrow(/NAME: engine, parts/);
  });

  it.each([
    [["engine", "--pers"], /no option --pers; did you mean "--peers"/],
    [["engine", "--json"], /--json needs a value/],
    [["engine", "parts"], /one bench at a time/],
    [["engine", "--engine", "gpu"], /no engine "gpu"/],
    [["engine", "--write-docs", "--peers", "--only", "adam"], /a whole run/],
    [["engine", "--write-docs"], /a whole run: --peers/],
  ])("refuses %j", (words, message) => {
    expect(() => read(...words)).toThrow(message);
  });
});

describe("commandOf", () => {
  it("repeats what decides the figures, and not where they go", () => {
    const asked = read("engine", "--json", "out.json", "--check", "--quick", "--only", "batch 64", "--peers");
    expect(commandOf(asked)).toBe('npm run bench -- engine --peers --quick --only "batch 64"');
  });
});
