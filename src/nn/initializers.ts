import type { Shape } from "../engine/index.ts";

/** Draws the first numbers of a parameter, on the host. The last axis is the outputs, the one before it the inputs. */
export type Initializer = (key: Uint32Array, shape: Shape) => Float32Array;

export const zeros: Initializer = (_key, shape) => new Float32Array(shape.reduce((a, b) => a * b, 1));
