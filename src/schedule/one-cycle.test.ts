import { describe, expect, it } from "vitest";
import { counted, range } from "./moments.test-support.ts";
import { oneCycle } from "./ramps.ts";

const ramp = oneCycle({ peak: 0.1, over: { updates: 10 } });

describe("oneCycle", () => {
  it("equals optax's and PyTorch's", () => {
    // optax 0.2.8: cosine_onecycle_schedule(10, 0.1, pct_start=0.3, div_factor=25, final_div_factor=1e4), to f32.
    // torch 2.15: OneCycleLR(max_lr=0.1, total_steps=11, pct_start=4/11), whose peak is at step 3 and end at 10: these.
    const torch = [
      0.004, 0.027999999999999997, 0.076, 0.1, 0.09504846320134738, 0.0811745653949763, 0.06112620219362893,
      0.03887419780637107, 0.0188258346050237, 0.004951936798652629, 4e-7,
    ];
    for (const i of range(0, 10))
      expect(ramp.at(counted({ updates: i }))).toBeCloseTo(torch[i] as number, 14);
  });

  it("is exact at its start, its peak, its end and after", () => {
    const exact = oneCycle({ peak: 0.3, from: 0.1, to: 0.01, peakAt: 0.5, over: { samples: 1000 } });
    const values = [0, 500, 1000, 5000].map((samples) => exact.at(counted({ samples })));
    expect(values).toEqual([0.1, 0.3, 0.01, 0.01]);
  });

  it("says it in words", () => {
    expect(ramp.describe()).toBe("one cycle from 0.004 up to 0.1 and down to 4e-7 over 10 updates");
  });
});
