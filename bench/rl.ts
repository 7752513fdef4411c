import type { Figure } from "./harness/figure.ts";
import { classics } from "./rl/classics.ts";
import { demo } from "./rl/demo.ts";
import { grid } from "./rl/grid.ts";
import { learning } from "./rl/learning.ts";
import { rates } from "./rl/rates.ts";

/** How fast reinforcement learning is, and whether it learns what its peers learn. */
export const figures: readonly Figure[] = [...rates, ...learning, ...classics, ...grid, ...demo];
