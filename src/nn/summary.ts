import { bytesText, countText, isPlainObject, tableLines, treeLeaves, widthOf } from "../core/index.ts";
import { evalShape, type Spec, type Specs, type Value } from "../engine/index.ts";
import { checkModel, parameterSpecs, watchLayers } from "./layer.ts";
import type { Model, Params } from "./model.ts";
import { checkOptions, checkSize, row } from "./options.ts";

/** Options of {@link summary}. */
export interface SummaryOptions {
  /** Depth of the rows: layers further inside count with the ones around them. Default: all. */
  readonly depth?: number;
}

interface Row {
  readonly path: string;
  readonly kind: string;
  output: string;
  parameters: number;
  bytes: number;
}

/**
 * A table of a model's layers for inputs like `input`: what each gives, and its parameters and their memory. Nothing is
 * drawn or computed.
 *
 * @example
 * ```ts
 * console.log(nn.summary(model, spec([32, 28, 28, 1])));
 * ```
 */
export function summary<X, Y>(model: Model<X, Y>, input: Specs<X>, options: SummaryOptions = {}): string {
  checkOptions("summary", options, { depth: row.size });
  checkModel("summary", model);
  const depth =
    options.depth === undefined ? Number.POSITIVE_INFINITY : checkSize("summary", "depth", options.depth);
  const params = parameterSpecs(model, input);
  const rows = rowsOf(model, params, input, depth);
  for (const [path, spec] of leavesOf(params)) {
    const row = ownerOf(rows, path);
    row.parameters += spec.type.size;
    row.bytes += spec.type.bytes;
  }
  const shown = [...rows.values()].filter((row) => row.path !== "" || row.parameters > 0 || rows.size === 1);
  const total = (of: "parameters" | "bytes") => shown.reduce((sum, row) => sum + row[of], 0);
  const lines = tableLines(
    [
      ["layer", "kind", "output", "parameters", "memory"],
      ...shown.map((row) => [
        row.path || "(model)",
        row.kind,
        row.output,
        countText(row.parameters),
        bytesText(row.bytes),
      ]),
      [
        "total",
        model.kind,
        rows.get("")?.output ?? "",
        countText(total("parameters")),
        bytesText(total("bytes")),
      ],
    ],
    { right: [3, 4] },
  );
  const rule = "-".repeat(widthOf(lines[0] ?? ""));
  return [lines[0], rule, ...lines.slice(1, -1), rule, lines.at(-1)].join("\n");
}

/** A row for each layer in the order they are entered; the whole model is the one without a path. */
function rowsOf<X, Y>(
  model: Model<X, Y>,
  params: Params<Spec>,
  input: Specs<X>,
  depth: number,
): Map<string, Row> {
  const rows = new Map<string, Row>();
  const enter = (path: string): void => {
    const names = path === "" ? [] : path.split(".");
    if (names.length <= depth && !rows.has(path))
      rows.set(path, { path, kind: kindAt(model, names), output: "", parameters: 0, bytes: 0 });
  };
  const leave = (path: string, result: unknown): void => {
    const row = rows.get(path);
    if (row)
      row.output = treeLeaves<Value>(result as Value)
        .map(typeText)
        .join(", ");
  };
  enter("");
  evalShape(
    (p: Params, x: X) => {
      const result = watchLayers({ enter, leave }, () => model.apply(p, x));
      leave("", result);
      return 0;
    },
    params,
    input,
  );
  return rows;
}

const typeText = (value: Value): string => `${value.dtype}[${value.shape.join(", ")}]`;

function kindAt(model: Model<never, unknown>, [name, ...rest]: readonly string[]): string {
  if (name === undefined) return model.kind;
  const inner = model.layers?.[name];
  return inner ? kindAt(inner, rest) : "";
}

function leavesOf(params: Params<Spec>, path = ""): (readonly [string, Spec])[] {
  return Object.entries(params).flatMap(([name, part]) => {
    const at = path === "" ? name : `${path}.${name}`;
    return isPlainObject(part) ? leavesOf(part as Params<Spec>, at) : [[at, part as Spec] as const];
  });
}

/** The row of the innermost layer that a parameter belongs to. */
function ownerOf(rows: ReadonlyMap<string, Row>, path: string): Row {
  const outer = path.slice(0, Math.max(0, path.lastIndexOf(".")));
  const row = rows.get(outer);
  return row ?? ownerOf(rows, outer);
}
