import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { configError, parseConfig, parseOverride, pathText } from "./source.ts";

const text = `name: rings
task:
  use: ppo
  layers: [1, { width: 2 }]
`;

describe("a configuration's source", () => {
  it("gives the values of YAML and of JSON", () => {
    const value = { name: "rings", task: { use: "ppo", layers: [1, { width: 2 }] } };
    expect(parseConfig(text, "run.yaml").value).toEqual(value);
    expect(parseConfig(JSON.stringify(value), "run.json").value).toEqual(value);
  });

  it.each([
    [["name"], "run.yaml:1:1"],
    [["task", "use"], "run.yaml:3:3"],
    [["task", "layers", 1], "run.yaml:4:15"],
    [["task", "layers", 1, "width"], "run.yaml:4:17"],
    // What is missing is looked for around its place.
    [["task", "env"], "run.yaml:2:1"],
    [[], "run.yaml:1:1"],
  ])("knows the place of %j", (path, place) => {
    expect(parseConfig(text, "run.yaml").place(path)).toBe(place);
  });

  it("takes values from --set, in lists and where nothing was, and says so", () => {
    const source = parseConfig(text, "run.yaml", ["task.layers[1].width=8", "training.epochs=3", "name=a b"]);
    expect(source.value).toEqual({
      name: "a b",
      task: { use: "ppo", layers: [1, { width: 8 }] },
      training: { epochs: 3 },
    });
    expect(source.place(["training", "epochs"])).toBe("--set training.epochs=3");
    expect(source.place(["task", "use"])).toBe("run.yaml:3:3");
    expect(parseConfig("", "empty.yaml", ["a.b=1"]).value).toEqual({ a: { b: 1 } });
    expect(parseConfig(text, "run.yaml", ["hooks[0].use=x", "hooks[1]=y"]).value).toMatchObject({
      hooks: [{ use: "x" }, "y"],
    });
  });

  it.each(["task.layers[3]=1", "task.layers.first=1", "hooks[1].use=x"])(
    "refuses --set %s, which is no index of the list",
    (override) => {
      expect(() => parseConfig(text, "run.yaml", [override])).toThrow(
        expect.objectContaining({ code: "CONFIG_OVERRIDE" }),
      );
    },
  );

  it("reads values of --set as YAML", () => {
    expect(parseOverride("a.b=1e-3")).toEqual({ path: ["a", "b"], value: 0.001 });
    expect(parseOverride("hooks[0]={ use: x }")).toEqual({ path: ["hooks", 0], value: { use: "x" } });
    expect(parseOverride("a=x=y").value).toBe("x=y");
  });

  it.each(["epochs", "=3", "a..b=1", "__proto__.x=1", "a={", "a=[*b]", "a=!b c", "a=1\n---\n2"])(
    "refuses --set %s",
    (override) => {
      expect(() => parseOverride(override)).toThrow(expect.objectContaining({ code: "CONFIG_OVERRIDE" }));
    },
  );

  it.each([
    ["a: [1\nb: 2", /run\.yaml:\d+:\d+/],
    ["a: 1\na: 2", /run\.yaml:2:1 .*unique/],
    ["\tx: 1", /run\.yaml:1:1/],
    ["a: &a { b: [1, *a] }", /run\.yaml:1:16 .*a\.b\[1\]/],
    ["a: !env STEPS", /run\.yaml:1:4 .*!env/],
    ["a: 1\n---\na: 2", /run\.yaml:2:1 .*second/],
  ])("says where %j is no YAML", (broken, place) => {
    expect(() => parseConfig(broken, "run.yaml")).toThrow(
      expect.objectContaining({ code: "CONFIG_SYNTAX", message: expect.stringMatching(place) }),
    );
  });

  it("takes a missing comma in JSON for no YAML", () => {
    expect(() => parseConfig('{"a": 1 "b": 2}', "run.json")).toThrow(
      expect.objectContaining({ code: "CONFIG_SYNTAX", message: expect.stringContaining("run.json:1:7") }),
    );
    expect(parseConfig('{"a": 1e-3, "b": [true, null, "x"]}', "run.json").value).toEqual({
      a: 0.001,
      b: [true, null, "x"],
    });
  });

  it("does not unfold aliases without end", () => {
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
    for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg"].map((pair) => [...pair]))
      bomb.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(", ")}]`);
    expect(() => parseConfig(bomb.join("\n"), "run.yaml")).toThrow(EspalierError);
  });

  it("lists problems once each, with place, path and fix", () => {
    const source = parseConfig(text, "run.yaml");
    const problem = { path: ["task", "layers", 1], message: "it is wrong", fix: "make it right" };
    const { message, code } = configError(source, [problem, problem]);
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toContain("run.yaml has a problem\n  run.yaml:4:15  task.layers[1]: it is wrong");
    expect(pathText(["a", 0, "b"])).toBe("a[0].b");
  });
});
