import type { Drawing } from "../environment.ts";

/** Where the mountain car may be. */
export const LEFT = -1.2;
export const RIGHT = 0.6;
export const FASTEST = 0.07;

const height = (x: number): number => 0.45 * Math.sin(3 * x) + 0.55;
const across = (x: number): number => x - LEFT;
const down = (y: number): number => 1.15 - y;

const ridge = Array.from({ length: 61 }, (_, i) => {
  const x = LEFT + ((RIGHT - LEFT) * i) / 60;
  return [across(x), down(height(x))] as const;
});

/** The car on its hill, with a flag at the goal. */
export function drawHill(position: number, goal: number): Drawing {
  const [flag, top] = [across(goal), down(height(goal))];
  return {
    width: RIGHT - LEFT,
    height: 1.2,
    shapes: [
      { kind: "path", points: ridge, color: "#888888" },
      { kind: "line", from: [flag, top], to: [flag, top - 0.12], color: "#666666", width: 0.01 },
      {
        kind: "path",
        points: [
          [flag, top - 0.12],
          [flag, top - 0.06],
          [flag + 0.07, top - 0.09],
        ],
        color: "#c9b74b",
        filled: true,
      },
      {
        kind: "circle",
        at: [across(position), down(height(position)) - 0.04],
        radius: 0.04,
        color: "#3b6ea5",
      },
    ],
  };
}
