import { checkedOptions, EspalierError, errorText, notMade, printable, withOutputs } from "../core/index.ts";
import { resolveName } from "./names.ts";
import type { Path, Problem } from "./source.ts";

/**
 * A call in a file: the function `use` with the other members as its options, as `checkpointHook({ keep })` in a program.
 * `args` are arguments that come before them, as the width of `nn.dense`.
 */
export interface Call {
  readonly use: string;
  readonly args?: readonly unknown[];
  /** Methods of the result that are called one after the other: `inMemory`, `{ split: [{ train: 0.8, test: 0.2 }] }`. */
  readonly then?: readonly unknown[];
  readonly [option: string]: unknown;
}

/** A value that is not called: `{ get: nn.crossEntropy }`; `{ get: task.player }` is part of the run. */
export interface Reference {
  readonly get: string;
  /** Methods that are called on it, as those of a {@link Call}. */
  readonly then?: readonly unknown[];
}

/**
 * Makes the values of a configuration: every call, from the innermost outwards, wherever it stands. The functions check
 * their options themselves, so that a file accepts what a program accepts; what they found is noted with its path, and
 * values around one that could not be made are still checked.
 */
export class Builder {
  readonly problems: Problem[] = [];
  /** Parts of the run that `get` can name. */
  readonly parts = new Map<string, unknown>();
  readonly #base: string;
  readonly #outputs: string | undefined;
  readonly #definitions: Readonly<Record<string, unknown>>;
  /** Definitions that are being made. */
  readonly #making = new Set<string>();
  /** Options that were put together here, and where they are written. */
  readonly #paths = new WeakMap<object, Path>();
  /** What was made of a value: an alias in a file stands for the same thing. */
  readonly #made = new Map<object, unknown>();

  /**
   * Names of files begin at the directory `base`, those of files that are written at `outputs`. Definitions are parts,
   * made when something uses them.
   */
  constructor(base: string, definitions: Readonly<Record<string, unknown>>, outputs?: string) {
    this.#base = base;
    this.#outputs = outputs;
    this.#definitions = definitions;
  }

  /** The value with all its calls made; `notMade` where something in it is wrong. A value without calls is itself. */
  async make(value: unknown, path: Path): Promise<unknown> {
    if (!holdsCall(value)) {
      this.#remember(value, path);
      return value;
    }
    if (!this.#made.has(value)) this.#made.set(value, await this.#make(value, path));
    return this.#made.get(value);
  }

  /** A member of a list of hooks or sinks, where a name alone is a call without options. */
  item(value: unknown, path: Path): Promise<unknown> {
    return typeof value === "string" ? this.make({ use: value }, path) : this.make(value, path);
  }

  #remember(value: unknown, path: Path): void {
    if (!(isPlain(value) || Array.isArray(value)) || this.#paths.has(value)) return;
    this.#paths.set(value, path);
    const members = Array.isArray(value)
      ? value.entries()
      : Object.keys(value).map((name) => [name, ownValue(value, name)] as const);
    for (const [part, member] of members)
      if (typeof member === "object") this.#remember(member, [...path, part]);
  }

  async #make(value: object, path: Path): Promise<unknown> {
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [i, item] of value.entries()) items.push(await this.make(item, [...path, i]));
      return items.includes(notMade) ? notMade : items;
    }
    if (isReference(value)) {
      const other = Object.keys(value).find((name) => name !== "get" && name !== "then");
      if (other !== undefined) {
        const fix = "give methods by then; options are for calls: { use: NAME }";
        this.problems.push({ path: [...path, other], message: "get takes no options but then", fix });
        return notMade;
      }
      const found = await this.#get(value, path);
      const steps = await this.make(value.then ?? [], [...path, "then"]);
      return found === notMade || steps === notMade ? notMade : this.#follow(found, steps, [...path, "then"]);
    }
    const { use, args, then = [], ...members } = value as Call;
    const options: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(members))
      options[name] = await this.make(member, [...path, name]);
    this.#paths.set(options, path);
    const isWhole = !Object.values(options).includes(notMade);
    if (!("use" in value)) return isWhole ? options : notMade;
    const steps = await this.make(then, [...path, "then"]);
    const before = await this.make(args ?? [], [...path, "args"]);
    const maker = await this.attempt([...path, "use"], () => {
      if (typeof use !== "string") throw new EspalierError("CONFIG_NAME", "its name is not a text");
      return resolveName(use, this.#base);
    });
    if (maker === notMade) return notMade;
    if (before !== notMade && !Array.isArray(before)) {
      this.problems.push({ path: [...path, "args"], message: "args is not a list" });
      return notMade;
    }
    const given = before === notMade ? undefined : (before as unknown[]);
    const isMade = isWhole && before !== notMade && steps !== notMade;
    const made = await this.attempt(
      path,
      () => withOutputs(this.#outputs, () => call(use, maker, given, options)),
      isMade,
    );
    if (!isMade || made === notMade) return notMade;
    return this.#follow(made, steps, [...path, "then"]);
  }

  /** The result of methods that are called one after the other, each on what the one before gave. */
  async #follow(made: unknown, steps: unknown, path: Path): Promise<unknown> {
    let value = made;
    for (const [i, step] of [steps].flat().entries()) {
      const [name = "", given = []] =
        typeof step === "string" ? [step] : (Object.entries((step ?? {}) as object)[0] ?? []);
      value = await this.attempt([...path, i], () => {
        const member = (value as Readonly<Record<string, unknown>>)[name];
        if (member === undefined)
          throw new EspalierError("CONFIG_NAME", `there is no ${printable(name)} of what was made before`);
        return typeof member === "function" ? member.apply(value, [given].flat()) : member;
      });
      if (value === notMade) return notMade;
    }
    return value;
  }

  async #get({ get }: Reference, path: Path): Promise<unknown> {
    const [part = "", ...members] = String(get).split(".");
    if (!this.parts.has(part) && !Object.hasOwn(this.#definitions, part))
      return this.attempt([...path, "get"], () => resolveName(String(get), this.#base));
    const whole = await this.part(part, [...path, "get"]);
    const found = members.reduce<unknown>(
      (value, name) => (value as Record<string, unknown> | undefined)?.[name],
      whole,
    );
    if (whole === notMade || found !== undefined) return whole === notMade ? notMade : found;
    this.problems.push({ path: [...path, "get"], message: `the run's ${part} has no ${members.join(".")}` });
    return notMade;
  }

  /** A part of the run, for something at a path. */
  async part(name: string, path: Path): Promise<unknown> {
    if (this.parts.has(name)) return this.parts.get(name);
    if (this.#making.has(name)) {
      this.problems.push({ path, message: `${name} is made of itself` });
      return notMade;
    }
    this.#making.add(name);
    this.parts.set(name, await this.make(this.#definitions[name], ["define", name]));
    return this.parts.get(name);
  }

  /** The result, or `notMade` with the problem noted. Of work that is not `isWhole` only what checks found counts. */
  async attempt(path: Path, work: () => unknown, isWhole = true): Promise<unknown> {
    try {
      return await work();
    } catch (error) {
      const checked = checkedOptions(error);
      const at = checked && this.#paths.get(checked.given);
      if (checked && at)
        for (const problem of checked.problems) this.#note([...at, ...problem.path], problem.error);
      else if (isWhole) this.#note(path, error);
      return notMade;
    }
  }

  /** Has a function check options that are written at a path. */
  async check<O extends object>(path: Path, maker: (options: O) => unknown, options: O): Promise<void> {
    this.#paths.set(options, path);
    await this.attempt(path, () => maker(options));
  }

  #note(path: Path, error: unknown): void {
    const isOurs = error instanceof EspalierError;
    const message = isOurs ? errorText(error) : error instanceof Error ? error.message : String(error);
    this.problems.push({ path, message: printable(message, 2000), fix: isOurs ? error.fix : undefined });
  }
}

function call(use: string, maker: unknown, args: unknown[] | undefined, options: object): unknown {
  const hasOptions = Object.keys(options).length > 0;
  if (typeof maker !== "function") {
    if (!hasOptions && (args ?? []).length === 0 && typeof maker === "object") return maker;
    throw new EspalierError("CONFIG_NAME", `${printable(use)} is not a function, and takes no options`);
  }
  if (args === undefined) return undefined;
  const all = hasOptions ? [...args, options] : args;
  // One that is given nothing gets its options empty: a function may look into them.
  const given = all.length === 0 && maker.length > 0 ? [{}] : all;
  const isClass = /^class\b/.test(Function.prototype.toString.call(maker));
  return isClass ? Reflect.construct(maker, given) : maker(...given);
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const isReference = (value: object): value is Reference =>
  !("use" in value) && typeof ownValue(value, "get") === "string";

/** True where a call or a reference stands in the value, at any depth of plain objects and lists. */
function holdsCall(value: unknown, seen = new Set<unknown>()): value is object {
  if (typeof value !== "object" || value === null || seen.has(value)) return false;
  seen.add(value);
  if (Array.isArray(value)) return value.some((item) => holdsCall(item, seen));
  if (!isPlain(value)) return false;
  if (typeof ownValue(value, "use") === "string" || isReference(value)) return true;
  return Object.keys(value).some((name) => holdsCall(ownValue(value, name), seen));
}

/** A member that is no getter. */
const ownValue = (value: object, name: string): unknown =>
  Object.getOwnPropertyDescriptor(value, name)?.value;
