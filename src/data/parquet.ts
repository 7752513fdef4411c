import { checkOptions, EspalierError, messageOf, node, type Options, option } from "../core/index.ts";
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
          opened ??= openParquet(file, options).catch((cause) => {
            opened = undefined;
            throw notParquet(file.name, cause);
          });
          const { groups, read } = await opened;
          if (!group || row >= group.start + group.rows.length) {
            const next = groups.find(({ end }) => row < end);
            if (!next) return undefined;
            const from = row;
            try {
              group = { start: next.start, rows: await read(next) };
            } catch (cause) {
              row = next.end; // The next call goes on with the group behind it.
              throw unreadable(file.name, from, next.end, cause);
            }
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
    slice: (start: number, end = file.size) => {
      try {
        return file.read(start, end - start).buffer;
      } catch (cause) {
        throw sourceError(file.name, undefined, cause);
      }
    },
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
    read: async ({ start, end }: RowGroup) => {
      const rows = await parquetReadObjects({
        file: buffer,
        metadata,
        rowStart: start,
        rowEnd: end,
        compressors,
        ...(columns && { columns: [...columns] }),
      });
      if (rows.length === end - start) return rows;
      throw new Error(`a group of ${end - start} rows has ${rows.length}`);
    },
  };
}

interface RowGroup {
  readonly start: number;
  readonly end: number;
}

function notParquet(name: string, cause: unknown): EspalierError {
  if (cause instanceof EspalierError) return sourceError(name, undefined, cause);
  const message = `${name} is no Parquet file that can be read: ${messageOf(cause)}`;
  return new EspalierError("DATA_CORRUPT", message, {
    fix: "write or copy the file again: its end, which says where rows are, is damaged or missing",
    cause,
  });
}

/** The error of a group's rows, which can be skipped. Of a file that is gone or compressed otherwise there are none. */
function unreadable(name: string, from: number, end: number, cause: unknown): EspalierError {
  if (cause instanceof EspalierError || messageOf(cause).includes("unsupported compression"))
    return sourceError(name, undefined, cause);
  const message = `rows ${from} to ${end - 1} cannot be read: ${messageOf(cause)}`;
  const corrupt = new EspalierError("DATA_CORRUPT", message, {
    fix: "write the file again, or leave these rows out: data.skipBad(), or the loader's onBadExample",
    cause,
  });
  return rowError(name, from, Object.assign(corrupt, { lostRows: end - from }));
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
