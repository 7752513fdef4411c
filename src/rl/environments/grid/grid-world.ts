import { box, discrete } from "../../spaces/index.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing, DrawnShape, Environment } from "../environment.ts";
import type { EnvironmentRandom } from "../random.ts";
import { type GridLayout, type GridWorldOptions, gridLayout } from "./layout.ts";

/** The state of a grid world. Cells are numbers, see {@link GridLayout}. */
export interface GridState {
  readonly lesson: number;
  readonly cells: readonly number[];
  readonly goals: readonly number[];
  readonly key: number;
  /** True if the key has been fetched, or if there is no door. */
  readonly holds: boolean;
}

/**
 * A family of grid worlds, from a room in which the goal lies beside the agent to a maze with a key, a door and a long
 * way. Rewards are sparse: reaching the goal gives 1 and ends the episode, so that an episode's return is above 0
 * exactly if it was solved. The lesson is chosen by `reset({ lesson })`.
 *
 * An agent moves up, right, down or left (0 to 3), and stays in place before a wall or a shut door. An agent that reaches
 * the key opens the door for all. An agent sees walls and shut doors around it, its own position, and the distances of
 * goal, key and door. Several agents have a goal each, pass through each other, stay on their goals, and are rewarded
 * when all are there.
 *
 * @example
 * ```ts
 * const maze = gridWorld();
 * const { observation } = maze.reset({ seed: 1, lesson: maze.lessons?.indexOf("maze") ?? 0 });
 * const team = gridWorld({ agents: 2, lessons: { meeting: ["s..g", "s..g"] } });
 * ```
 */
export function gridWorld(options: GridWorldOptions = {}): Environment {
  const layout = gridLayout(options);
  const { agents, lessons, masks, name, size, timeLimit } = layout;
  return defineEnvironment<GridState, ReturnType<typeof box>, ReturnType<typeof discrete>, number>({
    name,
    observation: box({ shape: [size], low: -1, high: 1 }),
    action: discrete(4),
    agents,
    lessons,
    timeLimit,
    initial: (random, { lesson }) => beginning(layout, random, lesson),
    step: (state, actions) => {
      const cells = state.cells.map((at, i) => moved(layout, state, at, i, actions[i] as number));
      const holds = state.holds || cells.includes(state.key);
      const terminated = cells.every((at, i) => at === state.goals[i]);
      const reward = cells.map(() => (terminated ? 1 : 0));
      return { state: { ...state, cells, holds }, reward, terminated };
    },
    observe: (state) => state.cells.map((_, i) => observed(layout, state, i)),
    ...(masks && {
      actionMask: (state: GridState) => state.cells.flatMap((at) => allowed(layout, state, at)),
    }),
    draw: (state) => drawGrid(layout, state),
  })();
}

/** True if a wall or a shut door is there. */
const isSolid = (layout: GridLayout, { lesson, holds }: GridState, cell: number): boolean =>
  layout.walls[lesson * layout.cells + cell] === 1 || (!holds && cell === layout.doors[lesson]);

function beginning(layout: GridLayout, random: EnvironmentRandom, lesson: number): GridState {
  const [starts, goals, keys] = [layout.starts, layout.goals, layout.keys].map((lists) => lists[lesson]) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const cells = Array.from({ length: layout.agents }, () => starts[random.integer(starts.length)] as number);
  const theirs = cells.map((at) => {
    const drawn = random.integer(goals.length);
    return (goals[drawn] === at ? goals[(drawn + 1) % goals.length] : goals[drawn]) as number;
  });
  const key = keys.length > 0 ? (keys[random.integer(keys.length)] as number) : 0;
  return { lesson, cells, goals: theirs, key, holds: key === 0 || cells.includes(key) };
}

function moved(layout: GridLayout, state: GridState, at: number, agent: number, action: number): number {
  const target = at + (layout.moves[action] as number);
  return at === state.goals[agent] || isSolid(layout, state, target) ? at : target;
}

function observed(layout: GridLayout, state: GridState, agent: number): Float32Array {
  const { agents, scale, seen, stride, view } = layout;
  const { cells, goals, holds } = state;
  const at = cells[agent] as number;
  const [x, y] = [at % stride, Math.floor(at / stride)];
  const row = new Float32Array(layout.size);
  let end = 0;
  const flag = (holds: boolean): void => {
    row[end++] = holds ? 1 : 0;
  };
  /** Writes the distance of a cell, to the right and down. */
  const far = (cell: number): void => {
    row[end++] = ((cell % stride) - x) * scale;
    row[end++] = (Math.floor(cell / stride) - y) * scale;
  };
  for (const offset of seen) flag(isSolid(layout, state, at + offset));
  row[end++] = (x - view) * scale;
  row[end++] = (y - view) * scale;
  far(goals[agent] as number);
  // A key or door that is not there has distance 0.
  far(holds ? at : state.key);
  far(layout.doors[state.lesson] || at);
  flag(holds);
  if (agents > 1) flag(at === goals[agent]);
  // The other agents, beginning with the next one.
  for (let i = 1; i < agents; i++) {
    const other = (agent + i) % agents;
    far(cells[other] as number);
    flag(cells[other] === goals[other]);
  }
  return row;
}

/** Moves that are not blocked; all of them if all are blocked. */
function allowed(layout: GridLayout, state: GridState, at: number): boolean[] {
  const free = Array.from(layout.moves, (move) => !isSolid(layout, state, at + move));
  return free.includes(true) ? free : free.map(() => true);
}

const agentColors = ["#d1495b", "#00798c", "#8d6a9f", "#66a182"];

/** Draws a grid world with cells of one unit. Each agent has its goal's colour. */
function drawGrid(layout: GridLayout, state: GridState): Drawing {
  const { cells, doors, height, lessons, stride, view, walls, width } = layout;
  const place = (cell: number): [x: number, y: number] => [
    (cell % stride) - view,
    Math.floor(cell / stride) - view,
  ];
  const middle = (cell: number): [x: number, y: number] => {
    const [x, y] = place(cell);
    return [x + 0.5, y + 0.5];
  };
  const square = (cell: number, color: string): DrawnShape => ({
    kind: "rectangle",
    at: place(cell),
    size: [1, 1],
    color,
  });
  const colored = (agent: number): string => agentColors[agent % agentColors.length] as string;
  const shapes: DrawnShape[] = [{ kind: "rectangle", at: [0, 0], size: [width, height], color: "#f7f3e9" }];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const cell = (y + view) * stride + x + view;
      if (walls[state.lesson * cells + cell] === 1) shapes.push(square(cell, "#3d405b"));
    }
  const door = doors[state.lesson] as number;
  if (door !== 0) shapes.push(square(door, state.holds ? "#e6d5b8" : "#a0522d"));
  if (!state.holds) shapes.push({ kind: "circle", at: middle(state.key), radius: 0.25, color: "#edae49" });
  state.goals.forEach((goal, agent) => {
    const [x, y] = middle(goal);
    const points: [number, number][] = [
      [x, y - 0.4],
      [x + 0.4, y],
      [x, y + 0.4],
      [x - 0.4, y],
    ];
    shapes.push({ kind: "path", points, color: colored(agent), filled: true });
  });
  state.cells.forEach((cell, agent) => {
    shapes.push({ kind: "circle", at: middle(cell), radius: 0.35, color: colored(agent) });
  });
  return { width, height, shapes, caption: lessons[state.lesson] as string };
}
