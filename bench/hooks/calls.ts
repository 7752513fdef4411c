import { every, type Schedule, when } from "../../src/schedule/index.ts";
import type { Bar, Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { idleHooks, LoneHost } from "./host.ts";

const hooks = 100;
const far = 1e9;

/** What a hook adds to an event: an event with a hundred hooks of a kind, shared out among them. */
function perHook(schedule: () => Schedule | undefined): () => Promise<Subject> {
  return async () => {
    const host = new LoneHost(idleHooks(hooks, schedule));
    // A step is a hook, not an event.
    return { run: (steps) => seconds(() => host.run(Math.ceil(steps / hooks))) };
  };
}

const figure = (name: string, schedule: () => Schedule | undefined, bars: readonly Bar[]): TimedFigure => ({
  kind: "timed",
  name,
  engine: "host",
  unit: "us",
  ours: perHook(schedule),
  peers: {},
  steps: 400_000,
  bars,
});

const notDue: readonly Bar[] = [{ kind: "absolute", atMost: 0.2 }];
const due: readonly Bar[] = [
  { kind: "absolute", atMost: 1 },
  { kind: "absolute", atMost: 1000, asked: "003" },
];

/** What calling hooks costs by itself. */
export const hookCalls: readonly TimedFigure[] = [
  figure("a hook that is not due, known from its schedule", () => every({ updates: far }), notDue),
  figure(
    "a hook that is not due, asked every time (several units)",
    () => every({ updates: far }).or(every({ epochs: far })),
    notDue,
  ),
  figure("a hook that is not due, asked every time (a condition)", () => when(() => false), notDue),
  figure("a due hook that does nothing", () => undefined, due),
  figure("a due hook that does nothing, with a schedule", () => every({ updates: 1 }), due),
];
