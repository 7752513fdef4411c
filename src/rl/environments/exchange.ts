import { EspalierError, shown } from "../../core/index.ts";
import { choices } from "../spaces/sizes.ts";
import type { Space, SpaceValue } from "../spaces/space.ts";
import { type Fault, takeValue } from "./take-value.ts";

type Values = SpaceValue | readonly SpaceValue[];
type Reward = number | readonly number[];

/** What passes between a definition and those who act, checked and copied. */
export interface Exchange {
  act(action: Values): Values;
  see(observed: Values): Values;
  pay(reward: Reward): Reward;
  mask(allowed: ArrayLike<number | boolean>): Uint8Array;
}

interface Sides {
  readonly name: string;
  readonly observation: Space;
  readonly action: Space;
  readonly agents?: number | undefined;
}

/**
 * With `agents` a definition deals in lists. So do those who act, unless there is only one agent.
 */
export function exchangeOf(sides: Sides): Exchange {
  const one = forOne(sides);
  const { agents, name } = sides;
  if (agents === undefined) return one;
  const each = <T, R>(
    what: string,
    list: T | readonly T[],
    code: string,
    take: (one: T) => R,
  ): readonly R[] => {
    if (Array.isArray(list) && list.length === agents) return (list as readonly T[]).map(take);
    throw new EspalierError(code, `${name}: ${shown(list)} is no list of ${agents} ${what}`, {
      fix: `give one for each of its ${agents} agents`,
    });
  };
  const see = (seen: Values) =>
    each("observations", seen, "ENVIRONMENT_INVALID", one.see) as readonly SpaceValue[];
  const pay = (paid: Reward) => each("rewards", paid, "ENVIRONMENT_INVALID", one.pay) as readonly number[];
  const act = (action: Values) => each("actions", action, "ACTION_INVALID", one.act) as readonly SpaceValue[];
  if (agents > 1) return { act, see, pay, mask: one.mask };
  return {
    act: (action) => act([action as SpaceValue]),
    see: (seen) => see(seen)[0] as SpaceValue,
    pay: (paid) => pay(paid)[0] as number,
    mask: one.mask,
  };
}

function forOne({ name, observation, action, agents = 1 }: Sides): Exchange {
  const seen: Fault = (why) =>
    new EspalierError("ENVIRONMENT_INVALID", `${name}: an observation is not of its space: ${why}`, {
      fix: "let observe give what the observation space describes, or describe what it gives",
    });
  const acted: Fault = (why) =>
    new EspalierError("ACTION_INVALID", `${name}: an action is not of its space: ${why}`, {
      fix: "give an action that the action space describes",
    });
  return {
    act: (value) => takeValue(action, value as SpaceValue, acted),
    see: (value) => takeValue(observation, value as SpaceValue, seen),
    pay: (reward) => {
      if (typeof reward === "number" && !Number.isNaN(reward)) return reward;
      throw new EspalierError("ENVIRONMENT_INVALID", `${name}: a reward is ${shown(reward)}`, {
        fix: "let step give a number as reward",
      });
    },
    mask: (allowed) => {
      const mask = Uint8Array.from(allowed, (one) => (one ? 1 : 0));
      if (mask.length === agents * choices(action)) return mask;
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${name}: the action mask has ${mask.length} entries, where ${agents * choices(action)} are expected`,
        { fix: "give one entry for every choice, of all choices in a row" },
      );
    },
  };
}
