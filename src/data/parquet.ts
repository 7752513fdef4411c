import { checkOptions, node, type Options, option } from "../core/index.ts";
import { count, Dataset, type Reader, rowError, sourceError } from "./dataset.ts";
import {
  DataFile,
  type MissingValues,
  missingOption,
  missingValue,
  type Row,
  unknownColumn,
} from "./text-files.ts";

const table = {
  /** Columns to read. Default: all. */
  columns: option.made<readonly string[]>("a list of names", Array.isArray, {}),
  /** Values for nulls, by column. Default: a null is an error. */
  missing: missingOption,
};

/** Options of {@link parquet}. */
export interface ParquetOptions extends Options<typeof table> {}

/**
 * The rows of a Parquet file by column, a stream that can start at any row. One group of rows is in memory at a time.
 * Whole numbers of 64 bits become numbers.
 *
 * @example
 * ```ts
 * const rides = parquet("rides.parquet", { columns: ["distance", "price"] });
 * ```
 */
export function parquet<T extends object = Row>(
  path: string | URL,
  options: ParquetOptions = {},
): Dataset<T> {
  checkOptions("parquet", options, table);
  const file = new DataFile(path);
  let opened: ReturnType<typeof openParquet> | undefined;
  return new Dataset<T>({
    name: file.name,
    recipe: { kind: "parquet", args: [file.path, options] },
    open: (_pass, from): Reader<T> => {
      let row = count(file.name, from, "row");
      let group:
        | { readonly start: number; readonly rows: readonly Readonly<Record<string, unknown>>[] }
        | undefined;
      return {
        next: async () => {
          try {
            opened ??= openParquet(file, options);
            const { groups, read } = await opened;
            if (!group || row >= group.start + group.rows.length) {
              const next = groups.find(({ end }) => row < end);
              if (!next) return undefined;
              group = { start: next.start, rows: await read(next.start, next.end) };
              if (group.rows.length !== next.end - next.start)
                throw new Error(
                  `rows ${next.start} to ${next.end - 1} are a group with ${group.rows.length} rows`,
                );
            }
          } catch (cause) {
            opened = undefined;
            throw sourceError(file.name, undefined, cause);
          }
          const index = row++;
          try {
            const values = group.rows[index - group.start] as Readonly<Record<string, unknown>>;
            return { value: rowOf(values, options.missing ?? {}) as T, index };
          } catch (cause) {
            throw rowError(file.name, index, cause);
          }
        },
        bookmark: () => ({ row }),
        close: () => undefined,
      };
    },
  });
}

async function openParquet(file: DataFile, { columns, missing = {} }: ParquetOptions) {
  const { parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import("hyparquet");
  const buffer = {
    byteLength: file.size,
    slice: (start: number, end = file.size) => file.read(start, end - start).buffer,
  };
  const metadata = await parquetMetadataAsync(buffer);
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  for (const name of [...(columns ?? []), ...Object.keys(missing)])
    if (!names.includes(name)) throw unknownColumn(name, names);
  const compressors = {
    GZIP: (bytes: Uint8Array) => node.zlib.gunzipSync(bytes),
    BROTLI: (bytes: Uint8Array) => node.zlib.brotliDecompressSync(bytes),
    // From Node 22.15 on.
    ...("zstdDecompressSync" in node.zlib && {
      ZSTD: node.zlib.zstdDecompressSync as (bytes: Uint8Array) => Uint8Array,
    }),
  };
  let end = 0;
  const groups = metadata.row_groups.map(({ num_rows }) => {
    const start = end;
    end += Number(num_rows);
    return { start, end };
  });
  return {
    groups,
    read: (rowStart: number, rowEnd: number) =>
      parquetReadObjects({
        file: buffer,
        metadata,
        rowStart,
        rowEnd,
        compressors,
        ...(columns && { columns: [...columns] }),
      }),
  };
}

function rowOf(
  values: Readonly<Record<string, unknown>>,
  missing: MissingValues,
): Readonly<Record<string, unknown>> {
  const row: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values))
    if (value === null || value === undefined) row[name] = missingValue(name, value, missing);
    else row[name] = typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return row;
}
