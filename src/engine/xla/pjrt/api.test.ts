import { describe, expect, it } from "vitest";
import { checkVersion } from "./api.ts";

describe("checkVersion", () => {
  it("accepts the oldest version tried and later minors", () => {
    checkVersion("p.so", { major: 0, minor: 81 });
    checkVersion("p.so", { major: 0, minor: 115 });
  });

  it.each([
    { major: 0, minor: 80 },
    { major: 1, minor: 100 },
  ])("refuses $major.$minor, naming both sides", (version) => {
    expect(() => checkVersion("p.so", version)).toThrow(
      expect.objectContaining({
        code: "PLUGIN_INCOMPATIBLE",
        message: expect.stringMatching(
          new RegExp(`p\\.so has PJRT API ${version.major}\\.${version.minor}; 0\\.81`),
        ),
      }),
    );
  });
});
