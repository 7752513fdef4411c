import { evalShape, type Shape, spec, type Value } from "../../engine/index.ts";
import type { Named, Objective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";
import { choices, flatSize } from "../spaces/index.ts";
import { Columns, type FieldShapes } from "./columns.ts";

export type PolicyObjective = Objective<Experience, PolicyOutputs>;

/** How many of what a rollout has. */
export interface Sizes {
  /** Steps of a rollout, and rows that step together. */
  readonly steps: number;
  readonly rows: number;
  /** Steps that stay together when experience is shuffled: 1 where the policy does not remember. */
  readonly segment: number;
  /** Segments of a rollout, and of a minibatch. */
  readonly segments: number;
  readonly batch: number;
  readonly minibatches: number;
}

/** What one step of one row leaves behind, and what of it is learned from. */
export interface Layout {
  readonly gathered: Columns;
  readonly learned: Columns;
  /** Fields that losses add while experience is gathered. */
  readonly added: FieldShapes;
}

export interface LayoutOptions {
  /** Whether actions are masked, episodes have lessons, advantages are found again, segments drawn by priority. */
  readonly masks: boolean;
  readonly lessons: boolean;
  readonly correct: boolean;
  readonly prioritized: boolean;
}

/** Which columns there are. */
export function layoutOf(
  policy: Policy,
  objective: PolicyObjective,
  params: Params<unknown>,
  rows: number,
  { masks, correct, lessons, prioritized }: LayoutOptions,
): Layout {
  const { distribution } = policy;
  const size = flatSize(policy.observationSpace);
  const mask = masks ? { mask: [choices(policy.actionSpace)] } : {};
  const added = addedShapes(policy, objective, params, rows, masks);
  const acted: FieldShapes = { action: [distribution.actions], parameters: [distribution.parameters] };
  const thought: FieldShapes = { logProb: [], value: [] };
  const seen: FieldShapes = { observation: [size], ...mask, reset: [] };
  const outcome: FieldShapes = { reward: [], terminated: [], truncated: [], valid: [] };
  const ended: FieldShapes = { ended: [], endedReturn: [], endedLength: [], ...(lessons && { lesson: [] }) };
  return {
    gathered: new Columns({
      ...{ ...seen, ...acted, ...(policy.recurrent && { value: [] }), ...added },
      ...{ ...outcome, ...ended },
    }),
    learned: new Columns({
      ...{ ...seen, ...acted, ...thought, ...added },
      ...{ advantage: [], return: [], valid: [] },
      ...(correct && { reward: [], terminated: [], ends: [], nextValue: [] }),
      ...(prioritized && { importance: [] }),
    }),
    added,
  };
}

/** The shapes of fields that losses add, without the rows' own axis. */
function addedShapes(
  policy: Policy,
  objective: PolicyObjective,
  params: Params<unknown>,
  rows: number,
  masks: boolean,
): FieldShapes {
  const find = (p: Params, observation: Value, action: Value, mask: Value | null): Named => {
    const seen = { observation, action, ...(mask && { mask }) } as unknown as Experience;
    const given = policy.unroll(p, {
      observation: observation.reshape([rows, 1, -1]),
      state: policy.initialState(rows),
      reset: observation.sum({ axis: 1 }).greater(0).reshape([rows, 1]),
      ...(mask && { mask: mask.reshape([rows, 1, -1]) }),
    });
    const parameters = given.parameters.reshape([rows, -1]);
    const value = given.value.reshape([rows]);
    const outputs: PolicyOutputs = { parameters, value, logProb: value, entropy: value };
    const weights = Object.fromEntries(Object.keys(objective.ramps).map((name) => [name, 1]));
    return objective.rollout(objective.names, { params: p, batch: seen, outputs, weights });
  };
  const mask = masks ? spec([rows, choices(policy.actionSpace)], "bool") : null;
  const shapes = evalShape(
    find as never,
    params,
    spec([rows, flatSize(policy.observationSpace)]),
    spec([rows, policy.distribution.actions]),
    mask,
  ) as Readonly<Record<string, { readonly shape: Shape }>>;
  return Object.fromEntries(Object.entries(shapes).map(([name, { shape }]) => [name, shape.slice(1)]));
}
