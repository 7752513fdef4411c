import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { root } from "./compiler-options.ts";
import { rampsPicture, schedulesPicture } from "./docs-images.ts";

describe("the pictures of docs/schedules.md", () => {
  it.each([
    ["ramps.svg", rampsPicture],
    ["schedules.svg", schedulesPicture],
  ])("%s shows what the functions do: npm run docs:images -- NAME draws it again", (name, draw) => {
    expect(readFileSync(`${root}docs/images/${name}`, "utf8")).toBe(draw());
  });
});
