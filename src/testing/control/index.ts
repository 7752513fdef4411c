import type { EngineName } from "../../engine/index.ts";
import type { ConformanceCase } from "../conformance.ts";
import { branchChecks } from "./branches.ts";
import { branchNestingChecks } from "./branches-nesting.ts";
import { callChecks } from "./calls.ts";
import { chainChecks } from "./chains.ts";
import { scanChecks } from "./scan.ts";
import { scanGradientChecks } from "./scan-gradient.ts";
import { scanNestingChecks } from "./scan-nesting.ts";
import { casesOf } from "./setting.ts";
import { whileChecks } from "./while.ts";

/** Loops, branches and functions with derivatives of their own. */
export const controlCases = (engine: EngineName): readonly ConformanceCase[] => [
  ...casesOf("scan", engine, { ...scanChecks, ...scanNestingChecks }),
  ...casesOf("scan gradient", engine, scanGradientChecks),
  ...casesOf("whileLoop", engine, whileChecks),
  ...casesOf("branches", engine, { ...branchChecks, ...branchNestingChecks }),
  ...casesOf("calls", engine, callChecks),
  ...casesOf("chains", engine, chainChecks),
];
