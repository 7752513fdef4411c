/**
 * A shared value with a name: what one hook provides and others read. Hooks know slots, never each other.
 *
 * @example
 * ```ts
 * export const scores = slot<EvaluationScores>("evaluation.scores");
 * ```
 */
export interface Slot<T = unknown> {
  readonly name: string;
  /** Whether its newest value belongs to the state of the run. Such values are state trees. */
  readonly saved: boolean;
  /** What of a value is saved, where not all of it is: no two runs share seconds, or paths. */
  save?(value: T): T;
  /** What to do where two hooks provide it. */
  readonly conflict?: string | undefined;
  /** Never set: carries the type. */
  readonly type?: T | undefined;
}

/** Options of {@link slot}. */
export interface SlotOptions<T = unknown> {
  /** Default true. False for what cannot be saved or makes no sense after a resume. */
  readonly saved?: boolean;
  /** What of a value is saved. Default all of it. */
  readonly save?: (value: T) => T;
  /** What to do where two hooks provide it: the fix that the error names. */
  readonly conflict?: string;
}

/**
 * Makes a slot: a value that one hook provides and others read, by its name.
 *
 * @example
 * ```ts
 * const scores = slot<EvaluationScores>("evaluation.scores");
 * const hook = { name: "announce", wants: [scores], onEpochEnd: ({ slots }) => console.log(slots.get(scores)) };
 * ```
 */
export function slot<T>(name: string, options: SlotOptions<T> = {}): Slot<T> {
  const { saved = true, save, conflict } = options;
  return { name, saved, ...(save && { save }), ...(conflict && { conflict }) };
}

/** A hook's way to the slots it declared. */
export interface SlotAccess {
  /** The newest value; undefined until somebody provides one. Needs the slot in `needs`, `wants` or `provides`. */
  get<T>(slot: Slot<T>): T | undefined;
  /** The value as it was before this event began. Needs no declaration and makes no order. */
  previous<T>(slot: Slot<T>): T | undefined;
  /** Needs the slot in `provides`. */
  set<T>(slot: Slot<T>, value: NoInfer<T>): void;
  /** Whether a registered hook reads it, by `needs` or `wants`: a provider for whom it is costly may leave it empty. */
  isWanted(slot: Slot): boolean;
}
