import { EspalierError } from "../../core/index.ts";
import type { Environment } from "../environments/environment.ts";
import { actionSize, choices, flatSize, type Space } from "../spaces/space.ts";

/** What all environments of a vector have in common. Plain data. */
export interface Description {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly agents: number;
  readonly lessons: readonly string[] | undefined;
  /** Whether they say which actions are allowed. */
  readonly masked: boolean;
}

/** Numbers in the rows of so many environments. */
export interface Sizes {
  readonly count: number;
  readonly agents: number;
  readonly observation: number;
  readonly action: number;
  /** 0 without action masks. */
  readonly choices: number;
}

export const sizesOf = (description: Description, count: number): Sizes => ({
  count,
  agents: description.agents,
  observation: flatSize(description.observationSpace),
  action: actionSize(description.actionSpace),
  choices: description.masked ? choices(description.actionSpace) : 0,
});

/** What an environment says about itself. */
export const describeEnvironment = (environment: Environment, masked: boolean): Description => ({
  name: environment.name,
  observationSpace: environment.observationSpace,
  actionSpace: environment.actionSpace,
  agents: environment.agents ?? 1,
  lessons: environment.lessons,
  masked,
});

/** Refuses environments that are not alike. */
export function checkAlike(first: Description, other: Description, index: number): void {
  const differs = (["observationSpace", "actionSpace", "agents", "lessons"] as const).find(
    (key) => plain(first[key]) !== plain(other[key]),
  );
  if (differs === undefined) return;
  throw new EspalierError(
    "ENVIRONMENT_INVALID",
    `the ${differs} of ${other.name} (environment ${index} of its vector) is not that of environment 0: ` +
      `${plain(other[differs])} and ${plain(first[differs])}`,
    { fix: "let make() give environments of the same spaces, agents and lessons" },
  );
}

/** JSON has no infinities, and bounds have. */
const plain = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === "number" ? String(part) : part)) ?? "none";
