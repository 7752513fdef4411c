import { reading } from "./checkpoint/loading.ts";
import { standstill } from "./checkpoint/standstill.ts";
import { writing } from "./checkpoint/writing.ts";
import type { Figure } from "./harness/figure.ts";
import { tidy } from "./harness/scratch.ts";

tidy();

/** How fast checkpoints are written and read, and what training notices of it. */
export const figures: readonly Figure[] = [...writing, ...reading, ...standstill];
