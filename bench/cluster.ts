import { scalingFigures } from "./cluster/scaling.ts";
import { transportFigures } from "./cluster/transport.ts";
import type { Figure } from "./harness/figure.ts";

/** Machines that work together: a real NATS server, network namespaces as machines. */
export const figures: readonly Figure[] = [...transportFigures, ...scalingFigures];
