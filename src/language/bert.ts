import { np, type Specs, spec, type Tensor, Value } from "../engine/index.ts";
import {
  childKey,
  childParams,
  dense,
  type EncoderOptions,
  embedding,
  gelu,
  inLayer,
  layerNorm,
  type Model,
  type Params,
  parameter,
  tanh,
  transformerEncoder,
} from "../nn/index.ts";

export interface BertOptions
  extends Pick<EncoderOptions, "width" | "layers" | "heads" | "mlpRatio" | "activation" | "normEpsilon"> {
  readonly vocabulary: number;
  readonly context: number;
  /** Number of token types: 2 tells a first from a second sentence. */
  readonly types: number;
  /** Adds a vector of the whole sequence, made of its first place. */
  readonly pooler: boolean;
  /** Adds logits: of every place's token, or of so many classes of the sequence, which need the pooler. */
  readonly head?: "tokens" | { readonly classes: number };
}

/** Tokens [batch, time], and what is said of them. */
export interface BertInput {
  readonly tokens: Value;
  /** The type of each token, [batch, time]. Default: 0. */
  readonly types?: Value;
  /** Booleans [batch, time]: false where a place is filler. Default: true. */
  readonly mask?: Value;
}

/** What BERT makes of a sequence. */
export interface BertOutput {
  /** [batch, time, width] */
  readonly hidden: Value;
  /** [batch, width], where there is a pooler. */
  readonly pooled?: Value;
  /** [batch, time, vocabulary], or [batch, classes], where there is a head. */
  readonly logits?: Value;
}

/** An encoder of tokens with learned positions and norms after its parts. */
export type Bert = Model<Value | BertInput, BertOutput>;

/**
 * BERT: embeddings of tokens, positions and types, `nn.transformerEncoder` with norms after its parts, and heads.
 * Parameters: `tokens`, `positions`, `types`, `norm`, `encoder`, and `pooler`, `transform`, `transformNorm`, `decoder`,
 * `classifier` where there are such.
 */
export function bert(options: BertOptions): Bert {
  const { vocabulary, context, types, pooler, head, ...given } = options;
  const { width, normEpsilon } = given;
  const norm = layerNorm(normEpsilon === undefined ? {} : { epsilon: normEpsilon });
  const square = dense(width);
  const parts: Readonly<Record<string, Model>> = {
    tokens: embedding(vocabulary, width),
    positions: embedding(context, width),
    types: embedding(types, width),
    norm,
    encoder: transformerEncoder({ ...given, norms: "after", finalNorm: false }) as Model,
    ...(pooler && { pooler: square }),
    ...(head === "tokens" && { transform: square, transformNorm: norm }),
    ...(typeof head === "object" && { classifier: dense(head.classes) }),
  };
  const apply = (params: Params, name: string, x: Value): Value =>
    inLayer(name, () => (parts[name] as Model).apply(childParams(params, name), x));
  const weight = (params: Params, name: string, member: string): Value =>
    inLayer(name, () => parameter("bert", childParams(params, name), member));

  return {
    kind: "bert",
    layers: parts,
    init: (key, input, where) => {
      const tokens = ("tokens" in input ? input.tokens : input) as Specs<Value>;
      const drawn: Record<string, Params<Tensor>> = {};
      for (const [name, part] of Object.entries(parts)) {
        const like = part.kind === "embedding" ? tokens : spec([...tokens.shape, width]);
        drawn[name] = inLayer(name, () => part.init(childKey(key, name), like, where));
      }
      if (head === "tokens") {
        const { b } = dense(vocabulary).init(childKey(key, "decoder"), spec([1, width]), where);
        drawn.decoder = { b: b as Tensor };
      }
      return drawn;
    },
    apply: (params, input) => {
      const { tokens, types: kinds, mask }: BertInput = input instanceof Value ? { tokens: input } : input;
      const time = tokens.shape[1] as number;
      const ofTypes = kinds ? apply(params, "types", kinds) : np.slice(weight(params, "types", "w"), [0, 1]);
      const places = np.slice(weight(params, "positions", "w"), [0, time]);
      const x = apply(params, "norm", np.add(np.add(apply(params, "tokens", tokens), ofTypes), places));
      const encoder = parts.encoder as ReturnType<typeof transformerEncoder>;
      const hidden = inLayer("encoder", () =>
        encoder.apply(
          childParams(params, "encoder"),
          mask ? { x, mask: np.expandDims(np.astype(mask, "bool"), [1, 2]) } : x,
        ),
      );
      const pooled = pooler ? tanh(apply(params, "pooler", np.slice(hidden, ":", 0))) : undefined;
      return { hidden, ...(pooled && { pooled }), ...logitsOf(params, hidden, pooled) };
    },
  };

  function logitsOf(params: Params, hidden: Value, pooled: Value | undefined): { readonly logits?: Value } {
    if (typeof head === "object" && pooled) return { logits: apply(params, "classifier", pooled) };
    if (head !== "tokens") return {};
    const active = gelu(apply(params, "transform", hidden), { approximate: false });
    const normed = apply(params, "transformNorm", active);
    const scores = np.matmul(normed, np.transpose(weight(params, "tokens", "w")));
    return { logits: np.add(scores, weight(params, "decoder", "b")) };
  }
}
