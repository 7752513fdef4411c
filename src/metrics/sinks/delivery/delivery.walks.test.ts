import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completed } from "../../../testing/sinks/records.ts";
import { newFolder, openDelivery, steps, TestSink } from "./delivery.test-support.ts";
import { manualTimers } from "./timers.test-support.ts";

type Move =
  | { readonly kind: "send"; readonly records: number }
  | { readonly kind: "pass"; readonly milliseconds: number }
  | { readonly kind: "mood"; readonly mood: Mood }
  | { readonly kind: "next process" };

const moods = ["works", "works later", "works very late", "fails", "fails later"] as const;
type Mood = (typeof moods)[number];

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("send" as const), records: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      milliseconds: fc.constantFrom(0, 1, 100, 1000, 40_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("mood" as const), mood: fc.constantFrom(...moods) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "next process" as const }) },
);

/** A sink whose calls do as its mood is when they are made. Its time is that of the process. */
class Moody extends TestSink {
  mood: Mood = "works";
  readonly #time: ReturnType<typeof manualTimers>;
  constructor(held: number[], time: ReturnType<typeof manualTimers>) {
    super();
    this.#time = time;
    Object.assign(this, { held });
  }

  override write(records: Parameters<TestSink["write"]>[0]): void | Promise<void> {
    const { mood } = this;
    if (mood === "fails") throw new Error("down");
    const file = (): void => void this.held.push(...records.map(({ step }) => step));
    if (mood === "works") file();
    else
      return new Promise((resolve, reject) => {
        const act = (): void => {
          if (mood === "fails later") reject(new Error("down later"));
          else {
            file();
            resolve();
          }
        };
        this.#time.set(act, mood === "works very late" ? 35_000 : 5);
      });
  }
}

describe("whatever a sink does", () => {
  it("it has every record once and in order in the end, over many processes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 40 }), async (moves) => {
        const spill = newFolder();
        const held: number[] = [];
        const begin = () => {
          const time = manualTimers();
          const sink = new Moody(held, time);
          const limits = { records: 7, batch: 4, toDiskAfter: 2 };
          const { delivery } = openDelivery({ spill, limits, clock: time.clock, timers: time }, sink);
          return { time, sink, delivery };
        };
        const end = async ({ time, delivery }: ReturnType<typeof begin>): Promise<void> => {
          const closing = delivery.close(completed);
          await time.pass(10_000);
          await closing;
          // Late answers still come before the process ends.
          await time.pass(40_000);
          expect(delivery.summary()).toMatchObject({ waiting: 0, lost: 0 });
        };
        let sent = 0;
        let now = begin();
        for (const made of moves) {
          if (made.kind === "send") {
            now.delivery.send(steps(sent + 1, sent + made.records));
            sent += made.records;
          } else if (made.kind === "pass") await now.time.pass(made.milliseconds);
          else if (made.kind === "mood") now.sink.mood = made.mood;
          else {
            await end(now);
            now = begin();
          }
        }
        await end(now);
        now = begin();
        await end(now);
        expect(held).toEqual(steps(1, sent).map(({ step }) => step));
      }),
      { numRuns: 200 },
    );
  });
});
