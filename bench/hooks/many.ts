import { every } from "../../src/schedule/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { idleHooks, LoneHost } from "./host.ts";

const many = 10_000;

/** What ten thousand hooks add to an event at which one is due, beyond what that one costs alone. */
async function beyondOne(host: LoneHost): Promise<Subject> {
  const alone = new LoneHost(idleHooks(1, () => every({ updates: 1 })));
  // Everyone has had a turn: views are made, and queues are in their lasting order.
  host.run(2 * many);
  return {
    run: async (events) => {
      const all = await seconds(() => host.run(events));
      return all - (await seconds(() => alone.run(events)));
    },
  };
}

const figure = (name: string, hosts: () => LoneHost): TimedFigure => ({
  kind: "timed",
  name,
  engine: "host",
  unit: "us",
  ours: () => beyondOne(hosts()),
  peers: {},
  steps: many,
  bars: [{ kind: "absolute", atMost: 5 }],
});

export const manyHooks: readonly TimedFigure[] = [
  figure(
    "10,000 periodic hooks, always the same one due: the event beyond that hook",
    () =>
      new LoneHost(idleHooks(many, (i) => (i === 0 ? every({ updates: 1 }) : every({ updates: 1e9 + i })))),
  ),
  figure(
    "10,000 periodic hooks, each due in its turn: the event beyond that hook",
    () => new LoneHost(idleHooks(many, (i) => every({ updates: many, from: i }))),
  ),
];
