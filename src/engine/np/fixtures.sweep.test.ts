import { describe, expect, it } from "vitest";
import { flatten, unflatten } from "../../core/index.ts";
import { type Dense, expectSame, parseTensor } from "../conformance/dense.test-support.ts";
import { onEngine } from "../conformance/run.test-support.ts";
import * as nn from "../nn/index.ts";
import { sweepEngines } from "../run/engines.test-support.ts";
import { isFloat } from "../trace/dtype.ts";
import { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import * as np from "./index.ts";
import fixture from "./np.fixture.json" with { type: "json" };

/** A call whose results and gradients NumPy and JAX have given: see scripts/fixtures/np.py. */
interface Case {
  readonly fn: string;
  readonly args: readonly unknown[];
  readonly results: readonly string[];
  readonly grads?: readonly string[];
  readonly tolerance?: number;
}

const cases = fixture.cases as readonly Case[];
const names = [...new Set(cases.map(({ fn }) => fn))];

type Fn = (...args: readonly unknown[]) => Value | readonly Value[];

function functionOf(name: string): Fn {
  const [room, own] = name.split(".") as [string, string];
  const found = ({ np, nn } as Readonly<Record<string, object>>)[room] as Readonly<Record<string, Fn>>;
  const fn = found[own];
  if (!fn) throw new Error(`there is no ${name}`);
  return fn;
}

const tensors = (texts: readonly string[] = []): Dense[] => texts.map((text) => parseTensor(text) as Dense);

/** The tensors among a call's arguments, and the call with values in their place. */
function taken(call: Case): {
  readonly inputs: readonly Dense[];
  readonly run: (values: readonly Value[]) => Value[];
} {
  const leaves: unknown[] = [];
  const shape = flatten([...call.args], leaves);
  const parsed = leaves.map((leaf) => (typeof leaf === "string" ? (parseTensor(leaf) ?? leaf) : leaf));
  const isTensor = (leaf: unknown): leaf is Dense => typeof leaf === "object" && leaf !== null;
  return {
    inputs: parsed.filter(isTensor),
    run: (values) => {
      const rest = [...values];
      const given = parsed.map((leaf) => (isTensor(leaf) ? rest.shift() : leaf));
      const result = functionOf(call.fn)(...(unflatten(shape, given) as unknown[]));
      return result instanceof Value ? [result] : [...result];
    },
  };
}

/** The sum of all elements, the i-th of each result times cos(i). */
function weighted(results: readonly Value[]): Value {
  return results
    .map((y) => {
      const weights = np.cos(np.reshape(np.arange(y.size, { dtype: "f32" }), y.shape));
      return np.sum(np.multiply(y, weights));
    })
    .reduce((a, b) => np.add(a, b));
}

/** Results, then gradients where the fixture has them. */
function everything(call: Case, values: readonly Value[]): readonly Value[] {
  const { run } = taken(call);
  const results = run(values);
  if (!call.grads) return results;
  const floats = values.filter((value) => isFloat(value.dtype));
  const loss = (...by: Value[]) => {
    const rest = [...by];
    return weighted(run(values.map((value) => (isFloat(value.dtype) ? (rest.shift() as Value) : value))));
  };
  return [...results, ...grad(loss, { argnums: floats.map((_, i) => i) })(...floats)];
}

async function faultsOf(calls: readonly Case[], engine: "wasm" | "xla"): Promise<readonly string[]> {
  const inputs = calls.map((call) => taken(call).inputs);
  const counts: number[] = [];
  const compute = onEngine(engine, (values) => {
    const rest = [...values];
    counts.length = 0;
    return calls.flatMap((call, i) => {
      const results = everything(call, rest.splice(0, inputs[i]?.length));
      counts.push(results.length);
      return results;
    });
  });
  let rest: Dense[];
  try {
    rest = [...(await compute(inputs.flat()))];
  } catch (error) {
    // Together they fail: find out which does, and what the others give.
    if (calls.length > 1) return (await Promise.all(calls.map((call) => faultsOf([call], engine)))).flat();
    return [`${JSON.stringify(calls[0]?.args)}: ${error instanceof Error ? error.message : String(error)}`];
  }
  return calls.flatMap((call, i) => {
    const results = rest.splice(0, counts[i]);
    const { tolerance = 1e-5 } = call;
    const expected = [...tensors(call.results), ...tensors(call.grads)];
    try {
      expect(results.length).toBe(expected.length);
      results.forEach((result, k) => {
        const isGradient = k >= call.results.length;
        const what = `${JSON.stringify(call.args)}: ${isGradient ? `gradient ${k - call.results.length}` : `result ${k}`}`;
        expectSame(what, result, expected[k] as Dense, {
          tolerance: isGradient ? 5 * tolerance : tolerance,
          floor: 0.2,
        });
      });
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
}

describe.each(sweepEngines())("NumPy's and JAX's numbers on %s", (engine) => {
  it.each(names)("%s", async (name) => {
    const faults = await faultsOf(
      cases.filter(({ fn }) => fn === name),
      engine,
    );
    expect(faults, faults.join("\n")).toEqual([]);
  });
});
