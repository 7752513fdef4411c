import { describe, expect, it } from "vitest";
import { noCounters } from "./counters.ts";
import { asRamp, constant } from "./ramps.ts";

describe("asRamp", () => {
  it("makes numbers constant and leaves ramps alone", () => {
    const ramp = constant(0.2);
    expect(ramp.at(noCounters)).toBe(0.2);
    expect(ramp.describe()).toBe("constant 0.2");
    expect(asRamp(ramp)).toBe(ramp);
    expect(asRamp(3).at(noCounters)).toBe(3);
  });

  it.each([undefined, null, "3", [3], Float32Array.of(3), {}, () => 3])("refuses %o", (value) => {
    expect(() => asRamp(value as never)).toThrow(/asRamp: .* is neither a number nor a ramp/);
  });
});
