/** Options of {@link gridWorld} and {@link compiledGridWorld}. */
export interface GridWorldOptions {
  /** How many act at once; each has a goal of its own, and all must reach theirs. Default 1. */
  readonly agents?: number;
  /** Maps by name, from easy to hard: see `gridLessons`. Default those. */
  readonly lessons?: Readonly<Record<string, readonly string[]>>;
  /** After so many steps an episode is truncated. Default 100. */
  readonly timeLimit?: number;
  /** Cells an agent sees in each direction. Default 2. */
  readonly view?: number;
  /** Whether it tells which moves lead into walls, as an action mask. Default false. */
  readonly masks?: boolean;
  readonly name?: string;
}
