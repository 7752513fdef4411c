import { describe, expect, it } from "vitest";
import { memory, spec } from "../engine/index.ts";
import * as nn from "./index.ts";

describe("summary", () => {
  const model = nn.sequential({
    features: nn.sequential([nn.conv2d(16, 3), nn.relu, nn.maxPool2d(2), nn.flatten()]),
    norm: nn.layerNorm(),
    head: nn.dense(10),
  });

  it("draws layers, outputs, parameters and memory with totals", () => {
    const before = memory();
    expect(`\n${nn.summary(model, spec([32, 28, 28, 1]))}\n`).toBe(`
layer                kind        output               parameters    memory
--------------------------------------------------------------------------
features             sequential  f32[32, 2704]                 0       0 B
features.conv2d0     conv2d      f32[32, 26, 26, 16]         160     640 B
features.relu0       relu        f32[32, 26, 26, 16]           0       0 B
features.maxPool2d0  maxPool2d   f32[32, 13, 13, 16]           0       0 B
features.flatten0    flatten     f32[32, 2704]                 0       0 B
norm                 layerNorm   f32[32, 2704]             5,408   21.6 kB
head                 dense       f32[32, 10]              27,050  108.2 kB
--------------------------------------------------------------------------
total                sequential  f32[32, 10]              32,618  130.5 kB
`);
    expect(memory()).toEqual(before);
  });

  it("looks as deep as told, and loses no parameter", () => {
    const text = nn.summary(model, spec([32, 28, 28, 1]), { depth: 1 });
    expect(text).toMatch(/^features +sequential +f32\[32, 2704\] +160 +640 B$/m);
    expect(text).not.toContain("conv2d0");
    expect(text).toMatch(/^total .* 32,618 /m);
  });

  it("shows a lone layer, and several results", () => {
    expect(nn.summary(nn.dense(2), spec([8, 3]))).toMatch(/^\(model\) +dense +f32\[8, 2\] +8 +32 B$/m);
    const heads = nn.parallel({ a: nn.dense(2), b: nn.dense(1) }, { combine: (outputs) => outputs });
    expect(nn.summary(heads, spec([8, 3]))).toMatch(/^total +parallel +f32\[8, 2\], f32\[8, 1\]/m);
  });

  it("refuses options it does not have", () => {
    expect(() => nn.summary(model, spec([1, 9, 9, 1]), { dept: 1 } as never)).toThrow(/did you mean "depth"/);
    expect(() => nn.summary(model, spec([1, 9, 9, 1]), { depth: 0 })).toThrow(/depth is 0/);
  });
});
