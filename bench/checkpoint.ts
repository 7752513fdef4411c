import { reading } from "./checkpoint/loading.ts";
import { standstill } from "./checkpoint/standstill.ts";
import { writing } from "./checkpoint/writing.ts";
import type { Figure } from "./harness/figure.ts";
import { tidy } from "./harness/scratch.ts";

tidy();

/**
 * What training notices of a save, and how fast checkpoints are written and read. In this order: the gigabytes that
 * peers hold in memory would have the system look for pages while training waits for some.
 */
export const figures: readonly Figure[] = [...standstill, ...writing, ...reading];
