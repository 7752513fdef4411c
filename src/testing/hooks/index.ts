/** The hook test kit: contexts, scripted runs, injected failures. Plain values to assert on with any test runner. */
export { checkIdempotent, hookContext } from "./lone.ts";
export { failing, orderOf, ran, type Simulation, simulate } from "./simulate.ts";
