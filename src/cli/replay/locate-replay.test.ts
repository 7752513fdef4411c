import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";
import { locateReplay } from "./command.ts";

const { path } = testDirectory();
const put = (name: string, seconds: number): void => {
  writeFileSync(path(name), "");
  utimesSync(path(name), seconds, seconds);
};

describe("locateReplay", () => {
  it("takes a file as it is", () => {
    put("notes.txt", 1);
    expect(locateReplay(path("notes.txt"))).toEqual({ path: path("notes.txt"), among: 1 });
  });

  it("takes the newest of a directory, also of those in entries of a store", () => {
    mkdirSync(path("entry"));
    mkdirSync(path("empty"));
    put("a.replay", 100);
    put("b.replay", 300);
    put("c.replay", 200);
    put(".d.replay", 900);
    put("notes.txt", 900);
    expect(locateReplay(path())).toEqual({ path: path("b.replay"), among: 3 });
    put("entry/episode.replay", 400);
    expect(locateReplay(path())).toEqual({ path: path("entry/episode.replay"), among: 4 });
  });

  it("says that a path leads nowhere, and that a directory is empty", () => {
    put("a.replay", 1);
    expect(() => locateReplay(path("b.replay"))).toThrow(/nothing at .*b\.replay.*REPLAY_MISSING/s);
    expect(() => locateReplay(path("none", "b.replay"))).toThrow(/REPLAY_MISSING.*give a replay/s);
    mkdirSync(path("empty"));
    expect(() => locateReplay(path("empty"))).toThrow(/holds no replays.*ends in \.replay/s);
  });
});
