import { EspalierError } from "./error.ts";
import { didYouMean } from "./suggest.ts";

/**
 * Options of everything that takes some, as one table: what each may be, its default, and one line of documentation.
 * Checks, messages, tables in the docs and a JSON schema follow from it.
 *
 * ```ts
 * interface LoaderOptions {
 *   readonly batchSize: number;
 *   readonly lastBatch?: "keep" | "drop";
 * }
 *
 * const options = {
 *   batchSize: option.integer({ min: 1, required: true, doc: "Examples in a batch." }),
 *   lastBatch: option.oneOf(["keep", "drop"], { default: "keep", doc: "What happens to an incomplete last batch." }),
 * } satisfies OptionTable<LoaderOptions>;
 *
 * checkOptions("loader", given, options);              // throws OPTION_UNKNOWN or OPTION_INVALID
 * const { lastBatch } = resolveOptions("loader", given, options); // checks, and fills in defaults
 * ```
 */

/** One option. `T` is the type of its value. */
export interface Option<T = unknown> {
  /** The values it takes, as messages say it: "a whole number from 1 on". */
  readonly is: string;
  accepts(value: unknown): boolean;
  /** The value when it is left out. */
  readonly default?: T;
  readonly required?: boolean;
  readonly doc?: string;
  /** JSON schema of its values. Undefined where a file cannot express them (functions, models, tensors). */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Options of an option that is an object itself. They are checked under its name: `normalize.rewards`. */
  readonly members?: Rows;
}

/** A table for the options of `O`: each of its members has a row, and no row is without a member. */
export type OptionTable<O extends object = Readonly<Record<string, unknown>>> = {
  readonly [K in keyof O]-?: Option<Exclude<O[K], undefined>>;
};

/** Any table. */
export type OptionRows = Readonly<Record<string, Option>>;
type Rows = OptionRows;

/** Options after checking: those with a default, and required ones, are always there. */
export type Settings<T extends Rows> = {
  readonly [K in keyof T]: T[K] extends Option<infer V>
    ? T[K] extends { readonly default: unknown } | { readonly required: true }
      ? V
      : V | undefined
    : never;
};

/** Options as a caller gives them, by their table. Doc comments of its rows are those of the options. */
export type Options<T extends Rows> = Pick<Settings<T>, RequiredNames<T>> &
  Omitted<{ readonly [K in keyof T]?: Settings<T>[K] | undefined }, RequiredNames<T>>;

type RequiredNames<T extends Rows> = {
  [K in keyof T]: T[K] extends { readonly required: true } ? K : never;
}[keyof T];

/** As `Omit`, which would lose doc comments. */
type Omitted<T, Names> = Pick<T, Exclude<keyof T, Names>>;

/** Error codes and the wording for what the options belong to, where it differs from the usual. */
export interface OptionWording {
  readonly unknown?: string;
  readonly invalid?: string;
}

/** One thing that is wrong with options. */
export interface OptionProblem {
  /** The option, with those that it lies in: ["normalize", "rewards"]. */
  readonly path: readonly string[];
  readonly error: EspalierError;
}

/** The result of a check: the options that were given, and all that is wrong with them. */
export interface CheckedOptions {
  readonly given: object;
  readonly problems: readonly OptionProblem[];
}

const found = new WeakMap<EspalierError, CheckedOptions>();

/** All that the check which threw this error found. A configuration file shows every problem, with its place. */
export const checkedOptions = (error: unknown): CheckedOptions | undefined =>
  error instanceof EspalierError ? found.get(error) : undefined;

/**
 * Stands for a value that could not be made: every option accepts it, so that those beside it are checked, and nothing
 * is made with it.
 */
export const notMade = Symbol("not made");

/** Refuses options that the table does not have, and values that they cannot have. `undefined` means left out. */
export function checkOptions(kind: string, given: object, table: Rows, wording: OptionWording = {}): void {
  if (reading) throw new TableRead(table);
  const problems = optionProblems(kind, given, table, wording);
  const [first] = problems;
  if (first) {
    found.set(first.error, { given, problems });
    throw first.error;
  }
  if (Object.values(given).includes(notMade)) throw new EspalierError("OPTION_NOT_MADE", `${kind}: not made`);
}

class TableRead {
  readonly table: Rows;
  constructor(table: Rows) {
    this.table = table;
  }
}
let reading = false;

/** The options that a function takes: the table that it checks them by. Undefined where it has none. */
export function optionsOf(maker: (...args: never[]) => unknown): Rows | undefined {
  reading = true;
  try {
    const made = (maker as (...args: unknown[]) => unknown)({});
    if (made instanceof Promise) made.catch(() => undefined);
  } catch (error) {
    if (error instanceof TableRead) return error.table;
  } finally {
    reading = false;
  }
  return undefined;
}

/** All that is wrong with options, in the order of the table, what it does not have first. */
export function optionProblems(
  kind: string,
  given: object,
  table: Rows,
  wording: OptionWording = {},
): OptionProblem[] {
  const problems = unknownNames(kind, given, Object.keys(table), wording);
  if (!isOptions(given)) return problems;
  for (const [name, row] of Object.entries(table)) {
    const value = given[name];
    if (value === notMade || (value === undefined && !row.required)) continue;
    const error = valueProblem(kind, name, value, row, wording);
    const inner =
      row.members && isOptions(value) ? optionProblems(`${kind}: ${name}`, value, row.members, wording) : [];
    problems.push(...inner.map(({ path, error }) => ({ path: [name, ...path], error })));
    if (error) problems.push({ path: [name], error });
  }
  return problems;
}

/** True for an object that has methods of these names; for a list only where there is one. */
export const hasMethods = (value: unknown, methods: readonly string[]): boolean =>
  (methods.length > 0 || isOptions(value)) &&
  methods.every((name) => typeof Reflect.get(Object(value), name) === "function");

const isOptions = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Refuses a single value that is not what its row says. */
export function checkValue(
  kind: string,
  name: string,
  value: unknown,
  row: Option,
  wording: OptionWording = {},
): void {
  const error = valueProblem(kind, name, value, row, wording);
  if (error) throw error;
}

function valueProblem(
  kind: string,
  name: string,
  value: unknown,
  row: Option,
  wording: OptionWording,
): EspalierError | undefined {
  if (row.accepts(value)) return undefined;
  const words = row.schema?.enum as readonly string[] | undefined;
  const hint = words && typeof value === "string" ? didYouMean(value, words) : "";
  return new EspalierError(
    wording.invalid ?? "OPTION_INVALID",
    value === undefined
      ? `${kind}: ${name} is missing`
      : `${kind}: ${name} is ${shown(value)}, which is not ${row.is}${hint}`,
    { fix: `give ${row.is}` },
  );
}

/** Checks options and fills in defaults. The result has every option of the table and nothing else. */
export function resolveOptions<const T extends Rows>(
  kind: string,
  given: object,
  table: T,
  wording: OptionWording = {},
): Settings<T> {
  checkOptions(kind, given, table, wording);
  const values = given as Readonly<Record<string, unknown>>;
  const settings = Object.entries(table).map(([name, row]) => [name, values[name] ?? row.default]);
  return Object.fromEntries(settings) as Settings<T>;
}

/** Members that every kind of option can have. */
interface Common<T> {
  readonly default?: T;
  readonly required?: true;
  readonly doc?: string;
}

/** An option made from `Common` settings `C`: its type keeps whether it has a default or is required. */
type Made<T, C> = (C extends { readonly default: unknown }
  ? Omit<Option<T>, "default"> & { readonly default: T }
  : Option<T>) &
  (C extends { readonly required: true } ? { readonly required: true } : unknown);

/** Limits of a number: `min` and `max` belong to the range, `above` and `below` do not. */
interface Range {
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly below?: number;
}

function made<T, C extends Common<T>>(
  common: C,
  rest: Omit<Option<T>, "default" | "required" | "doc">,
): Made<T, C> {
  return { ...rest, ...common } as Made<T, C>;
}

function inRange(value: number, { min, max, above, below }: Range): boolean {
  return (
    (min === undefined || value >= min) &&
    (max === undefined || value <= max) &&
    (above === undefined || value > above) &&
    (below === undefined || value < below)
  );
}

/** " from 1 on", " from 0 to 1", " above 0". */
function rangeText({ min, max, above, below }: Range): string {
  const from = min !== undefined ? ` from ${min}` : above !== undefined ? ` above ${above}` : "";
  if (max !== undefined) return `${from} to ${max}`;
  if (below !== undefined) return from === "" ? ` below ${below}` : `${from} to below ${below}`;
  return min !== undefined ? `${from} on` : from;
}

const rangeSchema = ({ min, max, above, below }: Range): Readonly<Record<string, number>> => ({
  ...(min !== undefined && { minimum: min }),
  ...(max !== undefined && { maximum: max }),
  ...(above !== undefined && { exclusiveMinimum: above }),
  ...(below !== undefined && { exclusiveMaximum: below }),
});

/** Makes the rows of an option table. */
export const option = {
  /** A whole number. */
  integer<const C extends Common<number> & Range>(given: C): Made<number, C> {
    const { min, max, above, below, ...common } = given;
    const range = { min, max, above, below } as Range;
    return made<number, C>(common as unknown as C, {
      is: `a whole number${rangeText(range)}`,
      accepts: (value) => Number.isSafeInteger(value) && inRange(value as number, range),
      schema: { type: "integer", ...rangeSchema(range) },
    });
  },

  /** A number. Finite, unless `infinite` allows Infinity (limits that are off). */
  number<const C extends Common<number> & Range & { readonly infinite?: true }>(given: C): Made<number, C> {
    const { min, max, above, below, infinite, ...common } = given;
    const range = { min, max, above, below } as Range;
    const finite = infinite || max !== undefined || below !== undefined ? "" : "finite ";
    return made<number, C>(common as unknown as C, {
      is: `a ${finite}number${rangeText(range)}`,
      accepts: (value) =>
        typeof value === "number" &&
        (Number.isFinite(value) || (infinite === true && !Number.isNaN(value))) &&
        inRange(value, range),
      schema: { type: "number", ...rangeSchema(range) },
    });
  },

  /** true or false. */
  flag<const C extends Common<boolean>>(given: C): Made<boolean, C> {
    return made<boolean, C>(given, {
      is: "true or false",
      accepts: (value) => typeof value === "boolean",
      schema: { type: "boolean" },
    });
  },

  /** A text that is not empty. */
  text<const C extends Common<string>>(given: C): Made<string, C> {
    return made<string, C>(given, {
      is: "a text",
      accepts: (value) => typeof value === "string" && value !== "",
      schema: { type: "string", minLength: 1 },
    });
  },

  /** One of some words. */
  oneOf<const W extends string, const C extends Common<W>>(words: readonly W[], given: C): Made<W, C> {
    return made<W, C>(given, {
      is: words.map((word) => JSON.stringify(word)).join(words.length > 2 ? ", " : " or "),
      accepts: (value) => words.includes(value as W),
      schema: { type: "string", enum: words },
    });
  },

  /** Something that a program makes and a file cannot express: `is` says what to give, with an example. */
  made<T, const C extends Common<T> = Common<T>>(
    is: string,
    accepts: (value: unknown) => boolean,
    given: C,
  ): Made<T, C> {
    return made<T, C>(given, { is, accepts });
  },

  /** Something that is checked where it is used. */
  anything: <T>(is: string): Option<T> => ({ is, accepts: () => true }),

  /** A function: `is` says of what. */
  function<F, const C extends Common<F> = Common<F>>(is: string, given: C): Made<F, C> {
    return made<F, C>(given, { is, accepts: (value) => typeof value === "function" });
  },

  /** A list. */
  list<T, const C extends Common<readonly T[]> = Common<readonly T[]>>(is: string, given: C) {
    return made<readonly T[], C>(given, { is, accepts: Array.isArray });
  },

  /** An object that has these methods, such as a schedule with `due`. */
  object<T, const C extends Common<T> = Common<T>>(is: string, methods: readonly string[], given: C) {
    return made<T, C>(given, { is, accepts: (value) => hasMethods(value, methods) });
  },

  /** An object with options of its own. */
  group<O extends object, const C extends Common<O> = Common<O>>(
    members: Rows & OptionTable<O>,
    given: C,
  ): Made<O, C> {
    return made<O, C>(given, {
      is: `an object such as { ${Object.keys(members)[0]}: ... }`,
      accepts: isOptions,
      schema: optionsSchema(members),
      members,
    });
  },

  /** A value of any of several options: a number or a ramp. Their own defaults do not count. */
  either<A, B, const C extends Common<A | B>>(a: Option<A>, b: Option<B>, given: C): Made<A | B, C> {
    const schemas = [a.schema, b.schema].filter((schema) => schema !== undefined);
    const schema = schemas.length > 1 ? { anyOf: schemas } : schemas[0];
    return made<A | B, C>(given, {
      is: `${a.is}, or ${b.is}`,
      accepts: (value) => a.accepts(value) || b.accepts(value),
      ...(schema && { schema }),
    });
  },
};

/** The same option, which must be given. */
export const required = <T>(row: Option<T>) => ({ ...row, required: true }) as const;

/** JSON schema of a table, without the options that a file cannot express. */
export function optionsSchema(table: Rows): Readonly<Record<string, unknown>> {
  const rows = Object.entries(table).filter(([, { schema }]) => schema !== undefined);
  const properties = rows.map(([name, { schema, doc, default: value }]) => [
    name,
    {
      ...schema,
      ...(doc !== undefined && { description: doc }),
      ...(value !== undefined &&
        Number.isFinite(value) === (typeof value === "number") && { default: value }),
    },
  ]);
  const required = rows.filter(([, row]) => row.required).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** An error about the value of an option. */
export const badOption = (kind: string, what: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${kind}: ${what}`, { fix });

/** Refuses options that `kind` does not have, and what are no options at all. */
export function checkNames(
  kind: string,
  options: object,
  known: readonly string[],
  wording: OptionWording = {},
): void {
  const [first] = unknownNames(kind, options, known, wording);
  if (first) throw first.error;
}

function unknownNames(
  kind: string,
  options: object,
  known: readonly string[],
  wording: OptionWording,
): OptionProblem[] {
  if (!isOptions(options)) {
    const fix = known.length === 0 ? "leave them out" : `give an object: { ${known[0]}: ... }`;
    const text = `${kind}: its options are ${shown(options)}`;
    return [{ path: [], error: new EspalierError(wording.invalid ?? "OPTION_INVALID", text, { fix }) }];
  }
  const fix =
    known.length === 0 ? `${kind} has no options` : `the options of ${kind} are ${known.join(", ")}`;
  return Object.keys(options)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const text = `${kind}: there is no option "${name}"${didYouMean(name, known)}`;
      return {
        path: [name],
        error: new EspalierError(wording.unknown ?? "OPTION_UNKNOWN", text, { fix }),
      };
    });
}

/** A size: a whole number from 1 on. */
export function checkSize(kind: string, option: string, given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  throw badOption(kind, `${option} is ${shown(given)}`, "give a whole number from 1 on");
}

/** One of the words an option knows. */
export function checkWord<T extends string>(
  kind: string,
  option: string,
  given: unknown,
  known: readonly T[],
): T {
  const found = known.find((word) => word === given);
  if (found !== undefined) return found;
  const hint = typeof given === "string" ? didYouMean(given, known) : "";
  const words = known.map((word) => `"${word}"`).join(", ");
  throw badOption(kind, `${option} cannot be ${shown(given)}${hint}`, `use ${words}`);
}

/** As long as a value may be in a message. */
const longest = 120;

/** A value as messages show it, whatever it is; long ones are cut. */
export function shown(value: unknown): string {
  const text = inWords(value);
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text;
}

function inWords(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // It refers to itself, or has something within that JSON does not know.
    if (Array.isArray(value)) return "a list";
    const name = value?.constructor?.name ?? "Object";
    return name === "Object" ? "an object" : `an object of class ${name}`;
  }
}
