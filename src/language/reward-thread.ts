import { EspalierError, node, type SentError, sendError, shown } from "../core/index.ts";
import type { RewardModule, TextSample } from "./rewards.ts";

/** The function of a thread: what the module of this URL exports under this name. */
export type RewardThreadData = Pick<RewardModule, "module" | "name">;

/** The first answer says that the function is there, and each later one is of a sample. */
export type RewardThreadAnswer = { readonly value?: number } | { readonly error: SentError };

/** The work of a thread of rewards.ts: imports the function, then judges samples one after the other. */
export async function runThread(data: RewardThreadData): Promise<void> {
  const port = node.workerThreads.parentPort;
  if (!port) return;
  const answer = (message: RewardThreadAnswer): void => port.postMessage(message);
  try {
    const reward = await rewardOf(data);
    port.on("message", async (sample: TextSample) => {
      try {
        answer({ value: checkedReward(await reward(sample)) });
      } catch (error) {
        answer({ error: sendError(error) });
      }
    });
    answer({});
  } catch (error) {
    answer({ error: sendError(error) });
  }
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
