import { pageFigures } from "./dashboard/page.ts";
import { slowdownFigure } from "./dashboard/slowdown.ts";
import type { Figure } from "./harness/figure.ts";

/** The dashboard in a browser, and what training notices of it. */
export const figures: readonly Figure[] = [...pageFigures, slowdownFigure];
