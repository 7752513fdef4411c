import { expectTypeOf } from "vitest";
import type { Stream } from "../../random/index.ts";
import type { Space, SpaceValue, ValueFor, ValueIn } from "./index.ts";
import { box, dict, discrete, multiDiscrete, readAction, sampleSpace } from "./index.ts";

declare const row: Float32Array;
declare const stream: Stream;

// What is read and drawn is as its space says.

const space = dict({
  camera: box({ shape: [2] }),
  inner: dict({ gear: discrete(3) }),
  b: multiDiscrete([2]),
});
const action = readAction(space, row, 0);
expectTypeOf(action.camera).toEqualTypeOf<Float32Array>();
expectTypeOf(action.inner.gear).toEqualTypeOf<number>();
expectTypeOf(action.b).toEqualTypeOf<Int32Array>();
expectTypeOf(sampleSpace(discrete(2), stream)).toEqualTypeOf<number>();
// @ts-expect-error: no such part
void action.wheel;

// A space that is only known when it runs takes and gives any value.

expectTypeOf<Uint8Array>().toExtend<SpaceValue>();
expectTypeOf<ValueIn<Space>>().toExtend<SpaceValue>();
expectTypeOf<ValueIn<typeof space>>().toExtend<ValueFor<typeof space>>();
expectTypeOf<ValueFor<typeof space>>().toExtend<SpaceValue>();
