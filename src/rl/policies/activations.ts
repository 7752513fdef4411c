import { nn, type Value } from "../../engine/index.ts";
import type { ActivationName } from "./spec.ts";

/** The activations a description can name, with the options they have by default. */
export const activations: Readonly<Record<ActivationName, (x: Value) => Value>> = {
  relu: (x) => nn.relu(x),
  tanh: (x) => nn.tanh(x),
  gelu: (x) => nn.gelu(x),
  silu: (x) => nn.silu(x),
  elu: (x) => nn.elu(x),
  sigmoid: (x) => nn.sigmoid(x),
};
