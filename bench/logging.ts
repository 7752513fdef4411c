import type { Figure } from "./harness/figure.ts";
import { tidy } from "./harness/scratch.ts";
import { call } from "./logging/call.ts";
import { memory } from "./logging/memory.ts";
import { throughput } from "./logging/throughput.ts";

tidy();

/** What logging costs training, how fast values reach all sinks, and whether memory stays bounded. */
export const figures: readonly Figure[] = [...call, ...throughput, ...memory];
