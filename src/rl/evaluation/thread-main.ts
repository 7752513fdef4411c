import { node, sendError } from "../../core/index.ts";
import { storedPolicy } from "../policies/build.ts";
import type { ThreadAnswer, ThreadRequest, ThreadResult } from "./local.ts";
import { fromHost } from "./policy-steps.ts";
import { episodeRecorder } from "./publish.ts";
import { evaluateSuites } from "./suites.ts";

/** The work of a thread that evaluates: answers requests. Policies are made from their description once. */
export function runThread(): void {
  const policies = new Map<string, ReturnType<typeof storedPolicy>>();
  const evaluate = async (request: ThreadRequest): Promise<ThreadResult> => {
    const { policy: spec, observationSpace, actionSpace, state, recorded, engine } = request;
    const { suites, episodes, seed, deterministic, vectorCount } = request;
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
      suites,
      episodes,
      seed,
      deterministic,
      vectorCount,
      record: recorder.record,
      ...(engine !== undefined && { engine }),
    });
    return { results, recorded: recorder.episodes };
  };
  node.workerThreads.parentPort?.on("message", (request: ThreadRequest) => {
    const answer = (message: ThreadAnswer): void => node.workerThreads.parentPort?.postMessage(message);
    const { id } = request;
    evaluate(request).then(
      (result) => answer({ id, ...result }),
      (error: unknown) => answer({ id, error: sendError(error) }),
    );
  });
}
