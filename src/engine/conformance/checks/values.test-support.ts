import {
  type DType,
  type EngineName,
  engine as engineOf,
  isFloat,
  isLacking,
  nn,
  np,
  opTable,
  random,
  scan,
  type Value,
} from "../../index.ts";
import {
  type Dense,
  dense,
  expectAllSame,
  failure,
  stacked,
  typeText,
  unstacked,
  usualTolerance,
} from "../dense.test-support.ts";
import { references } from "../reference/index.test-support.ts";
import { add, applyRow, convert, like, onEngine } from "../run.test-support.ts";
import { type Sample, type SampleMaker, sampler } from "../sampler.test-support.ts";
import { elsewhere, samples } from "../samples/index.test-support.ts";

/** The results of a row for a sample, by its reference. */
export function expectedOf(row: string, sample: Sample): readonly Dense[] {
  const reference = references.get(row);
  if (!reference)
    throw failure(`${row} has no reference: say what it gives in plain TypeScript, in testing/reference/`);
  return reference(sample.inputs, sample.params as never);
}

/** Floating-point types an engine has beside f32. */
const furtherFloats = (engine: EngineName): readonly DType[] =>
  (["f64", "f16", "bf16"] as const).filter((dtype) => engineOf(engine).lacks(dtype) === undefined);

const hasFloats = ({ inputs }: Sample): boolean => inputs.some((input) => isFloat(input.dtype));

/** Samples in the floating-point types that the engine has beside f32, but for edges. */
const furtherSamples = (make: SampleMaker, engine: EngineName, seed: number): readonly Sample[] =>
  furtherFloats(engine).flatMap((dtype) =>
    make(sampler(seed), dtype).filter((sample) => sample.for !== "values" && hasFloats(sample)),
  );

/** A row's values: against its reference, and against another engine. */
export async function checkValues(
  row: string,
  make: SampleMaker,
  engine: EngineName,
  other: EngineName | undefined,
  seed: number,
): Promise<void> {
  const shared = make(sampler(seed), "f32");
  const all = [...shared, ...furtherSamples(make, engine, seed)];
  const results = await apply(engine, row, all);
  all.forEach((sample, i) => {
    const name = nameOf(row, sample);
    expectAllSame(
      `${name} on ${engine}`,
      results[i] as readonly Dense[],
      onward(expectedOf(row, sample)),
      closeness(sample),
    );
  });
  if (!other) return;
  const theirs = await apply(other, row, shared);
  shared.forEach((sample, i) => {
    const name = `${nameOf(row, sample)} on ${engine}, compared with ${other}`;
    expectAllSame(name, results[i] as readonly Dense[], theirs[i] as readonly Dense[], closeness(sample));
  });
}

const apply = (engine: EngineName, row: string, samples: readonly Sample[]) =>
  inOneProgram(engine, row, samples, withOnward(row))(samples.map((sample) => sample.inputs));

/** Reading cuts a number to its type, which hides one that is held in a wider type: whole numbers are used once more. */
const withOnward =
  (row: string): FromSample =>
  (sample, inputs) => {
    const results = applyRow(row, inputs, sample.params);
    const whole = results.filter(({ dtype }) => !isFloat(dtype));
    return [
      ...results,
      ...whole.map((result) =>
        result.dtype === "i32" ? add(result, like(result, 0)) : convert(result, "i32"),
      ),
    ];
  };

const onward = (results: readonly Dense[]): readonly Dense[] => [
  ...results,
  ...results.filter(({ dtype }) => !isFloat(dtype)).map(({ shape, data }) => dense("i32", shape, data)),
];

/** The closeness that results of a sample must have. */
export function closeness(sample: Sample): { readonly tolerance?: number; readonly floor?: number } {
  const float = sample.inputs.find((input) => isFloat(input.dtype))?.dtype ?? "f32";
  return {
    tolerance: usualTolerance(float) * (sample.slack ?? 1),
    ...(sample.floor === undefined ? {} : { floor: sample.floor }),
  };
}

const steps = 2;

/** A row in the body of a loop, which engines may run quite differently: each step against its reference. */
export async function checkInLoop(
  row: string,
  make: SampleMaker,
  engine: EngineName,
  seed: number,
): Promise<void> {
  const samples = [...make(sampler(seed), "f32"), ...furtherSamples(make, engine, seed)];
  const given = samples.map((sample) => sample.inputs.map((input) => stacked([input, input])));
  const inside = samples.map((sample, i): Sample => ({ ...sample, inputs: given[i] as readonly Dense[] }));
  const results = await inOneProgram(engine, row, inside, looped(row))(given);
  samples.forEach((sample, i) => {
    const expected = expectedOf(row, sample);
    const all = (results[i] as readonly Dense[]).map((stack) => unstacked(stack));
    for (let step = 0; step < steps; step++)
      expectAllSame(
        `${nameOf(row, sample)} in step ${step} of a loop on ${engine}`,
        all.map((each) => each[step] as Dense),
        expected,
        closeness(sample),
      );
  });
}

const looped =
  (row: string): FromSample =>
  (sample, inputs) => {
    const body = (_: null, xs: readonly Value[]) => [null, applyRow(row, xs ?? [], sample.params)] as const;
    const [, ys] = inputs.length > 0 ? scan(body, null, inputs) : scan(body, null, [], { length: steps });
    return ys as readonly Value[];
  };

const columns = ["derivative", "batch", "stablehlo", "wasm"] as const;

/** The functions that users call. Named here so that a bundler keeps all rows, as each comes into the table with what uses it. */
const doors = { np, nn, random };

/** Every row has every column or a reason why not, and is checked by this suite; every check has its row. */
export function checkTable(): void {
  const faults: string[] = [];
  for (const [door, functions] of Object.entries(doors))
    if (Object.keys(functions).length === 0) faults.push(`${door} has no functions`);
  for (const [name, row] of opTable) {
    if (row.name !== name) faults.push(`${name} is called ${row.name}`);
    if (typeof row.type !== "function") faults.push(`${name} has no type rule`);
    for (const column of columns) {
      const entry = row[column];
      if (entry === undefined) faults.push(`${name} has no ${column}, and no reason for it`);
      if (isLacking(entry) && entry.lacking.length < 10)
        faults.push(`${name} lacks ${column} for no reason one could read`);
    }
    if (!samples.has(name) && !elsewhere.has(name))
      faults.push(`${name} has no samples: add an entry to testing/samples/`);
    if (samples.has(name) && !references.has(name))
      faults.push(`${name} has no reference: add an entry to testing/reference/`);
  }
  for (const name of [...samples.keys(), ...elsewhere.keys()])
    if (!opTable.has(name)) faults.push(`there are samples of ${name}, which is no row`);
  if (faults.length > 0) throw failure(`the op table is not whole:\n  ${faults.join("\n  ")}`);
}

/** Computes values from one sample's inputs, as graph. */
export type FromSample = (sample: Sample, inputs: readonly Value[]) => readonly Value[];

/** Several samples in one compiled function, given each one's inputs. */
export type Batch = (inputs: readonly (readonly Dense[])[]) => Promise<readonly (readonly Dense[])[]>;

/** `dotGeneral on f32[2,3], f32[3,2] with {...}` */
export function nameOf(row: string, { inputs, params }: Sample): string {
  const types = inputs.map(typeText).join(", ");
  const text = params === undefined ? "" : JSON.stringify(params);
  return `${row}${types ? ` on ${types}` : ""}${text === "" || text === "{}" ? "" : ` with ${text}`}`;
}

/**
 * Compiles what is computed from many samples as one function: compiling is what takes the time. Where that fails,
 * samples are tried one at a time, to name the one it fails on.
 */
export function inOneProgram(
  engine: EngineName,
  row: string,
  samples: readonly Sample[],
  compute: FromSample,
): Batch {
  const together = compileAll(engine, samples, compute);
  return async (inputs) => {
    try {
      return await together(inputs);
    } catch (cause) {
      for (const [i, sample] of samples.entries()) {
        try {
          await compileAll(engine, [sample], compute)([inputs[i] as readonly Dense[]]);
        } catch (error) {
          const words = error instanceof Error ? error.message : String(error);
          throw failure(`${nameOf(row, sample)}: fails on ${engine}: ${words}`, error);
        }
      }
      throw failure(`${row}: samples fail on ${engine} in one program, though each works alone`, cause);
    }
  };
}

function compileAll(engine: EngineName, samples: readonly Sample[], compute: FromSample): Batch {
  let counts: readonly number[] = [];
  const run = onEngine(engine, (values) => {
    const rest = [...values];
    const results = samples.map((sample) => compute(sample, rest.splice(0, sample.inputs.length)));
    counts = results.map((group) => group.length);
    return results.flat();
  });
  return async (inputs) => {
    const results = [...(await run(inputs.flat()))];
    return counts.map((count) => results.splice(0, count));
  };
}

/** The row itself. */
export const theRow =
  (row: string): FromSample =>
  (sample, inputs) =>
    applyRow(row, inputs, sample.params);
