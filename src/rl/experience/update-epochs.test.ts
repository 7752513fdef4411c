import { describe, expect, it } from "vitest";
import { autoUpdateEpochs } from "./update-epochs.ts";

const calm = { clipFraction: 0.05, kl: 0.001 };
const wild = { clipFraction: 0.05, kl: 0.03 };
const right = { clipFraction: 0.05, kl: 0.015 };
const eager = { warmup: 0, cooldown: 0 };

describe("update epochs", () => {
  it("grow where the policy hardly moves and shrink where it moves too far", () => {
    const epochs = autoUpdateEpochs({ ...eager, start: 4 });
    const then = (found: typeof calm): number => {
      epochs.observe(found);
      return epochs.epochs;
    };
    expect(then(calm)).toBe(5);
    expect(then(right)).toBe(5);
    expect(then(wild)).toBe(4);
    expect(then({ clipFraction: 0.31, kl: 0.001 })).toBe(3);
    // The borders themselves: 0.7 and 1.3 times 0.015, 0.3, and no divergence at all.
    expect(then({ clipFraction: 0.3, kl: 0.0105 })).toBe(3);
    expect(then({ clipFraction: 0.3, kl: 0.0195 })).toBe(3);
    expect(then({ clipFraction: 0, kl: 0 })).toBe(3);
    expect(then({ clipFraction: 0, kl: 0.0104 })).toBe(4);
    expect(then({ clipFraction: 0, kl: 0.0196 })).toBe(3);
    expect(then({ clipFraction: Number.NaN, kl: Number.NaN })).toBe(3);
  });

  it("stay between their ends", () => {
    const epochs = autoUpdateEpochs({ ...eager, min: 2, max: 3, start: 2 });
    for (const found of [wild, wild]) epochs.observe(found);
    expect(epochs.epochs).toBe(2);
    for (const found of [calm, calm, calm]) epochs.observe(found);
    expect(epochs.epochs).toBe(3);
    expect([epochs.min, epochs.max]).toEqual([2, 3]);
  });

  it("wait at the beginning, and after each change", () => {
    const epochs = autoUpdateEpochs({ start: 1 });
    const seen = Array.from({ length: 9 }, () => {
      epochs.observe(calm);
      return epochs.epochs;
    });
    expect(seen).toEqual([1, 1, 2, 2, 2, 3, 3, 3, 4]);
  });

  it("go on where they were", () => {
    const [whole, first] = [autoUpdateEpochs(), autoUpdateEpochs()];
    const found = [calm, calm, calm, wild, calm, wild, wild, calm];
    for (const one of found) whole.observe(one);
    for (const one of found.slice(0, 4)) first.observe(one);
    const second = autoUpdateEpochs();
    second.setState(JSON.parse(JSON.stringify(first.getState())));
    for (const one of found.slice(4)) second.observe(one);
    expect(second.getState()).toEqual(whole.getState());
    expect(whole.epochs).toBe(4);
  });

  it("refuse what cannot be meant", () => {
    expect(() => autoUpdateEpochs({ start: 9 })).toThrow(/from min \(1\) to max \(8\)/);
    expect(() => autoUpdateEpochs({ target: 0 })).toThrow(/target is 0/);
    expect(() => autoUpdateEpochs({ warmup: -1 })).toThrow(/warmup is -1/);
    expect(() => autoUpdateEpochs().setState({ epochs: 12, rest: 0 })).toThrow(
      expect.objectContaining({ code: "STATE_INVALID" }),
    );
  });
});
