import { describe, expect, it } from "vitest";
import type { Plugin } from "../../engine/index.ts";
import type { Probe } from "./list.ts";
import { listText, survey } from "./list.ts";

const cuda: Plugin = { kind: "cuda", path: "/p/cuda.so", source: "python" };
const cpu: Plugin = { kind: "cpu", path: "/p/cpu.so", source: "cache" };
const starts: Probe = { state: "starts", description: "cpu, PJRT API 0.81", devices: ["Cpu 0", "Cpu 1"] };
const declines: Probe = { state: "declines", reason: "no GPU [PLUGIN_FAILED]", fix: "plug one in" };
const crashes: Probe = { state: "crashes", reason: "SIGABRT" };

/** A survey of plugins with the given outcomes. */
const look = (found: readonly (readonly [Plugin, Probe])[], env: Record<string, string> = {}) =>
  survey(
    found.map(([plugin]) => plugin),
    async (plugin) => (found.find(([other]) => other === plugin) as readonly [Plugin, Probe])[1],
    env,
  );

describe("survey", () => {
  it("has the wasm engine always", async () => {
    const { entries, auto, runs } = await look([]);
    expect(entries).toMatchObject([{ engine: "wasm", probe: { state: "starts" } }]);
    expect(auto).toEqual({ engine: "wasm", why: "no XLA plugin was found" });
    expect(runs).toEqual(auto);
  });

  it("lets auto take the first plugin that starts", async () => {
    const { auto } = await look([
      [cuda, declines],
      [cpu, starts],
    ]);
    expect(auto).toEqual({ engine: "xla", path: cpu.path, why: "the cpu plugin is the first that starts" });
  });

  it("lets auto fall back to wasm where none starts", async () => {
    expect((await look([[cuda, declines]])).auto).toEqual({ engine: "wasm", why: "no XLA plugin starts" });
  });

  it("does not hide that auto would crash", async () => {
    const { auto } = await look([
      [cuda, crashes],
      [cpu, starts],
    ]);
    expect(auto).toMatchObject({ engine: undefined, path: cuda.path });
  });

  it.each([
    ["wasm", starts, "wasm"],
    ["xla", starts, "xla"],
    ["xla", declines, undefined],
    ["xla", crashes, undefined],
    ["auto", starts, "xla"],
    ["", starts, "xla"],
    ["tpu", starts, undefined],
  ] as const)("ESPALIER_ENGINE=%s with a plugin that $state: %s", async (asked, probe, expected) => {
    expect((await look([[cpu, probe]], { ESPALIER_ENGINE: asked })).runs.engine).toBe(expected);
  });
});

describe("listText", () => {
  it("aligns what there is and says what auto takes", async () => {
    expect(listText(await look([[cpu, starts]])).split("\n")).toEqual([
      "engine  kind  devices                       what it is                     comes from               path",
      "xla     cpu   2: Cpu 0, ...                 cpu, PJRT API 0.81             espalier engine install  /p/cpu.so",
      "wasm    cpu   1: WebAssembly on one thread  jax-js kernels in WebAssembly  this package",
      "",
      "auto takes xla: the cpu plugin is the first that starts",
    ]);
  });

  it("gives the reason and the fix of a plugin that does not start", async () => {
    const text = listText(await look([[cuda, declines]]));
    expect(text).toContain(
      "the cuda plugin at /p/cuda.so does not start:\n  no GPU [PLUGIN_FAILED]\n  fix: plug one in",
    );
  });

  it("says when the environment overrides auto", async () => {
    const text = listText(await look([[cpu, starts]], { ESPALIER_ENGINE: "wasm" }));
    expect(text).toContain("auto takes xla");
    expect(text).toContain("programs that do not choose get wasm: ESPALIER_ENGINE=wasm");
  });

  it("says how to get the faster engine only where there is none", async () => {
    expect(listText(await look([]))).toContain("npx espalier engine install");
    expect(listText(await look([[cuda, declines]]))).not.toContain("npx espalier engine install");
  });
});
