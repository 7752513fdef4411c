import { expect, it } from "vitest";
import { compile, memory, put, type Tensor, type Value } from "../index.ts";
import { testEngines } from "./engines.test-support.ts";

/** So many small tensors weigh what makes the collector look for those that are not in use. */
const looked = 8192;
const calls = 15_000;

it.each(testEngines())("on %s, what nobody disposes of does not pile up", async (engine) => {
  const next = compile((x: Value) => [x.add(1), x.mul(2)] as const, { engine });
  const before = memory().tensors;
  let most = 0;
  let now: Tensor = put(Float32Array.of(0), { engine });
  for (let i = 0; i < calls; i++) {
    const [more, twice] = next(now);
    now = more;
    await twice.item();
    if (i % 100 === 0) most = Math.max(most, memory().tensors - before);
  }
  expect(await now.item()).toBe(calls);
  // Those that nobody uses, those found and not freed yet, and some room.
  expect(most).toBeLessThan(2.5 * looked);
});
