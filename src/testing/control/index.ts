import type { EngineName } from "../../engine/index.ts";
import type { ConformanceCase } from "../conformance.ts";

/** Loops, branches and functions with derivatives of their own. */
export const controlCases = (_engine: EngineName): readonly ConformanceCase[] => [];
