import { answerCalls } from "../../core/index.ts";
import type { EvaluationAnswer, EvaluationRequest } from "./local.ts";
import { knownPolicy, type PlayerState } from "./player.ts";
import { fromHost } from "./policy-steps.ts";
import { episodeRecorder } from "./publish.ts";
import { evaluateSuites } from "./suites.ts";

/** The work of a thread that evaluates: answers requests. */
export function runThread(): void {
  answerCalls(async (request: EvaluationRequest): Promise<EvaluationAnswer> => {
    const { policy: spec, observationSpace, actionSpace, state, recorded, ...options } = request;
    const policy = await knownPolicy(spec, { observationSpace, actionSpace });
    const components = fromHost(state, options.engine) as PlayerState;
    const recorder = episodeRecorder(recorded);
    const results = await evaluateSuites({
      ...options,
      player: { policy, reads: Object.keys(components) },
      state: components,
      record: recorder.record,
    });
    return { results, recorded: recorder.episodes };
  });
}
