import type { ConformanceCase } from "../../../testing/conformance.ts";
import type { EngineName, Value } from "../../index.ts";
import type { Dense } from "../dense.test-support.ts";
import { onEngine } from "../run.test-support.ts";
import { branchChecks, branchNestingChecks } from "./branches.test-support.ts";
import { callChecks, chainChecks } from "./calls.test-support.ts";
import { scanChecks, scanNestingChecks, whileChecks } from "./loops.test-support.ts";
import { scanGradientChecks } from "./scan-gradient.test-support.ts";

/** Loops, branches and functions with derivatives of their own. */
export const controlCases = (engine: EngineName): readonly ConformanceCase[] => [
  ...casesOf("scan", engine, { ...scanChecks, ...scanNestingChecks }),
  ...casesOf("scan gradient", engine, scanGradientChecks),
  ...casesOf("whileLoop", engine, whileChecks),
  ...casesOf("branches", engine, { ...branchChecks, ...branchNestingChecks }),
  ...casesOf("calls", engine, callChecks),
  ...casesOf("chains", engine, chainChecks),
];

/** A case about a function of traced values on one engine. */
interface Setting {
  readonly engine: EngineName;
  /** Compiles a function and runs it. */
  readonly run: (
    fn: (...inputs: Value[]) => readonly Value[],
    ...inputs: readonly Dense[]
  ) => Promise<readonly Dense[]>;
  /** Compiles a function to run it more than once. */
  readonly compiled: (
    fn: (...inputs: Value[]) => readonly Value[],
  ) => (...inputs: readonly Dense[]) => Promise<readonly Dense[]>;
}

export type Check = (setting: Setting) => Promise<void>;

/** Checks as cases for one engine. */
function casesOf(
  subject: string,
  engine: EngineName,
  checks: Readonly<Record<string, Check>>,
): readonly ConformanceCase[] {
  const compiled: Setting["compiled"] = (fn) => {
    const run = onEngine(engine, (inputs) => fn(...inputs));
    return (...inputs) => run(inputs);
  };
  const setting: Setting = { engine, compiled, run: (fn, ...inputs) => compiled(fn)(...inputs) };
  return Object.entries(checks).map(([name, check]) => ({
    name: `${subject}: ${name}`,
    run: () => check(setting),
  }));
}
