import type { EngineName, Value } from "../../engine/index.ts";
import { failure } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { typeText } from "../dense.ts";
import { applyRow } from "../math.ts";
import { onEngine } from "../run.ts";
import type { Sample } from "../sample.ts";

/** What is computed from one sample's inputs, as graph. */
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
