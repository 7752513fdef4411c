import type { MessagePort } from "node:worker_threads";
import { storedPolicy } from "../policies/build.ts";
import { evaluateSuites } from "./evaluate-suites.ts";
import { fromHost } from "./host-state.ts";
import { episodeRecorder } from "./replays.ts";
import { failureOf, type ThreadAnswer, type ThreadRequest } from "./thread-messages.ts";

/**
 * @internal The work of a thread that evaluates: policies are made again from what describes them, once.
 */
export function serveEvaluations(port: MessagePort): void {
  const policies = new Map<string, ReturnType<typeof storedPolicy>>();
  const evaluate = async (request: ThreadRequest): Promise<Omit<ThreadAnswer, "id">> => {
    const { policy: spec, observationSpace, actionSpace, state, recorded, ...rest } = request;
    const { suites, episodes, seed, deterministic, vectorCount, engine } = rest;
    const spaces = { observationSpace, actionSpace };
    const text = JSON.stringify([spec, spaces]);
    const policy = await (policies.get(text) ?? storedPolicy(spec, spaces));
    policies.set(text, Promise.resolve(policy));
    const components = Object.fromEntries(
      Object.entries(state).map(([name, part]) => [name, fromHost(part, engine)]),
    );
    const recorder = episodeRecorder(recorded);
    const results = await evaluateSuites({
      player: { policy, reads: Object.keys(components) },
      state: components,
      ...{ suites, episodes, seed, deterministic, vectorCount, record: recorder.record },
      ...(engine !== undefined && { engine }),
    });
    return { results, recorded: recorder.episodes };
  };
  port.on("message", (request: ThreadRequest) => {
    const { id } = request;
    evaluate(request).then(
      (done) => port.postMessage({ id, ...done } satisfies ThreadAnswer),
      (error: unknown) => port.postMessage({ id, failure: failureOf(error) } satisfies ThreadAnswer),
    );
  });
}
