import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import type { PeerRequest } from "../harness/peer.ts";

/** What a run gives that times itself: the seconds that count, instead of all it took. */
export class Seconds {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** Work made ready: `run` does it so many times and waits; `check` is a number every implementation gives. */
export interface Case {
  readonly run: (steps: number) => Promise<unknown>;
  readonly check?: number;
}

/** Answers the bench's requests, one line each, until the input ends: what protocol.py is for Python. */
export async function serve(
  describe: () => string,
  cases: Readonly<Record<string, (params: never) => Promise<Case>>>,
): Promise<void> {
  let ready: Case | undefined;
  const answer = async (request: PeerRequest): Promise<object> => {
    switch (request.do) {
      case "describe":
        return { text: describe() };
      case "setup": {
        ready = undefined;
        const make = cases[request.case];
        if (!make) throw new Error(`there is no case "${request.case}"`);
        // Each case has parameters of its own, and the figure that names the case gives them.
        ready = await make(request.params as never);
        return ready.check === undefined ? {} : { check: ready.check };
      }
      case "run": {
        if (!ready) throw new Error("nothing is set up");
        const start = performance.now();
        const result = await ready.run(request.steps);
        const took = (performance.now() - start) / 1000;
        return { seconds: result instanceof Seconds ? result.value : took };
      }
      case "sample":
        if (!ready) throw new Error("nothing is set up");
        return { sample: await ready.run(request.index) };
      case "drop":
        ready = undefined;
        return {};
    }
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const reply = await answer(JSON.parse(line) as PeerRequest).catch((cause: unknown) => ({
      error: String(cause),
    }));
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  }
}
