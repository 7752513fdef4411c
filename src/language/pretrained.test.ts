import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { saveWeights, withTensors } from "../checkpoint/index.ts";
import { compile, put, type Tensor, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { BertInput } from "./bert.ts";
import { generate } from "./generate.ts";
import { loadPretrained } from "./pretrained.ts";

const on = { engine: "wasm" } as const;
const at = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "espalier-pretrained-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Expected {
  readonly input_ids: readonly (readonly number[])[];
  readonly token_type_ids: readonly (readonly number[])[];
  readonly attention_mask: readonly (readonly number[])[];
  readonly logits?: readonly number[];
  readonly last_hidden_state?: readonly number[];
  readonly pooler_output?: readonly number[];
}
const expectedOf = (name: string): Expected =>
  JSON.parse(readFileSync(join(at(name), "expected.json"), "utf8")) as Expected;
const whole = (rows: readonly (readonly number[])[]) => put(rows, { dtype: "i32", ...on });

function close(found: ArrayLike<number>, expected: readonly number[] | undefined): void {
  expect(found.length).toBe(expected?.length);
  const worst = Math.max(...Array.from(found, (value, i) => Math.abs(value - (expected?.[i] as number))));
  expect(worst).toBeLessThan(1e-5);
}

/** A copy of a fixture whose config.json has other fields. */
function altered(name: string, fields: object): string {
  const path = mkdtempSync(join(folder, `${name}-`));
  cpSync(at(name), path, { recursive: true });
  const config = JSON.parse(readFileSync(join(path, "config.json"), "utf8")) as object;
  writeFileSync(join(path, "config.json"), JSON.stringify({ ...config, ...fields }));
  return path;
}

describe("weights of Hugging Face", () => {
  it.each(["gpt2", "llama", "qwen2"])("%s gives the logits of transformers", async (name) => {
    const { input_ids: tokens, logits } = expectedOf(name);
    const { model, params, architecture, unused } = await loadPretrained(at(name), on);
    if (architecture === "bert") throw new Error("not a decoder");
    const run = compile((p: Params, x: Value) => model.apply(p, x), on);
    close(await run(params, whole(tokens)).read(), logits);
    expect(unused).toEqual([]);
    expect(model.context).toBe(12);
  });

  it("generates with them what the likeliest tokens of the whole pass are", async () => {
    const { model, params } = await loadPretrained(at("llama"), on);
    const { input_ids: prompts, logits = [] } = expectedOf("llama");
    const made = await generate(model, params, prompts, { length: 1, temperature: 0 });
    made.forEach(({ tokens }, i) => {
      const last = logits.slice((i * 7 + 6) * 24, (i * 7 + 7) * 24);
      expect([...tokens]).toEqual([last.indexOf(Math.max(...last))]);
    });
  });

  it.each(["bert", "bert-masked", "bert-classes"])("%s gives the outputs of transformers", async (name) => {
    const expected = expectedOf(name);
    const { model, params, architecture } = await loadPretrained(at(name), on);
    if (architecture !== "bert") throw new Error("not an encoder");
    const run = compile((p: Params, x: BertInput) => model.apply(p, x), on);
    const mask = expected.attention_mask.map((row) => row.map((one) => one === 1));
    const found = run(params, {
      tokens: whole(expected.input_ids),
      types: whole(expected.token_type_ids),
      mask: put(mask, on),
    });
    if (expected.logits) close((await found.logits?.read()) ?? [], expected.logits);
    if (expected.last_hidden_state) close(await found.hidden.read(), expected.last_hidden_state);
    if (expected.pooler_output) close((await found.pooled?.read()) ?? [], expected.pooler_output);
  });

  /** A copy of a fixture with an index: its names but those that match, and a head of its own where it is given. */
  async function indexed(name: string, fields: object, without: RegExp, head?: Params<Tensor>) {
    const path = altered(name, fields);
    const names = await withTensors(join(path, "model.safetensors"), async (all) => [...all]);
    const kept = names.filter((one) => !without.test(one)).map((one) => [one, "model.safetensors"]);
    if (head) await saveWeights({ lm_head: head }, join(path, "head.safetensors"));
    const map = { ...Object.fromEntries(kept), ...(head && { "lm_head.weight": "head.safetensors" }) };
    writeFileSync(join(path, "model.safetensors.index.json"), JSON.stringify({ weight_map: map }));
    return path;
  }

  it("gpt2 with a head of its own gives the same logits where the head is the table of tokens", async () => {
    const { input_ids: tokens, logits } = expectedOf("gpt2");
    const tied = await loadPretrained(at("gpt2"), on);
    const table = (tied.params.tokens as Params<Tensor>).w as Tensor;
    const path = await indexed("gpt2", { tie_word_embeddings: false }, /lm_head/, { weight: table });
    const { model, params, architecture } = await loadPretrained(path, on);
    if (architecture === "bert") throw new Error("not a decoder");
    expect(Object.keys(params)).toContain("head");
    const run = compile((p: Params, x: Value) => model.apply(p, x), on);
    close(await run(params, whole(tokens)).read(), logits);
  });

  it("that we cannot compute with are refused", async () => {
    const fails = async (path: string, code: string, text: RegExp) =>
      expect(loadPretrained(path, on)).rejects.toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error,
      );
    await fails(join(folder, "none"), "FILE_MISSING", /config\.json/);
    await fails(undefined as never, "OPTION_INVALID", /it was given undefined/);
    await fails(
      altered("gpt2", { model_type: "gpt3" }),
      "ARCHITECTURE_UNKNOWN",
      /"gpt3".*"gpt2"[\s\S]*llama/,
    );
    const scaled = { rope_parameters: { rope_type: "llama3", rope_theta: 500 } };
    await fails(altered("llama", scaled), "PRETRAINED_UNSUPPORTED", /rope_type is "llama3"/);
    await fails(altered("llama", { head_dim: 8 }), "PRETRAINED_UNSUPPORTED", /head_dim is 8/);
    await fails(altered("llama", { hidden_act: "mish" }), "PRETRAINED_UNSUPPORTED", /hidden_act is "mish"/);
    await fails(
      altered("gpt2", { n_layer: 3 }),
      "PRETRAINED_MISMATCH",
      /"block2\.\S+" is not there in the files/,
    );
    await fails(
      altered("gpt2", { vocab_size: 25 }),
      "PRETRAINED_MISMATCH",
      /"tokens\.w" is f32\[24,16\].*\[25,16\]/,
    );
    await fails(await indexed("bert-classes", {}, /pooler/), "PRETRAINED_UNSUPPORTED", /classes of tokens/);
    const index = altered("gpt2", {});
    writeFileSync(join(index, "model.safetensors.index.json"), "{}");
    await fails(index, "PRETRAINED_INVALID", /weight_map/);
    const cut = altered("gpt2", {});
    writeFileSync(
      join(cut, "model.safetensors"),
      readFileSync(join(cut, "model.safetensors")).subarray(0, 9000),
    );
    await fails(cut, "SAFETENSORS_TRUNCATED", /model\.safetensors/);
    const lacking = altered("llama", {});
    rmSync(join(lacking, "model-00003-of-00004.safetensors"));
    await fails(lacking, "FILE_MISSING", /model-00003-of-00004/);
  });
});
