/** What actions or observations are. Plain data: it can be sent to threads and filed. */
export type Space = Discrete | MultiDiscrete | Box | Dict;

/** One of `n` choices, 0 to n - 1. */
export interface Discrete {
  readonly kind: "discrete";
  readonly n: number;
}

/** Several choices at once: the i-th is one of `choices[i]`. */
export interface MultiDiscrete {
  readonly kind: "multiDiscrete";
  readonly choices: readonly number[];
}

/** Numbers of a shape between bounds, each one number for all or one an element; infinite where there is none. */
export interface Box {
  readonly kind: "box";
  readonly shape: readonly number[];
  readonly low: number | readonly number[];
  readonly high: number | readonly number[];
}

/** Spaces by name. */
export interface Dict {
  readonly kind: "dict";
  readonly spaces: Readonly<Record<string, Space>>;
}

/** What lies in a space: a whole number, whole numbers, numbers, or such things by name. */
export type SpaceValue =
  | number
  | Float32Array
  | Int32Array
  | readonly number[]
  | { readonly [name: string]: SpaceValue };
