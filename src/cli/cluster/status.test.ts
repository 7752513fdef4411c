import { describe, expect, it } from "vitest";
import type { Member, RunStatus } from "../../cluster/index.ts";
import { captured } from "../runs/runs.test-support.ts";
import { styleFor } from "../terminal.ts";
import { statusLines, summaryText } from "./status.ts";
import { drawn, greetingLines, printed } from "./up.ts";

const member = (kind: Member["kind"], name: string, numbers: Member["numbers"] = {}): Member => ({
  kind,
  name,
  host: "lab-1",
  pid: 42,
  doing: kind === "trainer" ? "update 12" : "rollouts",
  numbers,
});

const maze: RunStatus = {
  run: "maze",
  state: "running",
  version: "0.1.0",
  members: [
    member("evaluator", "e", { jobs: 2 }),
    member("trainer", "t", { queued: 3, capacity: 8, weightId: 12 }),
    member("worker", "w-1", { rollouts: 1200, rate: 5.25, weightId: 11, staleness: 1 }),
    member("worker", "w-2", { rollouts: 7, rate: 1.25, weightId: 10, staleness: 2 }),
  ],
};
const idle: RunStatus = { run: "idle", state: "ended", version: "0.1.0", members: [] };

const plain = { ...styleFor({ isTTY: false, columns: undefined }, {}, true), width: 200 };

describe("the status of a cluster", () => {
  it("sums a run up in a line", () => {
    expect(summaryText(maze)).toBe(
      "maze: running; 1 trainer, 2 workers, 1 evaluator; 6.5 rollouts a second; at most 2 updates behind; " +
        "3 of 8 rollouts wait; 2 jobs of evaluators",
    );
    expect(summaryText(idle)).toBe("idle: ended; nobody is there");
  });

  it("lists members, trainer first, with what they do and the numbers that any of them gives", () => {
    expect(statusLines("nats://lab:4222", [maze, idle], plain)).toEqual([
      summaryText(maze),
      "  who        name  host   process  doing      rollouts  a second  weights  behind  waiting  jobs",
      "  trainer    t     lab-1       42  update 12                           12           3 of 8",
      "  worker     w-1   lab-1       42  rollouts      1,200      5.25       11       1",
      "  worker     w-2   lab-1       42  rollouts          7      1.25       10       2",
      "  evaluator  e     lab-1       42  rollouts                                                    2",
      "idle: ended; nobody is there",
    ]);
    const quiet = { ...maze, members: [member("worker", "w")] };
    expect(statusLines("", [quiet], plain)[1]).toBe("  who     name  host   process  doing");
    expect(statusLines("nats://lab:4222", [], plain)).toEqual([
      "nats://lab:4222 knows no runs: start a trainer",
    ]);
  });

  it("prints names that came over the network safely", () => {
    const odd = { ...maze, run: "a\x1b[2J", members: [member("worker", "w\x1b]0;x\x07")] };
    expect(statusLines("", [odd], plain).join("\n")).not.toMatch(/[^\n\x20-\x7e]/);
  });
});

describe("espalier cluster up", () => {
  it("draws over what it drew, as wide and high as the terminal", async () => {
    const out = captured({ isTTY: true, columns: 40, rows: 6 });
    const show = drawn(out, { ...plain, width: 40 });
    await show("", [maze]);
    const first = out.text().split("\n");
    expect(first.map((line) => line.length)).toEqual([39, 39, 39, 16, 0]);
    expect(first[3]).toBe("and 3 more lines");
    await show("", [idle]);
    expect(out.text().slice(first.join("\n").length)).toBe("\x1b[4A\x1b[Jidle: ended; nobody is there\n");
  });

  it("prints a line when somebody came or went, and each minute while somebody is there", async () => {
    const out = captured();
    let now = new Date(2026, 10, 15, 12, 0, 0).getTime();
    const show = printed(out, { wall: () => now });
    const lines = async (run: RunStatus, seconds: number): Promise<number> => {
      const before = out.text().split("\n").length;
      now += seconds * 1000;
      await show("", [run]);
      return out.text().split("\n").length - before;
    };
    expect(await lines(maze, 0)).toBe(1);
    expect(out.text()).toBe(`12:00:00  ${summaryText(maze)}\n`);
    expect(await lines(maze, 59)).toBe(0);
    expect(await lines(maze, 1)).toBe(1);
    expect(await lines({ ...maze, members: maze.members.slice(1) }, 1)).toBe(1);
    expect(await lines({ ...maze, members: [] }, 1)).toBe(1);
    expect(await lines({ ...maze, members: [] }, 600)).toBe(0);
    expect(await lines({ ...maze, members: [], state: "ended" }, 1)).toBe(1);
  });

  const server = { version: "2.15.1", url: "nats://127.0.0.1:4222", port: 4222, token: "secret-token" };
  const greeting = (host: string) =>
    greetingLines(server, { host, directory: "runs/cluster" }, "npx espalier", [
      "192.168.1.5",
      "10.0.0.5",
    ]).join("\n");

  it("prints the command for other machines, with address and token", () => {
    expect(greeting("0.0.0.0")).toContain(
      "\n  NATS_URL=nats://192.168.1.5:4222 NATS_TOKEN=secret-token npx espalier worker --run RUN\n",
    );
    expect(greeting("0.0.0.0")).toContain("nats://10.0.0.5:4222");
    expect(greeting("0.0.0.0")).not.toContain("--host");
  });

  it("says of a server that only this machine reaches how others could", () => {
    expect(greeting("127.0.0.1")).toContain("NATS_URL=nats://127.0.0.1:4222 ");
    expect(greeting("127.0.0.1")).toContain("--host 0.0.0.0");
  });
});
