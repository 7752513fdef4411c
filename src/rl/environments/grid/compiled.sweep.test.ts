import { describe, expect, it } from "vitest";
import { compile, hostRandom, random, type Value, vmap } from "../../../engine/index.ts";
import { sweepEngines } from "../../../engine/run/engines.test-support.ts";
import type { StateTree } from "../../../state/index.ts";
import type { PlainState } from "../../../testing/environments/check-compiled.ts";
import { checkCompiledEnvironment } from "../../../testing/environments/check-compiled.ts";
import { compiledGridWorld } from "./compiled.ts";
import { gridWorld } from "./grid-world.ts";
import { gridLayout } from "./layout.ts";

const convert = (saved: StateTree): PlainState => {
  const { state, steps } = saved as { readonly state: PlainState; readonly steps: number };
  return { ...state, steps };
};

/** Small ones, in which chance fetches keys, passes doors and reaches goals. */
const small = { corridor: ["s.k+g"], corner: ["&&#", ".+g", "###"], open: ["***", "***"] };

const cases = [
  ["the built-in lessons", {}],
  ["a team", { agents: 2 }],
  ["small lessons", { lessons: small, timeLimit: 30 }],
  ["a team in small lessons", { lessons: small, agents: 3, timeLimit: 60, view: 1 }],
  ["masks", { lessons: small, agents: 2, masks: true }],
  ["masks for one", { masks: true, view: 3 }],
] as const;

describe.each(sweepEngines())("the compiled grid world on %s", (engine) => {
  it.each(cases)("goes exactly the ordinary one's way: %s", async (_, options) => {
    const check = { state: convert, steps: 3000, seed: 9, tolerance: 0, engine };
    await expect(
      checkCompiledEnvironment(compiledGridWorld(options), gridWorld(options), check),
    ).resolves.toBeUndefined();
  });

  it("begins wherever the lesson's map allows", async () => {
    const layout = gridLayout({ agents: 2 });
    const world = compiledGridWorld({ agents: 2 });
    const [each, lessons] = [400, layout.lessons.length];
    const begin = compile(
      (key: Value, lesson: Value) => vmap(world.reset)(random.splitKeys(key, each * lessons), lesson),
      { engine },
    );
    const lesson = Int32Array.from({ length: each * lessons }, (_, i) => Math.floor(i / each));
    const state = begin(hostRandom.hostKey(3), lesson);
    const [cells, goals] = [await state.cells.read(), await state.goals.read()];
    const [keys, holds] = [await state.key.read(), await state.holds.read()];
    const pair = (of: ArrayLike<number>, i: number) => [of[2 * i] as number, of[2 * i + 1] as number];
    for (let l = 0; l < lessons; l++) {
      const found = { starts: new Set<number>(), goals: new Set<number>(), keys: new Set<number>() };
      for (let i = l * each; i < (l + 1) * each; i++) {
        const [at, theirs] = [pair(cells, i), pair(goals, i)];
        expect(at.some((cell, agent) => cell === theirs[agent])).toBe(false);
        for (const cell of at) found.starts.add(cell);
        for (const cell of theirs) found.goals.add(cell);
        found.keys.add(keys[i] as number);
        expect(Boolean(holds[i])).toBe(keys[i] === 0 || at.includes(keys[i] as number));
      }
      const sorted = (set: Iterable<number>) => [...set].sort((a, b) => a - b);
      expect(sorted(found.starts)).toEqual([...(layout.starts[l] as Int32Array)]);
      expect(sorted(found.goals)).toEqual([...(layout.goals[l] as Int32Array)]);
      const places = layout.keys[l] as Int32Array;
      expect(sorted(found.keys)).toEqual(places.length > 0 ? [...places] : [0]);
    }
  });
});
