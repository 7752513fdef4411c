import { badOption, didYouMean, EspalierError } from "../../core/index.ts";
import { evalShape, np, spec, type Value } from "../../engine/index.ts";
import {
  childKey,
  childParams,
  conv2d,
  dense,
  flatten,
  initializers,
  inLayer,
  type Layer,
  type Model,
  type Params,
  sequential,
} from "../../nn/index.ts";
import { leavesOf, type Space } from "../spaces/space.ts";
import { activations, type CnnSpec, type PolicySpec } from "./spec.ts";

/** The encoder that a spec describes: from flat observations [rows, size] to features [rows, width]. */
export function encoderFor({ encoder = { kind: "mlp" } }: PolicySpec, space: Space): Model {
  if (encoder.kind === "cnn") return cnnEncoder(encoder, space);
  const { hidden = [64, 64], activation = "tanh" } = encoder;
  return hiddenLayers(hidden, activations[activation]);
}

/** Initializers of all layers except heads. */
const hiddenInits = {
  init: initializers.orthogonal({ gain: Math.SQRT2 }),
  biasInit: initializers.zeros,
} as const;

/** Dense layers, each followed by an activation: parameters `hidden0`, `hidden1`, ... */
function hiddenLayers(widths: readonly number[], activation: (x: Value) => Value): Model {
  const layers: Record<string, Layer> = {};
  widths.forEach((width, i) => {
    layers[`hidden${i}`] = dense(width, hiddenInits);
    layers[`activation${i}`] = activation;
  });
  return sequential(layers);
}

/**
 * Convolutions over every image in a flat observation, then dense layers over their outputs and everything else.
 * Parameters: `conv0`, `conv1`, ... (for a dict of observations `pictures.name.conv0`), `hidden0`, ...
 */
function cnnEncoder(
  { channels, kernel = 3, strides = 1, hidden = [512], activation = "relu", scale = 1 }: CnnSpec,
  space: Space,
): Model {
  const parts = observationParts(space);
  const images = parts.filter(isImage);
  if (images.length === 0)
    throw new EspalierError(
      "SPACE_UNSUPPORTED",
      "a cnn needs an image, a box [height, width, channels], and the observations have none",
      { fix: 'describe the policy with encoder: { kind: "mlp" }, or make observations such boxes' },
    );
  checkKernels(images, channels.length, (i) => [at(kernel, i), at(strides, i)]);
  const scaleOf = scales(scale, images);
  const act = activations[activation];
  const layers: Record<string, Layer> = {};
  channels.forEach((count, i) => {
    layers[`conv${i}`] = conv2d(count, at(kernel, i), { strides: at(strides, i), ...hiddenInits });
    layers[`convActivation${i}`] = act;
  });
  layers.flatten = flatten();
  const convolutions = sequential(layers);
  const rest = hiddenLayers(hidden, act);
  const single = space.kind !== "dict";

  const convolved = (params: Params, rows: Value, { from, to, image: shape, name }: ImagePart): Value => {
    const image = np.reshape(np.slice(rows, "...", [from, to]), [-1, ...shape]);
    const by = scaleOf(name);
    const scaled = by === 1 ? image : np.divide(image, by);
    if (single) return convolutions.apply(params, scaled);
    const own = childParams(childParams(params, "pictures"), name);
    return inLayer(`pictures.${name}`, () => convolutions.apply(own, scaled));
  };
  const features = (params: Params, rows: Value): Value =>
    np.concatenate(
      parts.map((part) =>
        isImage(part) ? convolved(params, rows, part) : np.slice(rows, "...", [part.from, part.to]),
      ),
      { axis: -1 },
    );

  return {
    kind: "cnnEncoder",
    init: (key, input, options) => {
      const draw = ({ name, image }: ImagePart) =>
        convolutions.init(childKey(key, single ? "convolutions" : name), spec([1, ...image]), options);
      const own = single
        ? draw(images[0] as ImagePart)
        : { pictures: Object.fromEntries(images.map((part) => [part.name, draw(part)])) };
      const width = evalShape((p: Params, x: Value) => features(p, x), own, input);
      return { ...own, ...rest.init(childKey(key, "hidden"), width, options) };
    },
    apply: (params, rows, options) => rest.apply(params, features(params, rows), options),
  };
}

const at = (given: number | readonly number[], i: number): number =>
  typeof given === "number" ? given : (given[i] as number);

/** Refuses kernels that are larger than the image they slide over. */
function checkKernels(
  images: readonly ImagePart[],
  convolutions: number,
  kernelAt: (i: number) => readonly [length: number, stride: number],
): void {
  for (const { image: shape } of images) {
    let [height, width] = shape as readonly [number, number, number];
    for (let i = 0; i < convolutions; i++) {
      const [length, stride] = kernelAt(i);
      if (Math.min(height, width) < length)
        throw badOption(
          "policy.encoder",
          `the kernel of convolution ${i} is ${length} by ${length}, and an image [${shape.join(", ")}] is ${height} by ${width} there`,
          "give smaller kernels or strides, fewer convolutions, or larger images [height, width, channels]",
        );
      height = Math.floor((height - length) / stride) + 1;
      width = Math.floor((width - length) / stride) + 1;
    }
  }
}

/** The number that each image is divided by. */
function scales(
  scale: NonNullable<CnnSpec["scale"]>,
  images: readonly ImagePart[],
): (name: string) => number {
  if (typeof scale === "number") return () => scale;
  const names = images.map(({ name }) => name);
  for (const name of Object.keys(scale))
    if (!names.includes(name))
      throw badOption(
        "policy.encoder",
        `scale names "${name}", and there is no such image${didYouMean(name, names)}`,
        `name ${names.join(", ")}, or give one number for all`,
      );
  return (name) => scale[name] ?? 1;
}

/** Larger bounds count as none. */
const maxScale = 65_535;

/** The spec with the scale of its images, taken from their bounds where the spec has none. */
export function withScale(given: PolicySpec, space: Space): PolicySpec {
  const { encoder } = given;
  if (encoder?.kind !== "cnn" || encoder.scale !== undefined) return given;
  const found = observationParts(space)
    .filter(isImage)
    .map(({ name, limit }) => [name, limit > 1 && limit <= maxScale ? limit : 1] as const);
  const [first = 1, ...others] = found.map(([, scale]) => scale);
  if (others.every((scale) => scale === first))
    return first === 1 ? given : { ...given, encoder: { ...encoder, scale: first } };
  return { ...given, encoder: { ...encoder, scale: Object.fromEntries(found) } };
}

/** A leaf of the observation space within a flat observation row. */
type ObservationPart = ReturnType<typeof observationParts>[number];

/** The parts of a flat row in order. */
const observationParts = (space: Space) =>
  leavesOf(space).map(({ space: part, path, from, size }) => ({
    /** Its keys from the outermost dict on, joined by `_`; empty for a space without keys. */
    name: path.join("_"),
    /** Its columns in the row. */
    from,
    to: from + size,
    /** [height, width, channels] of an image: a box of three axes. */
    image:
      part.kind === "box" && part.shape.length === 3
        ? (part.shape as readonly [number, number, number])
        : undefined,
    /** The greatest magnitude of its numbers; Infinity without bounds. */
    limit: limitOf(part),
  }));

type ImagePart = ObservationPart & { readonly image: readonly [number, number, number] };

const isImage = (part: ObservationPart): part is ImagePart => part.image !== undefined;

function limitOf(space: Space): number {
  if (space.kind !== "box") return 1; // Choices are one-hot.
  const magnitudes = [space.low, space.high].flat().map(Math.abs);
  return magnitudes.reduce((most, each) => Math.max(most, each), 0);
}
