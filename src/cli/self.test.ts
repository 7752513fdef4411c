import { describe, expect, it } from "vitest";
import { callName } from "./run-again.ts";

describe("callName", () => {
  it("is the npm script where the program runs from its sources", () => {
    expect(callName(["node", "--import", "tsx", "/checkout/src/cli/main.ts"])).toBe(
      "npm run --silent espalier --",
    );
  });

  it("is npx where it is installed", () => {
    expect(callName(["node", "/project/node_modules/.bin/espalier"])).toBe("npx espalier");
  });
});
