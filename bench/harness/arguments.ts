import { didYouMean, EspalierError } from "../../src/core/index.ts";

/** What was asked for on the command line. */
export interface Arguments {
  readonly bench: string;
  readonly peers: boolean;
  readonly check: boolean;
  readonly quick: boolean;
  readonly writeDocs: boolean;
  readonly json?: string;
  /** A report written by `--json` to show instead of measuring. */
  readonly from?: string;
  readonly engine?: "xla" | "wasm";
  /** Part of the names of the figures wanted. */
  readonly only?: string;
}

const flags = {
  "--peers": "peers",
  "--check": "check",
  "--quick": "quick",
  "--write-docs": "writeDocs",
} as const;
const options = { "--json": "json", "--from": "from", "--engine": "engine", "--only": "only" } as const;

export const usage = (benches: readonly string[]): string =>
  `npm run bench -- NAME [--peers] [--check] [--quick] [--engine xla|wasm] [--only PATTERN] [--json FILE] [--from FILE] [--write-docs]
NAME: ${benches.join(", ")}`;

/** Reads the command line; an unknown name or option is an error that lists the known ones. */
export function readArguments(words: readonly string[], benches: readonly string[]): Arguments {
  const set: Record<string, boolean | string> = {
    peers: false,
    check: false,
    quick: false,
    writeDocs: false,
  };
  const names: string[] = [];
  const wrong = (what: string): never => {
    throw new EspalierError("BENCH_ARGUMENT", what, { fix: usage(benches) });
  };
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (Object.hasOwn(flags, word)) set[flags[word as keyof typeof flags]] = true;
    else if (Object.hasOwn(options, word))
      set[options[word as keyof typeof options]] = words[++i] ?? wrong(`${word} needs a value`);
    else if (word.startsWith("-"))
      wrong(
        `there is no option ${word}${didYouMean(word, [...Object.keys(flags), ...Object.keys(options)])}`,
      );
    else names.push(word);
  }
  const [bench = wrong("which bench?"), second] = names;
  if (second !== undefined) wrong(`one bench at a time: ${names.join(", ")}`);
  if (!benches.includes(bench)) wrong(`there is no bench "${bench}"${didYouMean(bench, benches)}`);
  if (set.engine !== undefined && set.engine !== "xla" && set.engine !== "wasm")
    wrong(`there is no engine "${set.engine}"; --engine takes xla or wasm`);
  const asked = { ...set, bench } as unknown as Arguments;
  if (asked.writeDocs && !asked.from && !isWhole(asked))
    wrong(
      "--write-docs replaces the whole section, so it goes with a whole run: --peers, and no --only, --engine or --quick",
    );
  return asked;
}

/** Whether all figures of a bench are asked for, with peers, at full length. */
export const isWhole = ({ peers, quick, engine, only }: Arguments): boolean =>
  peers && !quick && engine === undefined && only === undefined;

/** The command that measures the same again; where results go is left out. */
export function commandOf({ bench, peers, quick, engine, only }: Arguments): string {
  const words = [
    bench,
    peers && "--peers",
    quick && "--quick",
    engine && `--engine ${engine}`,
    only && `--only "${only}"`,
  ];
  return `npm run bench -- ${words.filter(Boolean).join(" ")}`;
}
