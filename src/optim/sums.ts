import { np, type Value } from "../engine/index.ts";

// Over one long axis XLA's CPU back end sums about twice as fast as over several (measured at 512 x 512).

export const sumOfSquares = (x: Value): Value => np.sum(x.ravel().square());

/** The root of the mean square. */
export const rms = (x: Value): Value => sumOfSquares(x).div(Math.max(x.size, 1)).sqrt();

export const allFinite = (x: Value): Value => np.all(np.isFinite(x.ravel()));
