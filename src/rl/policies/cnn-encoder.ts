import { badOption, didYouMean, EspalierError } from "../../core/index.ts";
import { evalShape, np, spec, type Value } from "../../engine/index.ts";
import {
  childKey,
  childParams,
  conv2d,
  flatten,
  inLayer,
  type Layer,
  type Model,
  type Params,
  sequential,
} from "../../nn/index.ts";
import type { Space } from "../spaces/space.ts";
import { activations } from "./activations.ts";
import { hiddenInits, hiddenLayers } from "./hidden-layers.ts";
import { type ObservationPart, observationParts } from "./observation-parts.ts";
import type { CnnSpec, PolicySpec } from "./spec.ts";

type Picture = ObservationPart & { readonly picture: readonly [number, number, number] };

const isPicture = (part: ObservationPart): part is Picture => part.picture !== undefined;

/**
 * Convolutions over every picture in a flat observation, then dense layers over what they gave and all that is no
 * picture. Parameters: `conv0`, `conv1`, ... (for a dict of observations `pictures.name.conv0`), `hidden0`, ...
 */
export function cnnEncoder(
  { channels, kernel = 3, strides = 1, hidden = [512], activation = "relu", scale = 1 }: CnnSpec,
  space: Space,
): Model {
  const parts = observationParts(space);
  const pictures = parts.filter(isPicture);
  if (pictures.length === 0)
    throw new EspalierError(
      "SPACE_UNSUPPORTED",
      "a cnn needs a picture, a box [height, width, channels], and the observations have none",
      { fix: 'describe the policy with encoder: { kind: "mlp" }, or make observations such boxes' },
    );
  checkWindows(pictures, channels.length, (i) => [at(kernel, i), at(strides, i)]);
  const scaleOf = scales(scale, pictures);
  const act = activations[activation];
  const layers: Record<string, Layer> = {};
  channels.forEach((count, i) => {
    layers[`conv${i}`] = conv2d(count, at(kernel, i), { strides: at(strides, i), ...hiddenInits });
    layers[`convActivation${i}`] = act;
  });
  layers.flatten = flatten();
  const convolutions = sequential(layers);
  const behind = hiddenLayers(hidden, act);
  const alone = space.kind !== "dict";

  const seen = (params: Params, rows: Value, { from, to, picture, name }: Picture): Value => {
    const image = np.reshape(np.slice(rows, "...", [from, to]), [-1, ...picture]);
    const by = scaleOf(name);
    const scaled = by === 1 ? image : np.divide(image, by);
    if (alone) return convolutions.apply(params, scaled);
    const own = childParams(childParams(params, "pictures"), name);
    return inLayer(`pictures.${name}`, () => convolutions.apply(own, scaled));
  };
  const features = (params: Params, rows: Value): Value =>
    np.concatenate(
      parts.map((part) =>
        isPicture(part) ? seen(params, rows, part) : np.slice(rows, "...", [part.from, part.to]),
      ),
      { axis: -1 },
    );

  return {
    kind: "cnnEncoder",
    init: (key, input, options) => {
      const draw = ({ name, picture }: Picture) =>
        convolutions.init(childKey(key, alone ? "convolutions" : name), spec([1, ...picture]), options);
      const own = alone
        ? draw(pictures[0] as Picture)
        : { pictures: Object.fromEntries(pictures.map((part) => [part.name, draw(part)])) };
      const width = evalShape((p: Params, x: Value) => features(p, x), own, input);
      return { ...own, ...behind.init(childKey(key, "hidden"), width, options) };
    },
    apply: (params, rows, options) => behind.apply(params, features(params, rows), options),
  };
}

const at = (given: number | readonly number[], i: number): number =>
  typeof given === "number" ? given : (given[i] as number);

/** Refuses windows that do not fit into what they move over. */
function checkWindows(
  pictures: readonly Picture[],
  convolutions: number,
  windowAt: (i: number) => readonly [length: number, stride: number],
): void {
  for (const { picture } of pictures) {
    let [height, width] = picture as readonly [number, number, number];
    for (let i = 0; i < convolutions; i++) {
      const [length, stride] = windowAt(i);
      if (Math.min(height, width) < length)
        throw badOption(
          "policy.encoder",
          `the window of convolution ${i} is ${length} by ${length}, and a picture [${picture.join(", ")}] is ${height} by ${width} there`,
          "give smaller kernels or strides, fewer convolutions, or larger pictures [height, width, channels]",
        );
      height = Math.floor((height - length) / stride) + 1;
      width = Math.floor((width - length) / stride) + 1;
    }
  }
}

/** What each picture is divided by. */
function scales(
  scale: NonNullable<CnnSpec["scale"]>,
  pictures: readonly Picture[],
): (name: string) => number {
  if (typeof scale === "number") return () => scale;
  const names = pictures.map(({ name }) => name);
  for (const name of Object.keys(scale))
    if (!names.includes(name))
      throw badOption(
        "policy.encoder",
        `scale names "${name}", and there is no such picture${didYouMean(name, names)}`,
        `name ${names.join(", ")}, or give one number for all`,
      );
  return (name) => scale[name] ?? 1;
}

/** Bounds beyond this are taken for none. */
const mostScale = 65_535;

/** A description with what pictures are divided by, where it does not say it: what their bounds tell. */
export function withScale(given: PolicySpec, space: Space): PolicySpec {
  const { encoder } = given;
  if (encoder?.kind !== "cnn" || encoder.scale !== undefined) return given;
  const found = observationParts(space)
    .filter(isPicture)
    .map(({ name, limit }) => [name, limit > 1 && limit <= mostScale ? limit : 1] as const);
  const [first = 1, ...others] = found.map(([, scale]) => scale);
  if (others.every((scale) => scale === first))
    return first === 1 ? given : { ...given, encoder: { ...encoder, scale: first } };
  return { ...given, encoder: { ...encoder, scale: Object.fromEntries(found) } };
}
