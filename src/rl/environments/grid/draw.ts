import type { Drawing, Shape } from "../environment.ts";
import type { GridState } from "./grid-world.ts";
import type { GridLayout } from "./layout.ts";

const agentColors = ["#d1495b", "#00798c", "#8d6a9f", "#66a182"];

/** A grid world as a picture, a cell being one unit wide. Each agent has its goal's colour. */
export function drawGrid(layout: GridLayout, state: GridState): Drawing {
  const { cells, doors, height, lessons, stride, view, walls, width } = layout;
  const place = (cell: number): [x: number, y: number] => [
    (cell % stride) - view,
    Math.floor(cell / stride) - view,
  ];
  const middle = (cell: number): [x: number, y: number] => {
    const [x, y] = place(cell);
    return [x + 0.5, y + 0.5];
  };
  const square = (cell: number, color: string): Shape => ({
    kind: "rectangle",
    at: place(cell),
    size: [1, 1],
    color,
  });
  const colored = (agent: number): string => agentColors[agent % agentColors.length] as string;
  const shapes: Shape[] = [{ kind: "rectangle", at: [0, 0], size: [width, height], color: "#f7f3e9" }];
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
