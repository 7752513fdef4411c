import { EspalierError, shown } from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";

/** What can be logged: a number (a truth value is 0 or 1), a text, many numbers, or any of them on a device. */
export type LoggedValue = number | bigint | boolean | string | ArrayLike<number> | Tensor | null | undefined;

/** What a value is on the host, or the tensor that holds it; undefined where there is none. */
export function readable(
  value: unknown,
  category: string,
  name: string,
): number | string | ArrayLike<number> | Tensor | undefined {
  switch (typeof value) {
    case "number":
      return value;
    case "boolean":
    case "bigint":
      return Number(value);
    case "string":
      return value;
    case "undefined":
      return undefined;
    case "object":
      if (value === null) return undefined;
      if (value instanceof Tensor) return value;
      if (ArrayBuffer.isView(value) && !(value instanceof DataView))
        return value as unknown as ArrayLike<number>;
      if (Array.isArray(value) && value.every((each) => typeof each === "number")) return value;
  }
  throw new EspalierError("METRIC_VALUE", `${category}/${name} was logged as ${preview(value)}`, {
    fix: "log numbers, texts, arrays of numbers or tensors; of an object log its numbers, each under a name of its own",
  });
}

function preview(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  let text: string;
  try {
    text = shown(value);
  } catch {
    text = "an object";
  }
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
