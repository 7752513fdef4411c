import { compile, type EngineName, put, spec, type Value } from "../engine/index.ts";
import { initializers, logSoftmax, type Params, type TransformerOptions, transformer } from "../nn/index.ts";

export const sizes = { vocabulary: 11, width: 16, layers: 2, heads: 2, context: 24 } as const;
export const prompts: readonly (readonly number[])[] = [[3, 1, 4], [1], [5, 9, 2, 6, 5]];

/** A small model whose likeliest token is clear, and its pass over whole sequences. */
export function smallModel(options: Partial<TransformerOptions> = {}, engine: EngineName = "wasm") {
  const model = transformer({ ...sizes, init: initializers.normal({ std: 0.3 }), ...options });
  const params = model.init(1, spec([1, 4], "i32"), { engine });
  const whole = compile((p: Params, x: Value) => logSoftmax(model.apply(p, x)), { engine });
  /** Log-probabilities of every token after each of these. */
  const logProbs = async (tokens: readonly number[]): Promise<number[][]> => {
    const padded = Int32Array.from({ length: model.context }, (_, t) => tokens[t] ?? 0);
    const x = put(padded, { shape: [1, model.context], engine });
    const flat = Array.from(await whole(params, x).read());
    return tokens.map((_, t) => flat.slice(t * sizes.vocabulary, (t + 1) * sizes.vocabulary));
  };
  /** The likeliest tokens of the whole pass in the places of these, which follow the prompt. */
  const likeliest = async (prompt: readonly number[], tokens: Int32Array): Promise<number[]> => {
    const rows = (await logProbs([...prompt, ...tokens])).slice(prompt.length - 1, -1);
    return rows.map((row) => row.indexOf(Math.max(...row)));
  };
  /** The log-probabilities that the whole pass gives these tokens after the prompt. */
  const logProbsOf = async (prompt: readonly number[], tokens: Int32Array): Promise<number[]> => {
    const rows = (await logProbs([...prompt, ...tokens])).slice(prompt.length - 1, -1);
    return rows.map((row, t) => row[tokens[t] as number] as number);
  };
  return { model, params, logProbs, likeliest, logProbsOf };
}
