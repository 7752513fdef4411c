import { EspalierError } from "../../core/index.ts";
import type { Series, ValueKind } from "./series.ts";
import { isTensor, type Waiting } from "./timeline.ts";

/** A value's kind; a tensor's by its size. */
export const kindOf = (value: Waiting["values"][number]): ValueKind => {
  if (typeof value === "number") return "number";
  if (typeof value === "string") return "text";
  return isTensor(value) && value.size === 1 ? "number" : "many";
};

export const twoWriters = ({ category, name, owner }: Series, other: string): EspalierError =>
  new EspalierError(
    "METRIC_TWO_WRITERS",
    `"${name}" of category "${category}" is logged by "${owner}", and now by "${other}" too`,
    { fix: "let one of them log it under another name, or in another category" },
  );

const kindNames: Readonly<Record<ValueKind, string>> = {
  number: "a number",
  text: "a text",
  many: "many numbers",
};

/** Numbers make histograms too, one by one. */
export function checkKind({ category, name, kind, reduction }: Series, given: ValueKind): void {
  if (given === kind || (reduction === "histogram" && given !== "text")) return;
  throw new EspalierError(
    "METRIC_VALUE",
    `${category}/${name} has been ${kindNames[kind]}, and is now logged as ${kindNames[given]}`,
    { fix: "log the other under a name of its own" },
  );
}
