/**
 * Weights of other systems in models of ours:
 *
 *     loadPretrained(directory)
 *       config.json                     -> the model and its options        planFor
 *       model.safetensors, or several   -> parameters, name by name         placed
 *       tokenizer.json                  -> the tokenizer, where there is one
 *
 * A plan has a path of ours for each of their modules: `model.layers.3.mlp.up_proj.weight` is `block3.mlp.up.w`. Linear
 * layers of PyTorch are [out, in] and ours [in, out].
 */
import { type HostTensor, setAt, withTensors } from "../checkpoint/index.ts";
import {
  badOption,
  checkNames,
  didYouMean,
  EspalierError,
  isPlainObject,
  node,
  shown,
} from "../core/index.ts";
import { type Tokenizer, tokenizerFromFile, withName } from "../data/index.ts";
import { type Device, type EngineChoice, put, spec, type Tensor } from "../engine/index.ts";
import {
  type FeedForwardActivation,
  type Model,
  type Params,
  parameterMismatch,
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
  readonly config: Config;
  /** Names in the files that the model has no use for. */
  readonly unused: readonly string[];
}

/** A model with weights of another system; `architecture` tells which kind. */
export type Pretrained = Loaded<"gpt2" | "llama", Transformer> | Loaded<"bert", Bert>;

const kind = "loadPretrained";

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
  checkNames(kind, options, ["engine", "device"]);
  if (typeof directory !== "string" && !(directory instanceof URL))
    throw badOption(kind, `it was given ${shown(directory)}`, "give the path of a directory");
  const path = directory instanceof URL ? node.url.fileURLToPath(directory) : directory;
  const config = await json(node.path.join(path, "config.json"));
  const files = await weightFiles(path);
  const names = [...files.values()].flat();
  const { naming, ...found } = planFor(path, config, names);
  const [params, unused] = await placed(path, files, naming, options);
  checkComplete(path, found.model as Model, params);
  const text = node.path.join(path, "tokenizer.json");
  const tokenizer = node.fs.existsSync(text) ? await tokenizerFromFile(text) : undefined;
  return { ...found, params, tokenizer, config, unused };
}

type Config = Readonly<Record<string, unknown>>;

async function json(path: string): Promise<Config> {
  const text = await node.fs.promises.readFile(path, "utf8").catch((cause: unknown) => {
    throw new EspalierError("FILE_MISSING", `${kind}: ${path} cannot be read`, {
      fix: "give a directory with config.json and model.safetensors, as save_pretrained writes it",
      cause,
    });
  });
  try {
    const found: unknown = JSON.parse(text);
    if (isPlainObject(found)) return found;
    throw new TypeError("it is no object");
  } catch (cause) {
    throw new EspalierError("PRETRAINED_INVALID", `${kind}: ${path} is no JSON object`, { cause });
  }
}

async function weightFiles(path: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const one = "model.safetensors";
  const index = node.path.join(path, `${one}.index.json`);
  if (!node.fs.existsSync(index))
    return new Map([[one, await withTensors(node.path.join(path, one), async (names) => [...names])]]);
  const { weight_map: map } = await json(index);
  if (!isPlainObject(map))
    throw new EspalierError("PRETRAINED_INVALID", `${kind}: ${index} has no weight_map`);
  const names = Object.keys(map);
  const files = new Set(names.map((name) => String(map[name])));
  return new Map([...files].map((file) => [file, names.filter((name) => String(map[name]) === file)]));
}

/** Where parameters go. */
interface Naming {
  /** Stands before names, or not. */
  readonly prefix: string;
  /** Paths of ours by modules of theirs, with `*` for the number of a block. */
  readonly modules: Readonly<Record<string, string>>;
  /** True for weights in [in, out], which are taken as they are. */
  readonly isConv1d?: boolean;
}

type Plan = (
  | Pick<Loaded<"gpt2" | "llama", Transformer>, "architecture" | "model">
  | Pick<Loaded<"bert", Bert>, "architecture" | "model">
) & { readonly naming: Naming };

function planFor(path: string, config: Config, names: readonly string[]): Plan {
  const families = new Map(Object.entries({ gpt2, llama, mistral: llama, qwen2: llama, bert: bertPlan }));
  const type = String(config.model_type);
  const family = families.get(type);
  if (family) return family(fieldsOf(path, config), names);
  const known = [...families.keys()];
  throw new EspalierError(
    "ARCHITECTURE_UNKNOWN",
    `${kind}: ${path} is a model of type ${shown(config.model_type)}${didYouMean(type, known)}`,
    { fix: `models of these types can be loaded: ${known.join(", ")}` },
  );
}

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(path: string, config: Config) {
  const refused = (what: string): EspalierError =>
    new EspalierError("PRETRAINED_UNSUPPORTED", `${kind}: in the config.json of ${path} ${what}`, {
      fix: "this kind of model cannot be loaded; take one without it",
    });
  const get = (name: string): unknown => config[name] ?? undefined;
  return {
    refused,
    get,
    number: (name: string, otherwise?: number): number => {
      const value = get(name) ?? otherwise;
      if (typeof value === "number") return value;
      throw refused(`${name} is ${shown(value)}`);
    },
    activation: (
      name: string,
      known: Readonly<Record<string, FeedForwardActivation>>,
    ): FeedForwardActivation => {
      const found = known[String(get(name))];
      if (found) return found;
      throw refused(`${name} is ${shown(get(name))}; of its kind there are ${Object.keys(known).join(", ")}`);
    },
    /** Refuses what our models do not do, rather than computing something else. */
    refuse: (name: string, isFine: (value: unknown) => boolean): void => {
      const value = get(name);
      if (value !== undefined && !isFine(value)) throw refused(`${name} is ${shown(value)}`);
    },
  };
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
  const tied = given.get("tie_word_embeddings") !== false || !names.includes("lm_head.weight");
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
      tieEmbeddings: tied,
    }),
    naming: {
      prefix: "transformer.",
      isConv1d: true,
      modules: {
        wte: "tokens",
        wpe: "positions",
        "h.*.ln_1": "block*.norm1",
        // Queries, keys and values side by side.
        "h.*.attn.c_attn": "block*.attention.qkv",
        "h.*.attn.c_proj": "block*.attention.out",
        "h.*.ln_2": "block*.norm2",
        "h.*.mlp.c_fc": "block*.mlp.up",
        "h.*.mlp.c_proj": "block*.mlp.down",
        ln_f: "norm",
        ...(!tied && { lm_head: "head" }),
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
    naming: {
      prefix: "model.",
      modules: {
        embed_tokens: "tokens",
        "layers.*.input_layernorm": "block*.norm1",
        "layers.*.self_attn.q_proj": "block*.attention.q",
        "layers.*.self_attn.k_proj": "block*.attention.k",
        "layers.*.self_attn.v_proj": "block*.attention.v",
        "layers.*.self_attn.o_proj": "block*.attention.out",
        "layers.*.post_attention_layernorm": "block*.norm2",
        "layers.*.mlp.gate_proj": "block*.mlp.gate",
        "layers.*.mlp.up_proj": "block*.mlp.up",
        "layers.*.mlp.down_proj": "block*.mlp.down",
        norm: "norm",
        ...(!tied && { lm_head: "head" }),
      },
    },
  };
}

function bertPlan(given: Fields, names: readonly string[]): Plan {
  given.refuse("position_embedding_type", (value) => value === "absolute");
  given.refuse("is_decoder", (value) => value === false);
  given.refuse("tie_word_embeddings", (value) => value === true);
  const width = given.number("hidden_size");
  const has = (end: string): boolean => names.some((name) => name.endsWith(end));
  const classes = names.includes("classifier.weight");
  const pooler = has("pooler.dense.weight");
  if (classes && !pooler) throw given.refused("there are classes of tokens, not of whole sequences");
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
      pooler,
      ...(classes && { head: { classes: count } }),
      ...(has("cls.predictions.transform.dense.weight") && { head: "tokens" as const }),
    }),
    naming: {
      prefix: "bert.",
      modules: {
        "embeddings.word_embeddings": "tokens",
        "embeddings.position_embeddings": "positions",
        "embeddings.token_type_embeddings": "types",
        "embeddings.LayerNorm": "norm",
        [`${layer}.attention.self.query`]: `${block}.attention.q`,
        [`${layer}.attention.self.key`]: `${block}.attention.k`,
        [`${layer}.attention.self.value`]: `${block}.attention.v`,
        [`${layer}.attention.output.dense`]: `${block}.attention.out`,
        [`${layer}.attention.output.LayerNorm`]: `${block}.norm1`,
        [`${layer}.intermediate.dense`]: `${block}.mlp.up`,
        [`${layer}.output.dense`]: `${block}.mlp.down`,
        [`${layer}.output.LayerNorm`]: `${block}.norm2`,
        "pooler.dense": "pooler",
        "cls.predictions.transform.dense": "transform",
        "cls.predictions.transform.LayerNorm": "transformNorm",
        "cls.predictions": "decoder",
        classifier: "classifier",
      },
    },
  };
}

/** Members of our parts, and of our norms, by those of theirs. Old files call those of norms gamma and beta. */
const members: Readonly<Record<string, string>> = { weight: "w", bias: "b" };
const normMembers: typeof members = { weight: "scale", gamma: "scale", bias: "bias", beta: "bias" };

function pathOf(name: string, { prefix, modules }: Naming): string | undefined {
  const own = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  const block = /\.(\d+)\./.exec(own)?.[1] ?? "";
  const end = own.lastIndexOf(".");
  const path = modules[own.slice(0, end).replace(`.${block}.`, ".*.")];
  const member = path && (/norm/i.test(path) ? normMembers : members)[own.slice(end + 1)];
  return member && `${path.replace("*", block)}.${member}`;
}

async function placed(
  path: string,
  files: ReadonlyMap<string, readonly string[]>,
  naming: Naming,
  where: PretrainedOptions,
) {
  const tree: Record<string, unknown> = {};
  const unused: string[] = [];
  const add = (at: string, { data, shape }: Numbers): void =>
    setAt(
      tree,
      at,
      withName(at, () => put(data, { shape, ...where })),
    );
  for (const [file, names] of files)
    await withTensors(node.path.join(path, file), async (_, tensor) => {
      for (const name of names) {
        const target = pathOf(name, naming);
        if (target === undefined) {
          unused.push(name);
          continue;
        }
        const numbers = floats(name, await tensor(name));
        if (target.includes(".qkv.")) {
          for (const [i, part] of ["q", "k", "v"].entries())
            add(target.replace(".qkv.", `.${part}.`), third(numbers, i));
        } else add(target, isTurned(target, naming) ? transposed(numbers) : numbers);
      }
    });
  return [tree as Params<Tensor>, unused] as const;
}

/** True for weights in [out, in]. Tables of embeddings are [count, width] everywhere. */
const isTurned = (path: string, { isConv1d = false }: Naming): boolean =>
  path === "head.w" || (!isConv1d && path.endsWith(".w") && !/^(tokens|positions|types)\./.test(path));

interface Numbers {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

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

function checkComplete(path: string, model: Model, params: Params<Tensor>): void {
  const other = parameterMismatch(model, spec([1, 1], "i32"), params);
  if (!other) return;
  const { name, found, wanted } = other;
  throw new EspalierError(
    "PRETRAINED_MISMATCH",
    `${kind}: ${path}: "${name}" is ${found} in the files, and ${wanted} by config.json`,
    { fix: "take config.json and the weights from one model" },
  );
}
