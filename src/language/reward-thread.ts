import { answerCalls, EspalierError, shown } from "../core/index.ts";
import type { RewardModule, TextSample } from "./rewards.ts";

/** The function of a thread: what the module of this URL exports under this name. */
export type RewardThreadData = Pick<RewardModule, "module" | "name">;

/** The work of a thread of rewards.ts: judges samples. A call without one only imports the function. */
export function runThread(data: RewardThreadData): void {
  let found: ReturnType<typeof rewardOf> | undefined;
  answerCalls(async (sample: TextSample | undefined) => {
    found ??= rewardOf(data);
    const reward = await found;
    return sample && checkedReward(await reward(sample));
  });
}

async function rewardOf({ module, name }: RewardThreadData): Promise<(sample: TextSample) => unknown> {
  const exports = (await import(/* @vite-ignore */ module)) as Readonly<Record<string, unknown>>;
  const found = exports[name];
  if (typeof found === "function") return found as (sample: TextSample) => unknown;
  throw new Error(`it exports no function "${name}"`);
}

/** A reward as it is trained on, with 32 bits. */
export function checkedReward(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(Math.fround(value))) return value;
  throw new EspalierError("REWARD_INVALID", `gave ${shown(value)}, which is no finite number`);
}
