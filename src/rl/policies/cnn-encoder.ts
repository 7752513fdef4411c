import { EspalierError } from "../../core/index.ts";
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
import type { CnnSpec } from "./spec.ts";

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
  const act = activations[activation];
  const layers: Record<string, Layer> = {};
  const at = (given: number | readonly number[], i: number): number =>
    typeof given === "number" ? given : (given[i] as number);
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
    const scaled = scale === 1 ? image : np.divide(image, scale);
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
