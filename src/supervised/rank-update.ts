import { treeMap } from "../core/index.ts";
import { type Feed, type Fetch, np, type Value } from "../engine/index.ts";
import { compileRankUpdate, type RankSum } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import {
  applyUpdate,
  type ProgramInputs,
  type RankPart,
  type TrainProgramOptions,
  updateGradients,
  updateInputs,
} from "./update.ts";

/**
 * The rows of an update that a rank has. An update is cut into micro-batches of one size, `batchSize` or, where that
 * leaves ranks without work, as many rows as make one for each; ranks take them in order. So `ranks` ranks compute what
 * one process computes with `accumulate: ranks`.
 */
export function rankPart(
  { rank, ranks }: Pick<RankSum, "rank" | "ranks">,
  { batchSize, full, rows }: { readonly batchSize: number; readonly full: number; readonly rows: number },
): RankPart {
  const size = Math.min(batchSize, Math.ceil(full / ranks));
  const each = size * Math.ceil(Math.ceil(rows / size) / ranks);
  const from = Math.min(rows, rank * each);
  return { size, from, rows: Math.min(rows - from, each) };
}

/** The training program of one rank of several: a call is one update. `full` is the number of rows of a full update. */
export function rankProgram(options: TrainProgramOptions, ranks: RankSum, full: number) {
  const { learner, objective, batchSize, batches } = options;
  const { size: rows } = batches;
  const sharesOf = (of: Pick<RankSum, "rank" | "ranks">) => {
    const part = rankPart(of, { batchSize, full, rows });
    const gradients = (params: Params, { data, order, at, key }: ProgramInputs, ramp: Ramps) => {
      const [start, number] = [np.take(at, 1), np.take(at, 2)];
      const inputs = updateInputs(options, params, { data, order, ramp, key, start, number });
      const [values, grads, { metrics, moments }] = updateGradients(options, inputs, part);
      return {
        values,
        grads,
        metrics: objective.setMetrics.sums(metrics),
        // Running moments become their mean by rows.
        moments: moments.map((value) => value.mul(part.rows / rows)),
      };
    };
    return { part, gradients };
  };
  const { part, gradients } = sharesOf(ranks);
  const update = compileRankUpdate(learner, ranks, {
    name: "the training program",
    gradients,
    ...(part.rows === 0 && { shapes: sharesOf({ ...ranks, rank: 0 }).gradients }),
    apply: (now, { values, grads, metrics, moments }, ramp, { at }: { readonly at: Value }) => {
      const [next, result] = applyUpdate(options, now, ramp, np.take(at, 2), [
        values,
        grads,
        { metrics, moments },
      ]);
      return [next, treeMap((value: Value) => np.expandDims(value, 0), result)] as const;
    },
  });
  const program = (inputs: Feed<ProgramInputs>): Promise<Fetch<UpdateResult>> =>
    update(inputs, { at: inputs.at });
  return { program, numbers: learner.rampNumbers(1) };
}

type Ramps = Readonly<Record<string, Value>>;
type UpdateResult = ReturnType<typeof applyUpdate>[1];
