import { EspalierError } from "../core/index.ts";
import { Value } from "../engine/index.ts";
import type { Loss, LossTerm, Named } from "./loss.ts";

/** A loss written as a plain function of the forward pass's outputs and the batch. */
export type LossFunction<B = Named, O = unknown> = (outputs: O, batch: B) => Value | LossTerm;

/**
 * A loss from a plain function, which is always active and counts once; a loss as it is. The name is the function's
 * own unless one is given.
 *
 * @example
 * ```ts
 * const loss = asLoss((y: Value, batch: { readonly labels: Value }) => nn.crossEntropy(y, batch.labels), "labels");
 * ```
 */
export function asLoss<B = Named, O = unknown>(
  loss: LossFunction<B, O> | Loss<B, O>,
  name?: string,
): Loss<B, O> {
  if (typeof loss === "function")
    return {
      name: name ?? (loss.name || "loss"),
      term: ({ outputs, batch }) => {
        const given = loss(outputs, batch);
        return given instanceof Value ? { loss: given } : given;
      },
    };
  if (typeof loss !== "object" || loss === null || typeof loss.term !== "function")
    throw new EspalierError(
      "LOSS_INVALID",
      `a loss is a function or an object with name and term, and this is ${described(loss)}`,
      {
        fix: "pass (outputs, batch) => value, or { name, term: ({ outputs, batch }) => ({ loss }) }",
      },
    );
  return loss;
}

function described(loss: unknown): string {
  if (typeof loss !== "object" || loss === null) return String(loss);
  const { name } = loss as { readonly name?: unknown };
  return typeof name === "string" ? `an object called "${name}" without term` : "an object without term";
}
