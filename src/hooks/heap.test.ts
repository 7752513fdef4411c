import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Heap } from "./heap.ts";

describe("Heap", () => {
  it("gives what was put in, the least first", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (numbers) => {
        const heap = new Heap<number>((a, b) => a < b);
        for (const number of numbers) heap.push(number);
        expect(heap.size).toBe(numbers.length);
        const given = numbers.map(() => heap.pop());
        expect(given).toEqual(numbers.toSorted((a, b) => a - b));
        expect(heap.pop()).toBeUndefined();
      }),
    );
  });

  it("keeps its order while things come and go", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer())), (moves) => {
        const heap = new Heap<number>((a, b) => a < b);
        let model: number[] = [];
        for (const move of moves) {
          if (move === null) {
            expect(heap.pop()).toBe(model[0]);
            model = model.slice(1);
          } else {
            heap.push(move);
            model = [...model, move].sort((a, b) => a - b);
          }
          expect(heap.peek()).toBe(model[0]);
        }
      }),
    );
  });
});
