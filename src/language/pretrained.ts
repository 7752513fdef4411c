/**
 * Weights of other systems in models of ours:
 *
 *     loadPretrained(directory)
 *       config.json                     -> the model and its options        planFor
 *       model.safetensors, or several   -> parameters, name by name         rules
 *       tokenizer.json                  -> the tokenizer, where there is one
 *
 * A rule turns a name into a path of ours: `model.layers.3.mlp.up_proj.weight` is `block3.mlp.up.w`. Linear layers of
 * PyTorch are [out, in] and ours [in, out].
 */
import { type HostTensor, withTensors } from "../checkpoint/index.ts";
import {
  checkOptions,
  didYouMean,
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  node,
  type OptionTable,
  option,
  shown,
} from "../core/index.ts";
import { type Tokenizer, tokenizerFromFile } from "../data/index.ts";
import { type Device, type EngineChoice, put, type Spec, spec, type Tensor } from "../engine/index.ts";
import {
  type FeedForwardActivation,
  type Model,
  type Params,
  parameterSpecs,
  type Transformer,
  transformer,
} from "../nn/index.ts";
import { type Bert, bert } from "./bert.ts";

/** Options of {@link loadPretrained}. */
export interface PretrainedOptions {
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
}

interface Loaded<A extends string, M> {
  readonly architecture: A;
  readonly model: M;
  /** In 32 bits, whatever the files have. */
  readonly params: Params<Tensor>;
  /** Where there is a tokenizer.json. */
  readonly tokenizer: Tokenizer | undefined;
  /** The text of config.json as it is. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Names in the files that the model has no use for. */
  readonly unused: readonly string[];
}

/** A model with weights of another system; `architecture` tells which kind. */
export type Pretrained = Loaded<"gpt2" | "llama", Transformer> | Loaded<"bert", Bert>;

const kind = "loadPretrained";
const table = {
  engine: option.made<EngineChoice>("an engine", () => true, {}),
  device: option.made<number | Device>("a device", () => true, {}),
} satisfies OptionTable<PretrainedOptions>;

/**
 * Loads a model that Hugging Face's transformers saved: a directory with config.json and safetensors files. GPT-2 and
 * models like Llama (also Mistral and Qwen2) become `nn.transformer`, BERT an encoder.
 *
 * @example
 * ```ts
 * const { model, params, tokenizer } = await loadPretrained("models/gpt2");
 * const { text } = await generate(model, params, "Once upon", { length: 40, tokenizer });
 * ```
 */
export async function loadPretrained(
  directory: string | URL,
  options: PretrainedOptions = {},
): Promise<Pretrained> {
  checkOptions(kind, options, table);
  const path = directory instanceof URL ? node.url.fileURLToPath(directory) : directory;
  const config = await json(node.path.join(path, "config.json"));
  const files = await weightFiles(path);
  const names = [...files.values()].flat();
  const plan = planFor(path, config, names);
  const [params, unused] = await placed(path, files, plan.rules, options);
  checkComplete(path, plan.model as Model, params);
  const text = node.path.join(path, "tokenizer.json");
  const tokenizer = node.fs.existsSync(text) ? await tokenizerFromFile(text) : undefined;
  const { rules: _, ...found } = plan;
  return { ...found, params, tokenizer, config, unused };
}

async function json(path: string): Promise<Readonly<Record<string, unknown>>> {
  let text: string;
  try {
    text = await node.fs.promises.readFile(path, "utf8");
  } catch (cause) {
    throw new EspalierError("FILE_MISSING", `${kind}: ${path} cannot be read`, {
      fix: "give a directory with config.json and model.safetensors, as save_pretrained writes it",
      cause,
    });
  }
  try {
    const found: unknown = JSON.parse(text);
    if (isPlainObject(found)) return found;
  } catch (cause) {
    throw new EspalierError("PRETRAINED_INVALID", `${kind}: ${path} is not JSON`, { cause });
  }
  throw new EspalierError("PRETRAINED_INVALID", `${kind}: ${path} is no object`);
}

/** The files with weights, and the names in each. */
async function weightFiles(path: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const index = node.path.join(path, "model.safetensors.index.json");
  const files = new Map<string, string[]>();
  if (node.fs.existsSync(index)) {
    const { weight_map: map } = await json(index);
    for (const [name, file] of Object.entries(isPlainObject(map) ? map : {})) {
      const list = files.get(file as string) ?? [];
      files.set(file as string, [...list, name]);
    }
    return files;
  }
  const one = "model.safetensors";
  files.set(one, await withTensors(node.path.join(path, one), async (names) => [...names]));
  return files;
}

/** Paths of ours by names of theirs, with `*` for the number of a block. Weights in `[out, in]` are turned. */
interface Rules {
  /** Stands before names, or not. */
  readonly prefix: string;
  readonly paths: Readonly<Record<string, string>>;
  readonly turned: boolean;
}

type Plan = (
  | Pick<Loaded<"gpt2" | "llama", Transformer>, "architecture" | "model">
  | Pick<Loaded<"bert", Bert>, "architecture" | "model">
) & { readonly rules: Rules };

const linear = (name: string, path: string) => ({
  [`${name}.weight`]: `${path}.w`,
  [`${name}.bias`]: `${path}.b`,
});
const norm = (name: string, path: string) => ({
  [`${name}.weight`]: `${path}.scale`,
  [`${name}.bias`]: `${path}.bias`,
  // As files of the first years have it.
  [`${name}.gamma`]: `${path}.scale`,
  [`${name}.beta`]: `${path}.bias`,
});

type Config = Readonly<Record<string, unknown>>;

function planFor(path: string, config: Config, names: readonly string[]): Plan {
  const families: Readonly<Record<string, (given: Fields, names: readonly string[]) => Plan>> = {
    gpt2,
    llama,
    mistral: llama,
    qwen2: llama,
    bert: bertPlan,
  };
  const type = config.model_type;
  const known = Object.keys(families);
  const family = typeof type === "string" && Object.hasOwn(families, type) ? families[type] : undefined;
  if (family) return family(new Fields(path, config), names);
  throw new EspalierError(
    "ARCHITECTURE_UNKNOWN",
    `${kind}: ${path} is a model of type ${shown(type)}${typeof type === "string" ? didYouMean(type, known) : ""}`,
    { fix: `models of these types can be loaded: ${known.join(", ")}` },
  );
}

/** The fields of a config.json. */
class Fields {
  readonly #path: string;
  readonly #config: Config;

  constructor(path: string, config: Config) {
    this.#path = path;
    this.#config = config;
  }

  get(name: string): unknown {
    return this.#config[name] ?? undefined;
  }

  number(name: string, otherwise?: number): number {
    const value = this.get(name) ?? otherwise;
    if (typeof value === "number") return value;
    throw this.refused(`${name} is ${shown(value)}`);
  }

  activation(name: string, known: Readonly<Record<string, FeedForwardActivation>>): FeedForwardActivation {
    const value = this.get(name);
    const found = typeof value === "string" ? known[value] : undefined;
    if (found) return found;
    throw this.refused(`${name} is ${shown(value)}; of its kind there are ${Object.keys(known).join(", ")}`);
  }

  /** Refuses what our models do not do, rather than computing something else. */
  refuse(name: string, isFine: (value: unknown) => boolean): void {
    const value = this.get(name);
    if (value !== undefined && !isFine(value)) throw this.refused(`${name} is ${shown(value)}`);
  }

  refused(what: string): EspalierError {
    return new EspalierError(
      "PRETRAINED_UNSUPPORTED",
      `${kind}: in the config.json of ${this.#path} ${what}`,
      {
        fix: "this kind of model cannot be loaded; take one without it",
      },
    );
  }
}

const activations = {
  gelu_new: "gelu",
  gelu_pytorch_tanh: "gelu",
  gelu: "geluExact",
  relu: "relu",
} as const;

function gpt2(given: Fields, names: readonly string[]): Plan {
  given.refuse("scale_attn_by_inverse_layer_idx", (value) => value === false);
  given.refuse("scale_attn_weights", (value) => value === true);
  const width = given.number("n_embd");
  return {
    architecture: "gpt2",
    model: transformer({
      vocabulary: given.number("vocab_size"),
      width,
      layers: given.number("n_layer"),
      heads: given.number("n_head"),
      context: given.number("n_positions"),
      mlpRatio: given.number("n_inner", 4 * width) / width,
      activation: given.activation("activation_function", activations),
      normEpsilon: given.number("layer_norm_epsilon", 1e-5),
      tieEmbeddings: given.get("tie_word_embeddings") !== false || !names.includes("lm_head.weight"),
    }),
    rules: {
      prefix: "transformer.",
      // GPT-2 keeps weights as [in, out] already, and those of queries, keys and values side by side.
      turned: false,
      paths: {
        "wte.weight": "tokens.w",
        "wpe.weight": "positions.w",
        ...norm("h.*.ln_1", "block*.norm1"),
        ...linear("h.*.attn.c_attn", "block*.attention.qkv"),
        ...linear("h.*.attn.c_proj", "block*.attention.out"),
        ...norm("h.*.ln_2", "block*.norm2"),
        ...linear("h.*.mlp.c_fc", "block*.mlp.up"),
        ...linear("h.*.mlp.c_proj", "block*.mlp.down"),
        ...norm("ln_f", "norm"),
        ...(given.get("tie_word_embeddings") === false && { "lm_head.weight": "head.w" }),
      },
    },
  };
}

/** Llama and its like: RMS norms, rotary positions, a gate in the feed-forward part, shared keys and values. */
function llama(given: Fields, names: readonly string[]): Plan {
  const [width, heads] = [given.number("hidden_size"), given.number("num_attention_heads")];
  given.refuse("head_dim", (value) => value === width / heads);
  given.refuse(
    "rope_scaling",
    (value) => isPlainObject(value) && (value.rope_type ?? value.type) === "default",
  );
  const rotary = given.get("rope_parameters");
  const { rope_theta: base, rope_type: type = "default" } = isPlainObject(rotary) ? rotary : {};
  if (type !== "default") throw given.refused(`rope_type is ${shown(type)}`);
  const context = given.number("max_position_embeddings");
  const window = given.get("use_sliding_window") === false ? undefined : given.get("sliding_window");
  const tied = given.get("tie_word_embeddings") === true || !names.includes("lm_head.weight");
  const biased = ["q", "k", "v", "o"].map((part) => names.some((name) => name.endsWith(`${part}_proj.bias`)));
  return {
    architecture: "llama",
    model: transformer({
      vocabulary: given.number("vocab_size"),
      width,
      layers: given.number("num_hidden_layers"),
      heads,
      keyValueHeads: given.number("num_key_value_heads", heads),
      // Beyond its window a place would see less than ours does.
      context: typeof window === "number" ? Math.min(window, context) : context,
      mlpRatio: given.number("intermediate_size") / width,
      activation: given.activation("hidden_act", { silu: "swiglu" }),
      norm: "rms",
      normEpsilon: given.number("rms_norm_eps", 1e-6),
      positions: "rotary",
      rotaryBase: typeof base === "number" ? base : given.number("rope_theta", 10_000),
      bias: names.some((name) => name.endsWith("up_proj.bias")),
      attentionBias: biased[3] ? true : biased[0] ? "qkv" : false,
      tieEmbeddings: tied,
    }),
    rules: {
      prefix: "model.",
      turned: true,
      paths: {
        "embed_tokens.weight": "tokens.w",
        ...norm("layers.*.input_layernorm", "block*.norm1"),
        ...linear("layers.*.self_attn.q_proj", "block*.attention.q"),
        ...linear("layers.*.self_attn.k_proj", "block*.attention.k"),
        ...linear("layers.*.self_attn.v_proj", "block*.attention.v"),
        ...linear("layers.*.self_attn.o_proj", "block*.attention.out"),
        ...norm("layers.*.post_attention_layernorm", "block*.norm2"),
        ...linear("layers.*.mlp.gate_proj", "block*.mlp.gate"),
        ...linear("layers.*.mlp.up_proj", "block*.mlp.up"),
        ...linear("layers.*.mlp.down_proj", "block*.mlp.down"),
        ...norm("norm", "norm"),
        ...(!tied && { "lm_head.weight": "head.w" }),
      },
    },
  };
}

function bertPlan(given: Fields, names: readonly string[]): Plan {
  given.refuse("position_embedding_type", (value) => value === "absolute");
  given.refuse("is_decoder", (value) => value === false);
  const width = given.number("hidden_size");
  const has = (end: string): boolean => names.some((name) => name.endsWith(end));
  const classes = names.includes("classifier.weight");
  const labels = given.get("id2label");
  const count = given.number("num_labels", isPlainObject(labels) ? Object.keys(labels).length : 2);
  const layer = "encoder.layer.*";
  const block = "encoder.block*";
  return {
    architecture: "bert",
    model: bert({
      vocabulary: given.number("vocab_size"),
      width,
      layers: given.number("num_hidden_layers"),
      heads: given.number("num_attention_heads"),
      context: given.number("max_position_embeddings"),
      types: given.number("type_vocab_size", 2),
      mlpRatio: given.number("intermediate_size") / width,
      activation: given.activation("hidden_act", activations),
      normEpsilon: given.number("layer_norm_eps", 1e-12),
      pooler: has("pooler.dense.weight"),
      ...(classes && { head: { classes: count } }),
      ...(has("cls.predictions.transform.dense.weight") && { head: "tokens" as const }),
    }),
    rules: {
      prefix: "bert.",
      turned: true,
      paths: {
        "embeddings.word_embeddings.weight": "tokens.w",
        "embeddings.position_embeddings.weight": "positions.w",
        "embeddings.token_type_embeddings.weight": "types.w",
        ...norm("embeddings.LayerNorm", "norm"),
        ...linear(`${layer}.attention.self.query`, `${block}.attention.q`),
        ...linear(`${layer}.attention.self.key`, `${block}.attention.k`),
        ...linear(`${layer}.attention.self.value`, `${block}.attention.v`),
        ...linear(`${layer}.attention.output.dense`, `${block}.attention.out`),
        ...norm(`${layer}.attention.output.LayerNorm`, `${block}.norm1`),
        ...linear(`${layer}.intermediate.dense`, `${block}.mlp.up`),
        ...linear(`${layer}.output.dense`, `${block}.mlp.down`),
        ...norm(`${layer}.output.LayerNorm`, `${block}.norm2`),
        ...linear("pooler.dense", "pooler"),
        ...linear("cls.predictions.transform.dense", "transform"),
        ...norm("cls.predictions.transform.LayerNorm", "transformNorm"),
        "cls.predictions.bias": "decoder.b",
        ...linear("classifier", "classifier"),
      },
    },
  };
}

/** The parameters of all files on the device, and the names that no rule has. */
async function placed(
  path: string,
  files: ReadonlyMap<string, readonly string[]>,
  { prefix, paths, turned }: Rules,
  where: PretrainedOptions,
): Promise<readonly [Params<Tensor>, readonly string[]]> {
  const tree: Record<string, unknown> = {};
  const unused: string[] = [];
  const add = (at: string, { data, shape }: Numbers): void => {
    const steps = at.split(".");
    const parent = steps.slice(0, -1).reduce<Record<string, unknown>>((level, step) => {
      level[step] ??= {};
      return level[step] as Record<string, unknown>;
    }, tree);
    parent[steps.at(-1) as string] = put(data, { shape, ...where });
  };
  for (const [file, names] of files)
    await withTensors(node.path.join(path, file), async (_, tensor) => {
      for (const name of names) {
        const own = name.startsWith(prefix) ? name.slice(prefix.length) : name;
        const number = /\.(\d+)\./.exec(own)?.[1] ?? "";
        const target = paths[own.replace(/\.\d+\./, ".*.")]?.replace("*", number);
        if (target === undefined) {
          unused.push(name);
          continue;
        }
        const numbers = floats(name, await tensor(name));
        if (target.includes(".qkv.")) {
          for (const [i, part] of (["q", "k", "v"] as const).entries())
            add(target.replace(".qkv.", `.${part}.`), third(numbers, i));
        } else add(target, turned && isProduct(target) ? transposed(numbers) : numbers);
      }
    });
  return [tree as Params<Tensor>, unused];
}

interface Numbers {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Tables of embeddings are [count, width] everywhere. */
const isProduct = (path: string): boolean => path.endsWith(".w") && !/^(tokens|positions|types)\./.test(path);

function floats(name: string, { data, dtype, shape }: HostTensor): Numbers {
  if (data instanceof Float32Array) return { data, shape };
  if (data instanceof Float64Array) return { data: Float32Array.from(data), shape };
  throw new EspalierError(
    "PRETRAINED_INVALID",
    `${kind}: "${name}" is of type ${dtype}, and weights are floats`,
  );
}

function transposed({ data, shape }: Numbers): Numbers {
  const [rows = 0, columns = 0] = shape;
  const turned = new Float32Array(data.length);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) turned[c * rows + r] = data[r * columns + c] as number;
  return { data: turned, shape: [columns, rows] };
}

/** One of three parts side by side along the last axis. */
function third({ data, shape }: Numbers, part: number): Numbers {
  const width = (shape.at(-1) as number) / 3;
  const rows = data.length / (3 * width);
  const cut = new Float32Array(rows * width);
  for (let r = 0; r < rows; r++) {
    const from = (3 * r + part) * width;
    cut.set(data.subarray(from, from + width), r * width);
  }
  return { data: cut, shape: [...shape.slice(0, -1), width] };
}

/** Refuses files that lack a parameter of the model, or have it in another shape. */
function checkComplete(path: string, model: Model, params: Params<Tensor>): void {
  const types = (tree: Params<Tensor | Spec>): ReadonlyMap<string, string> => {
    const leaves: unknown[] = [];
    const names = leafPaths(flatten(tree, leaves));
    return new Map((leaves as Spec[]).map(({ shape }, i) => [names[i] as string, `[${shape.join(", ")}]`]));
  };
  const found = types(params);
  const wanted = types(parameterSpecs(model, spec([1, 1], "i32")));
  for (const name of new Set([...wanted.keys(), ...found.keys()])) {
    if (found.get(name) === wanted.get(name)) continue;
    throw new EspalierError(
      "PRETRAINED_MISMATCH",
      `${kind}: ${path}: "${name}" is ${found.get(name) ?? "not there"} in the files, and ${wanted.get(name) ?? "not there"} by config.json`,
      { fix: "take config.json and the weights from one model" },
    );
  }
}
