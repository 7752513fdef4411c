import { describe, expect, it } from "vitest";
import { EspalierError } from "./core/index.ts";
import { evalShape, random, spec, type Value } from "./engine/index.ts";
import * as losses from "./losses/index.ts";
import * as nn from "./nn/index.ts";
import * as optim from "./optim/index.ts";
import * as streams from "./random/index.ts";
import * as schedule from "./schedule/index.ts";

/** The functions of a namespace and of those inside it, by the names users call them by. */
function functionsIn(
  name: string,
  namespace: object,
): (readonly [string, (...args: unknown[]) => unknown])[] {
  return Object.entries(namespace).flatMap(([key, member]: [string, unknown]) => {
    const path = `${name}.${key}`;
    if (typeof member === "object" && member !== null) return functionsIn(path, member);
    if (typeof member !== "function") return [];
    const isClass = /^class\b/.test(Function.prototype.toString.call(member));
    return [
      [
        path,
        (...args) => (isClass ? Reflect.construct(member, args) : Reflect.apply(member, undefined, args)),
      ],
    ];
  });
}

const wrong: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  3: 3,
  text: "text",
  "a model": nn.dense(3),
  "{}": {},
  "{ a: 1 }": { a: 1 },
  "[null]": [null],
};

/** Wrong arguments alone, in all places, and behind arguments that may be right. */
function callsWith(bad: unknown, rightOnes: readonly unknown[]): (readonly unknown[])[] {
  const behind = rightOnes.flatMap((right) => [
    [right, bad],
    [right, right, bad],
    [right, right, right, bad],
  ]);
  return [[bad], [bad, bad], [bad, bad, bad], ...behind];
}

/** Calls that end in an error which is none of ours, one for each function. Functions may accept what they are given. */
function rawErrors(
  functions: readonly (readonly [string, (...args: unknown[]) => unknown])[],
  rightOnes: (x: Value) => readonly unknown[],
): Readonly<Record<string, string>> {
  const raw = new Map<string, string>();
  // Inside a trace, where functions of values get as far as they can.
  evalShape(
    (x: Value) => {
      const right = rightOnes(x);
      for (const [path, call] of functions)
        for (const [words, bad] of Object.entries(wrong))
          for (const args of callsWith(bad, right))
            try {
              call(...args);
            } catch (error) {
              if (error instanceof EspalierError) continue;
              raw.set(path, `${args.length} arguments, the last is ${words}: ${String(error)}`);
            }
      return x;
    },
    spec([2, 4, 4, 4]),
  );
  return Object.fromEntries(raw);
}

/** Other rooms call these with counters of their own, at every batch: they check nothing, and are in no door. */
const counting = new Set(
  ["advanceCounters", "hasBegun", "isSameWork", "timeless"].map((name) => `schedule.${name}`),
);

describe("wrong arguments", () => {
  const rooms: readonly (readonly [string, object, (x: Value) => readonly unknown[]])[] = [
    ["nn", nn, (x) => [x, nn.dense(2), "name"]],
    ["optim", optim, () => [optim.adam(), "name"]],
    ["random", random, () => [random.key(0)]],
    ["schedule", schedule, () => [schedule.noCounters, "epochs"]],
    ["losses", losses, () => [() => 0]],
    ["streams", streams, () => ["name"]],
  ];
  it.each(rooms)("of the functions in %s give an EspalierError, if any", (name, room, rightOnes) => {
    const functions = functionsIn(name, room).filter(([path]) => !counting.has(path));
    expect(functions.length).toBeGreaterThan(1);
    expect(rawErrors(functions, rightOnes)).toEqual({});
  });

  it("of initializers and of a stream's name give one, too", () => {
    const made = {
      normal: nn.initializers.normal(),
      kaimingNormal: nn.initializers.kaimingNormal(),
      orthogonal: nn.initializers.orthogonal(),
      get: (name: string) => new streams.RandomStreams(0).get(name),
    };
    expect(rawErrors(functionsIn("made", made), () => [Uint32Array.of(0, 1)])).toEqual({});
  });

  it.each([
    [
      "PARAMETER_INVALID",
      /countParameters.*model \(dense\)/,
      () => Reflect.apply(nn.countParameters, 0, [nn.dense(3)]),
    ],
    [
      "PARAMETER_INVALID",
      /countParameters.*"a\.b" is 1/,
      () => Reflect.apply(nn.countParameters, 0, [{ a: { b: 1 } }]),
    ],
    ["ARGUMENT_INVALID", /summary.*null/, () => Reflect.apply(nn.summary, 0, [null])],
    [
      "OPTION_INVALID",
      /chain: part 2 is a function[\s\S]*adam\(\)/,
      () => Reflect.apply(optim.chain, 0, [optim.sgd(), optim.adam]),
    ],
    ["SCHEDULE_INVALID", /defineSchedule.*3/, () => Reflect.apply(schedule.defineSchedule, 0, [3])],
  ])("are named with what was given: %s %s", (code, facts, call) => {
    expect(call).toThrow(expect.objectContaining({ code, message: expect.stringMatching(facts) }));
  });
});
