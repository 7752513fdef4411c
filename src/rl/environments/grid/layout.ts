import { badOption, type Options, option, resolveOptions } from "../../../core/index.ts";

const optionTable = {
  /** How many agents act at once; each has a goal of its own, and all must reach theirs. Default: 1. */
  agents: option.integer({ min: 1, default: 1, doc: "How many agents act at once." }),
  /** Maps by name, from easy to hard. Default: `gridLessons`. */
  lessons: option.made<Readonly<Record<string, readonly string[]>>>(
    "maps by name, from easy to hard",
    (value) => typeof value === "object" && value !== null,
    { doc: "Maps by name. Default: `gridLessons`." },
  ),
  /** Steps after which an episode is truncated. Default: 100. */
  timeLimit: option.integer({ min: 1, default: 100, doc: "Steps after which an episode is truncated." }),
  /** Cells an agent sees in each direction. Default: 2. */
  view: option.integer({ min: 1, default: 2, doc: "Cells an agent sees in each direction." }),
  /** Masks moves that lead into walls. Default: false. */
  masks: option.flag({ default: false, doc: "Masks moves that lead into walls." }),
  /** Default: "GridWorld-v0", and "GridWorldTeam-v0" for several agents. */
  name: option.text({ doc: "The environment's name." }),
};

/** Options of {@link gridWorld} and {@link compiledGridWorld}. */
export interface GridWorldOptions extends Options<typeof optionTable> {}

/**
 * The built-in lessons, from easy to hard. Each is a map: `#` wall, `.` floor, `+` a door that a key opens, and where
 * things may lie at the beginning: `s` an agent, `g` a goal, `k` the key, `*` an agent or a goal, `&` an agent or the
 * key. Around the map is wall.
 *
 * Chance solves 99% of the episodes of `near`, 41% of `far`, 9% of `wall`, 4% of `door`, 2% of `rooms`, 1% of
 * `corridors`, and less than one in 50,000 of `maze`, whose way is some forty steps long.
 */
export const gridLessons: Readonly<Record<string, readonly string[]>> = {
  near: [
    "#########",
    "#########",
    "#########",
    "###***###",
    "###***###",
    "###***###",
    "#########",
    "#########",
    "#########",
  ],
  far: Array.from({ length: 9 }, () => "*********"),
  wall: [
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss.gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
  ],
  door: [
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&+gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
  ],
  rooms: [
    "&&&&#&&&&",
    "&&&&#&&&&",
    "&&&&.&&&&",
    "&&&&#&&&&",
    "##.####+#",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
  ],
  corridors: [
    "&&&&#gggg",
    "###&#g##g",
    "&&&&#g#gg",
    "&####g#g#",
    "&&&&+g#gg",
    "###&####g",
    "&&&&#gg#g",
    "&#####g#g",
    "&&&&#gggg",
  ],
  maze: [
    "ss..#....",
    "###.#.##.",
    "....#.#gg",
    ".####.#g#",
    "....+.#gg",
    "###.####.",
    "....#..#.",
    ".#####.#.",
    "kk..#....",
  ],
};

/**
 * The rules of a grid world as tables, which the ordinary and the compiled one share. A cell is a number: rows lie one
 * after the other, and around each map are walls as wide as an agent sees, so that no index needs a check.
 */
export type GridLayout = ReturnType<typeof gridLayout>;

const signs = { starts: "s*&", goals: "g*", keys: "k&" };

/** Reads the maps and checks them. */
export function gridLayout(options: GridWorldOptions) {
  const kind = options.name ?? (options.agents === undefined ? "GridWorld-v0" : "GridWorldTeam-v0");
  const settings = resolveOptions(kind, options, optionTable);
  const { agents, lessons = gridLessons, timeLimit, view, masks } = settings;
  const name = settings.name ?? (agents === 1 ? "GridWorld-v0" : "GridWorldTeam-v0");
  const maps = Object.entries(lessons);
  if (maps.length === 0)
    throw badOption(name, "it has no lessons", "give maps by name, or leave lessons out");
  const height = Math.max(...maps.map(([, map]) => map.length));
  const width = Math.max(...maps.flatMap(([, map]) => map.map((row) => row.length)));
  const stride = width + 2 * view;
  const cells = stride * (height + 2 * view);
  const cell = (x: number, y: number): number => (y + view) * stride + x + view;
  const places = ([lesson, map]: (typeof maps)[number], wanted: string): Int32Array => {
    const found: number[] = [];
    map.forEach((row, y) => {
      for (let x = 0; x < row.length; x++) {
        const sign = row[x] as string;
        if (!"#.+sgk*&".includes(sign)) throw unknownSign(name, lesson, sign, x, y);
        if (wanted.includes(sign)) found.push(cell(x, y));
      }
    });
    return Int32Array.from(found);
  };
  const walls = new Uint8Array(maps.length * cells).fill(1);
  maps.forEach((map, i) => {
    for (const at of places(map, ".+sgk*&")) walls[i * cells + at] = 0;
  });
  const doors = maps.map((map) => places(map, "+"));
  const around = Array.from({ length: 2 * view + 1 }, (_, i) => i - view);
  const layout = {
    name,
    agents,
    timeLimit,
    masks,
    lessons: maps.map(([lesson]) => lesson),
    width,
    height,
    /** Cells an agent sees in each direction. */
    view,
    /** Cells in a row, and in a map. */
    stride,
    cells,
    /** 1 for walls: [lessons * cells]. Doors are none. */
    walls,
    /** The door's cell in each lesson; 0, a cell that cannot be reached, if there is none. */
    doors: Int32Array.from(doors, (found) => found[0] ?? 0),
    /** Cells in which agents, goals and keys may begin, for each lesson. No keys if there is no door. */
    starts: maps.map((map) => places(map, signs.starts)),
    goals: maps.map((map) => places(map, signs.goals)),
    keys: maps.map((map, i) => (doors[i]?.length === 0 ? new Int32Array() : places(map, signs.keys))),
    /** How a cell's number changes: up, right, down, left. */
    moves: Int32Array.of(-stride, 1, stride, -1),
    /** How the numbers of the cells in view differ from an agent's own. */
    seen: Int32Array.from(around.flatMap((y) => around.map((x) => y * stride + x))),
    /** Factor of distances: a power of two, so that no digit is lost. */
    scale: 2 ** -Math.ceil(Math.log2(Math.max(width, height))),
    /** Numbers in an agent's observation. */
    size: around.length ** 2 + 9 + (agents > 1 ? 1 + 3 * (agents - 1) : 0),
  };
  layout.lessons.forEach((lesson, i) => {
    checkLesson(layout, lesson, i, doors[i]?.length ?? 0);
  });
  return layout;
}

function checkLesson({ name, ...layout }: GridLayout, lesson: string, i: number, doors: number): void {
  const wrong = (what: string, fix: string) => badOption(name, `lesson "${lesson}" ${what}`, fix);
  const [starts, goals, keys] = [layout.starts[i], layout.goals[i], layout.keys[i]];
  if (!starts?.length) throw wrong("has no cell to start from", "mark some with s");
  // A goal that would lie under the agent moves on to the next cell for goals.
  if (!goals?.length || (goals.length === 1 && starts.includes(goals[0] as number)))
    throw wrong("has no cell for a goal", "mark some with g, or several with *");
  if (doors > 1) throw wrong(`has ${doors} doors`, "leave one");
  if (doors === 1 && !keys?.length) throw wrong("has a door and no key", "mark cells for the key with k");
}

const unknownSign = (name: string, lesson: string, sign: string, x: number, y: number) =>
  badOption(
    name,
    `lesson "${lesson}" has ${JSON.stringify(sign)} in row ${y}, column ${x}`,
    "use # . + s g k * and &",
  );
