import { evalShape, np, spec, type Value } from "../../engine/index.ts";
import type { TensorState } from "../../learner/index.ts";
import type { Named, Objective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";
import { choices, flatSize } from "../spaces/index.ts";

export type PolicyObjective = Objective<Experience, PolicyOutputs>;

/** Shapes of one row's fields, [] for a number. */
export type FieldShapes = Readonly<Record<string, readonly number[]>>;

/**
 * Fields side by side in rows of f32: a rollout is collected, kept and shuffled as one array, however many fields it
 * has.
 */
export class Columns {
  readonly names: readonly string[];
  readonly width: number;
  readonly #fields: Readonly<Record<string, { readonly from: number; readonly shape: readonly number[] }>>;

  constructor(shapes: FieldShapes) {
    let width = 0;
    const fields: Record<string, { from: number; shape: readonly number[] }> = {};
    for (const [name, shape] of Object.entries(shapes)) {
      fields[name] = { from: width, shape };
      width += sizeOf(shape);
    }
    this.names = Object.keys(shapes);
    this.width = width;
    this.#fields = fields;
  }

  /** The first column of a field. */
  at(name: string): number {
    return this.#field(name).from;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  /** On the host: copies a field of `rows` rows into those of a table from row `first` on. */
  write(name: string, values: ArrayLike<number>, table: Float32Array, first: number, rows: number): void {
    const { from, shape } = this.#field(name);
    const size = sizeOf(shape);
    for (let row = 0, at = first * this.width + from; row < rows; row++, at += this.width)
      for (let i = 0; i < size; i++) table[at + i] = values[row * size + i] as number;
  }

  /** Inside a program: rows [..., width] of fields [..., ...shape]. Booleans become 0 and 1. */
  pack(fields: Readonly<Record<string, Value>>): Value {
    const parts = this.names.map((name) => {
      const { shape } = this.#field(name);
      const value = (fields[name] as Value).astype("f32");
      const axes = value.shape.slice(0, value.ndim - shape.length);
      return np.reshape(value, [...axes, sizeOf(shape)]);
    });
    return np.concatenate(parts, { axis: -1 });
  }

  /** Inside a program: a field of rows [..., width]. */
  field(rows: Value, name: string): Value {
    const { from, shape } = this.#field(name);
    const axes = rows.shape.slice(0, -1);
    const part = np.slice(rows, "...", [from, from + sizeOf(shape)]);
    return np.reshape(part, [...axes, ...shape]);
  }

  /** Inside a program: all fields of rows. */
  fields(rows: Value): Readonly<Record<string, Value>> {
    return Object.fromEntries(this.names.map((name) => [name, this.field(rows, name)]));
  }

  #field(name: string) {
    const field = this.#fields[name];
    if (field === undefined)
      throw new RangeError(`there is no column "${name}" among ${this.names.join(", ")}`);
    return field;
  }
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export type Layout = ReturnType<typeof layoutOf>;

export interface LayoutOptions {
  readonly policy: Policy;
  readonly objective: PolicyObjective;
  readonly params: TensorState<Params>;
  readonly rows: number;
  /** The environment has action masks. */
  readonly masks: boolean;
  /** Episodes are counted by lesson on the device. */
  readonly lessons: boolean;
  /** Advantages are recomputed in V-trace form. */
  readonly vtrace: boolean;
  readonly prioritized: boolean;
}

/** The columns of a rollout. */
export function layoutOf(options: LayoutOptions) {
  const { policy, masks } = options;
  const { distribution } = policy;
  const added = addedShapes(options);
  const seen: FieldShapes = {
    observation: [flatSize(policy.observationSpace)],
    ...(masks && { mask: [choices(policy.actionSpace)] }),
    reset: [],
  };
  const acted: FieldShapes = { action: [distribution.actions], parameters: [distribution.parameters] };
  return {
    /** Of one step of one row, as it is collected. */
    collected: new Columns({
      ...seen,
      ...acted,
      ...(policy.recurrent && { value: [] }),
      ...added,
      reward: [],
      terminated: [],
      truncated: [],
      valid: [],
      ended: [],
      endedReturn: [],
      endedLength: [],
      ...(options.lessons && { lesson: [] }),
    }),
    /** Of one step of one row, as it is learned from. */
    learned: new Columns({
      ...seen,
      ...acted,
      logProb: [],
      value: [],
      ...added,
      advantage: [],
      return: [],
      valid: [],
      ...(options.vtrace && { reward: [], terminated: [], ends: [], nextValue: [] }),
      ...(options.prioritized && { importance: [] }),
    }),
    /** Fields that losses add during the rollout. */
    added,
  };
}

/** The shapes of fields that losses add, without the axis of rows. */
function addedShapes({ policy, objective, params, rows, masks }: LayoutOptions): FieldShapes {
  const find = (p: Params, observation: Value, action: Value, mask: Value | null): Named => {
    const given = policy.unroll(p, {
      observation: observation.reshape([rows, 1, -1]),
      state: policy.initialState(rows),
      reset: observation.sum({ axis: 1 }).greater(0).reshape([rows, 1]),
      ...(mask && { mask: mask.reshape([rows, 1, -1]) }),
    });
    const parameters = given.parameters.reshape([rows, -1]);
    const value = given.value.reshape([rows]);
    const outputs: PolicyOutputs = { parameters, value, logProb: value, entropy: value };
    const batch = experienceOf({ observation, action, ...(mask && { mask }) });
    return objective.rollout(objective.names, { params: p, batch, outputs, weights: onesFor(objective) });
  };
  const shapes = evalShape(
    find,
    params.specs,
    spec([rows, flatSize(policy.observationSpace)]),
    spec([rows, policy.distribution.actions]),
    masks ? spec([rows, choices(policy.actionSpace)], "bool") : null,
  );
  return Object.fromEntries(
    Object.entries(shapes).map(([name, field]) => [
      name,
      (field as { readonly shape: readonly number[] }).shape.slice(1),
    ]),
  );
}

/** A value for each ramp of an objective, to trace it with. */
export const onesFor = ({ ramps }: PolicyObjective): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.keys(ramps).map((name) => [name, 1]));

/**
 * Rows as losses see them. `memory` is the recurrent state before each segment, which {@link memoryIn} reads; losses
 * see values only, so the type of a batch does not have it. During a rollout a batch has the fields known so far.
 */
export const experienceOf = (fields: Readonly<Record<string, Value>>, memory?: Named): Experience =>
  ({ ...fields, ...(memory && { memory }) }) as unknown as Experience;

/** The recurrent state before each segment of a batch. */
export const memoryIn = (batch: Experience): Named => batch.memory as unknown as Named;
