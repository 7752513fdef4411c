import { describe, expect, it } from "vitest";
import type { Environment } from "../environment.ts";
import { SeededRandom } from "../random.ts";
import { type GridState, gridWorld } from "./grid-world.ts";

const [up, right, down, left] = [0, 1, 2, 3];

/** Walks a way and tells what each step gave. */
const walk = (environment: Environment, actions: readonly number[]) =>
  actions.map((action) => {
    const { reward, terminated, truncated } = environment.step(action);
    return [reward, terminated, truncated];
  });

const stateOf = (environment: Environment): GridState =>
  (environment.getState() as unknown as { readonly state: GridState }).state;

describe("a grid world", () => {
  it("pays 1 at the goal, and only there", () => {
    const corridor = gridWorld({ lessons: { corridor: ["s..g"] } });
    corridor.reset();
    expect(walk(corridor, [right, up, right])).toEqual(Array(3).fill([0, false, false]));
    expect(walk(corridor, [right])).toEqual([[1, true, false]]);
  });

  it("has walls, inside and around", () => {
    const room = gridWorld({ lessons: { room: ["s#g", "..."] } });
    room.reset();
    expect(walk(room, [up, left, right, down, down, right, right, up]).at(-1)).toEqual([1, true, false]);
  });

  it("opens its door to those who have been at the key", () => {
    const behind = gridWorld({ lessons: { door: ["ks+g"] } });
    behind.reset();
    expect(walk(behind, [right, right, right]).at(-1)).toEqual([0, false, false]);
    expect(stateOf(behind).holds).toBe(false);
    expect(walk(behind, [left, right, right, right]).at(-1)).toEqual([1, true, false]);
  });

  it("is truncated at its limit", () => {
    const corridor = gridWorld({ lessons: { corridor: ["s.g"] }, timeLimit: 2 });
    corridor.reset();
    expect(walk(corridor, [left, left])).toEqual([
      [0, false, false],
      [0, false, true],
    ]);
  });

  it("shows what is around, where it is, and the way to goal, key and door", () => {
    const world = gridWorld({ lessons: { one: ["k...", ".s+g"] }, view: 1 });
    const { observation } = world.reset();
    const shut = [0, 0, 0, 0, 0, 1, 1, 1, 1];
    const place = [0.25, 0.25];
    expect([...(observation as Float32Array)]).toEqual([...shut, ...place, 0.5, 0, -0.25, -0.25, 0.25, 0, 0]);
    world.step(up);
    world.step(left);
    const opened = world.step(down).observation as Float32Array;
    expect([...opened].slice(9)).toEqual([0, 0.25, 0.75, 0, 0, 0, 0.5, 0, 1]);
  });

  it("pays a team when all are there, and keeps those who came first", () => {
    const team = gridWorld({ agents: 2, lessons: { lanes: ["sg.", "sg."] } });
    team.reset({ seed: 1 });
    const goals = stateOf(team).goals;
    const ways = stateOf(team).cells.map((at, i) => (goals[i] as number) - at);
    // A place to the right, or to the right and in the other lane.
    const stride = 2 + 3 + 2;
    const moves = ways.map((way) => [right, way > 1 ? down : way < 1 ? up : right]);
    expect(ways.every((way) => [1, 1 + stride, 1 - stride].includes(way))).toBe(true);
    const first = team.step([moves[0]?.[0] as number, left]);
    expect(first).toMatchObject({ reward: [0, 0], terminated: false });
    team.step([moves[0]?.[1] as number, left]);
    // The first agent stands on its goal now, and moves no more.
    expect(stateOf(team).cells[0]).toBe(goals[0]);
    team.step([left, moves[1]?.[0] as number]);
    if (ways[1] !== 1) team.step([left, moves[1]?.[1] as number]);
    expect(stateOf(team).cells).toEqual(goals);
  });

  it("masks moves into walls where it is asked to", () => {
    const world = gridWorld({ lessons: { corner: ["s.", ".g"] }, masks: true });
    expect([...(world.reset().actionMask as Uint8Array)]).toEqual([0, 1, 1, 0]);
    expect([...(world.step(right).actionMask as Uint8Array)]).toEqual([0, 0, 1, 1]);
  });

  it("draws walls, door, key, goal and agent", () => {
    const world = gridWorld({ lessons: { one: ["#k+gs"] } });
    world.reset();
    const { width, height, shapes, caption } = world.render?.() ?? { shapes: [] };
    expect([width, height, caption]).toEqual([5, 1, "one"]);
    expect(shapes.map((shape) => shape.kind)).toEqual([
      ...["rectangle", "rectangle", "rectangle", "circle", "path", "circle"],
    ]);
  });

  it.each([
    [{ lessons: {} }, "no lessons"],
    [{ lessons: { a: ["s?g"] } }, 'has "?" in row 0, column 1'],
    [{ lessons: { a: ["..g"] } }, "no cell to start from"],
    [{ lessons: { a: ["s.."] } }, "no cell for a goal"],
    [{ lessons: { a: ["*"] } }, "no cell for a goal"],
    [{ lessons: { a: ["s+g"] } }, "a door and no key"],
    [{ lessons: { a: ["sk++g"] } }, "2 doors"],
    [{ agents: 0 }, "agents is 0"],
  ])("refuses %j", (options, message) => {
    expect(() => gridWorld(options)).toThrow(message);
  });
});

describe("the built-in lessons", () => {
  const world = gridWorld();
  const random = new SeededRandom(4);
  const solved = (lesson: number, episodes: number): number => {
    let wins = 0;
    for (let e = 0; e < episodes; e++) {
      world.reset({ lesson });
      for (let over = false; !over; ) {
        const { terminated, truncated } = world.step(random.integer(4));
        over = terminated || truncated;
        if (terminated) wins++;
      }
    }
    return wins / episodes;
  };

  // Over 2,000 episodes each: 0.99, 0.41, 0.088, 0.037, 0.02, 0.009, 0; of the last also 0 of 155,648.
  it("are ever harder to solve by chance", () => {
    world.reset({ seed: 6 });
    const rates = (world.lessons ?? []).map((_, lesson) => solved(lesson, 200));
    expect(rates[0]).toBeGreaterThan(0.9);
    expect(rates[1]).toBeGreaterThan(0.2);
    expect(rates[2]).toBeLessThan(0.2);
    expect(rates[3]).toBeLessThan(0.1);
    expect(rates.at(-1)).toBe(0);
  });

  it("can all be solved well within the limit", () => {
    for (const lesson of (world.lessons ?? []).keys()) {
      world.reset({ seed: 7, lesson });
      expect(shortest(stateOf(world), lesson)).toBeLessThanOrEqual(60);
    }
  });

  /** Steps of the shortest way, by trying all moves from all states reached. */
  function shortest(from: GridState, lesson: number): number {
    const probe = gridWorld();
    probe.reset({ lesson });
    const saved = probe.getState() as object;
    let frontier: readonly GridState[] = [from];
    const known = new Set<string>();
    for (let steps = 0; frontier.length > 0; steps++) {
      if (frontier.some(({ cells, goals }) => cells[0] === goals[0])) return steps;
      frontier = frontier.flatMap((state) =>
        [up, right, down, left].flatMap((action) => {
          probe.setState({ ...saved, state } as never);
          probe.step(action);
          const next = stateOf(probe);
          const name = JSON.stringify([next.cells, next.holds]);
          if (known.has(name)) return [];
          known.add(name);
          return [next];
        }),
      );
    }
    return Infinity;
  }
});
