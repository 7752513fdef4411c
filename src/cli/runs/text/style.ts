import pc from "picocolors";

/** How a command's output looks. */
export interface Style {
  readonly colors: ReturnType<typeof pc.createColors>;
  /** No letters beyond ASCII. */
  readonly ascii: boolean;
  /** Letters a line can have. */
  readonly width: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Where nothing says how wide a line may be. */
const WIDTH = 100;

/** Colours on terminals alone, blocks wherever the locale has them. */
export function styleFor(
  out: { readonly isTTY: boolean; readonly columns: number | undefined },
  env: Environment,
  ascii: boolean,
): Style {
  const colored = out.isTTY && !env.NO_COLOR && env.TERM !== "dumb";
  return {
    colors: pc.createColors(colored),
    ascii: ascii || !knowsUnicode(env),
    width: out.columns || WIDTH,
  };
}

/** By the locale, where one is set; else all but terminals that are known to lack the letters. */
export function knowsUnicode(env: Environment, platform: string = process.platform): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  if (locale) return /utf-?8/i.test(locale);
  if (platform === "win32") return Boolean(env.WT_SESSION || env.TERM_PROGRAM);
  return env.TERM !== "linux" && env.TERM !== "dumb";
}
