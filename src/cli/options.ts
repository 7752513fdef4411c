import { type Command, Option } from "commander";
import { EspalierError, option as kinds } from "../core/index.ts";

/** One option of a command. `T` is the type of its value, with undefined where it may be left out. */
interface CommandOption<T = unknown> extends Common<unknown> {
  /** What follows its name: `<file>`. A flag takes nothing. */
  readonly takes?: string;
  readonly does: string;
  readonly choices?: readonly string[];
  /** The value of a text that was typed after `flag`, or after the one before. */
  read?(text: string, flag: string, before: unknown): T;
}

interface Common<T> {
  /** Its letter: `-q`. */
  readonly short?: string;
  readonly default?: T;
  /** The default as help shows it. */
  readonly usual?: string;
  readonly required?: true;
}

type Made<T, C> = CommandOption<
  C extends { readonly default: unknown } | { readonly required: true } ? T : T | undefined
>;

/** The options of a command by the names of their values: `topK` is `--top-k`. */
export type CommandOptions = Readonly<Record<string, CommandOption>>;

/** The values that the action of a command with these options gets. */
export type Values<T extends CommandOptions> = {
  readonly [K in keyof T as undefined extends ValueOf<T[K]> ? never : K]: ValueOf<T[K]>;
} & {
  readonly [K in keyof T as undefined extends ValueOf<T[K]> ? K : never]?: Exclude<ValueOf<T[K]>, undefined>;
};

type ValueOf<O> = O extends CommandOption<infer T> ? T : never;

export function withOptions(command: Command, table: CommandOptions): Command {
  for (const [name, { short, takes, does, choices, read, required, ...row }] of Object.entries(table)) {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const words = [short === undefined ? flag : `-${short}, ${flag}`, takes];
    const added = new Option(words.filter(Boolean).join(" "), does).makeOptionMandatory(required === true);
    if (choices) added.choices(choices);
    if (read) added.argParser((text, before) => read(text, flag, before));
    if (row.default !== undefined) added.default(row.default, row.usual);
    command.addOption(added);
  }
  return command;
}

/** Makes the options of commands; the last ones are those that several commands have. */
export const option = {
  flag: (does: string, common: Common<boolean> = {}): CommandOption<boolean | undefined> => ({
    ...common,
    does,
  }),

  text: <const C extends Common<string>>(takes: string, does: string, common?: C): Made<string, C> => ({
    ...common,
    takes,
    does,
  }),

  /** Several texts after one another: it takes `<keys...>`. */
  texts: (takes: string, does: string): CommandOption<readonly string[] | undefined> => ({ takes, does }),

  oneOf: <const W extends string, const C extends Common<W>>(
    takes: string,
    choices: readonly W[],
    does: string,
    common?: C,
  ): Made<W, C> => ({ ...common, takes, does, choices }),

  /** A whole number, from 1 on unless another range is given. */
  count: <const C extends Common<number> & { readonly min?: number; readonly max?: number }>(
    takes: string,
    does: string,
    common?: C,
  ): Made<number, C> => ({ ...common, takes, does, read: numberIn(kinds.integer({ min: 1, ...common })) }),

  number: <const C extends Common<number> & Parameters<typeof kinds.number>[0]>(
    takes: string,
    does: string,
    common: C,
  ): Made<number, C> => ({ ...common, takes, does, read: numberIn(kinds.number(common)) }),

  json: (does = "print JSON") => option.flag(does),
  force: (does = "write over a file that is there") => option.flag(does),
  engine: (does: string) => option.oneOf("<name>", ["wasm", "xla"], does),
  runs: (does = "where runs are") => option.text("<directory>", does, { default: "runs" }),
  which: () => option.oneOf("<which>", ["best", "last"], "of several checkpoints", { default: "last" }),
  metrics: () => option.texts("<keys...>", 'metrics in full, * for any letters: train/loss, "validation/*"'),
  module: () =>
    option.text("<file>", "import this first: it registers environments of your own by registerEnvironment"),
  /** Values of a configuration, of all commands that take one. */
  set: (): CommandOption<readonly string[]> => ({
    short: "s",
    takes: "<path=value>",
    does: "another value than the file's, as training.epochs=3; may be repeated",
    default: [],
    usual: "none",
    read: (text, _flag, before) => [...(before as readonly string[]), text],
  }),
};

function numberIn({ is, accepts }: ReturnType<typeof kinds.number>): (typed: string, flag: string) => number {
  return (typed, flag) => {
    const value = typed.trim() === "" ? Number.NaN : Number(typed);
    if (accepts(value)) return value;
    throw new EspalierError("OPTION_INVALID", `${flag} is "${typed}"`, { fix: `give ${is}` });
  };
}

/** A whole number that is part of a text which was typed after `flag`. */
export const countIn = numberIn(kinds.integer({ min: 1 }));

/** The members that have a value: options that were left out are none. */
export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };
