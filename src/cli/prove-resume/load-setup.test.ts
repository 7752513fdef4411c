import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";
import { loadSetup } from "./part.ts";

const { path } = testDirectory();
const load = (source: string) => {
  writeFileSync(path("setup.mjs"), source);
  return loadSetup(path("setup.mjs"));
};

describe("loadSetup", () => {
  it.each([
    ["setup", "export const setup = () => ({ task: 1, config: { epochs: 2 } });"],
    ["a promise of it", "export async function setup() { return { task: 1, config: { epochs: 2 } }; }"],
    ["the default export", "export default () => ({ task: 1, config: { epochs: 2 } });"],
  ])("takes %s", async (_what, source) => {
    expect(await load(source)).toEqual({ task: 1, config: { epochs: 2 } });
  });

  it.each([
    ["no set-up", "export const task = 1;", /exports no "setup" \(it exports task\).*SETUP_INVALID/s],
    ["what is no function", "export const setup = { task: 1 };", /is not a function.*export const setup/s],
    ["a set-up without a task", "export const setup = () => ({});", /gives no task/],
    ["a file that fails", "throw new Error('no data');", /could not be imported: no data.*SETUP_FAILED/s],
  ])("refuses %s", async (_what, source, message) => {
    await expect(load(source)).rejects.toThrow(message);
  });
});
