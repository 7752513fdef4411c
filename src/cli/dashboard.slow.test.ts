import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProgram } from "./program.ts";
import { registerReport } from "./report.ts";
import { captured, completed, filed, record, testStores } from "./runs/runs.test-support.ts";
import { thisProcess } from "./terminal.ts";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const { path, testStore } = testStores();
/** Each starts Node and translates the program; the first builds the page. */
const patience = { timeout: 300_000 };

async function stored(): Promise<void> {
  const store = await testStore();
  await filed(store, "abcd", [record("train/loss", 1, 0.5)], { name: "mine", ending: completed });
}

describe("espalier dashboard", patience, () => {
  it.each([
    ["SIGINT", 0],
    ["SIGTERM", 0],
  ] as const)("serves the page and the runs until %s", async (signal, expected) => {
    await stored();
    const child = spawn(
      process.execPath,
      ["--import", "tsx", main, "dashboard", "--runs", path(""), "--port", "0"],
      {
        env: { ...process.env, ESPALIER_STORE: "" },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    expect((await lines.next()).value).toMatch(/^1 run in .*stats\.db$/);
    const [, url, token] =
      /^(http:\/\/127\.0\.0\.1:\d+\/)#token=([\w-]{32})$/.exec((await lines.next()).value) ?? [];
    expect(await (await fetch(`${url}`)).text()).toContain("<title>Espalier</title>");
    const headers = { "x-espalier-token": String(token) };
    expect(await (await fetch(`${url}api/session`, { headers })).json()).toMatchObject({ control: true });
    expect(await (await fetch(`${url}api/runs`)).json()).toMatchObject([{ id: "abcd", name: "mine" }]);
    const closed = once(child, "close");
    child.kill(signal);
    expect((await closed)[0]).toBe(expected);
  });

  it("prints an address that has a token with signs as it is", async () => {
    await stored();
    const token = "a+b/c=d&e%20#f?g";
    const child = spawn(
      process.execPath,
      ["--import", "tsx", main, "dashboard", "--runs", path(""), "--port", "0", "--token", token],
      { env: { ...process.env, ESPALIER_STORE: "" }, stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    await lines.next();
    const { hash } = new URL((await lines.next()).value);
    // As the page reads it.
    expect(new URLSearchParams(hash.slice(1)).get("token")).toBe(token);
  });

  it("starts where there is no stats store yet, and makes none", async () => {
    const child = spawn(
      process.execPath,
      ["--import", "tsx", main, "dashboard", "--runs", path("none"), "--port", "0"],
      { env: { ...process.env, ESPALIER_STORE: "" }, stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    expect((await lines.next()).value).toMatch(/no stats store .*none.stats\.db yet/);
    const [url] = /^http:[^#]*/.exec((await lines.next()).value) ?? [];
    expect(await (await fetch(`${url}api/runs`)).json()).toEqual([]);
    expect(existsSync(path("none"))).toBe(false);
    const closed = once(child, "close");
    child.kill("SIGTERM");
    expect((await closed)[0]).toBe(0);
  });
});

describe("espalier report", patience, () => {
  const report = async (...args: readonly string[]): Promise<string> => {
    const out = captured();
    const around = { ...thisProcess(), out, env: {} };
    const program = createProgram([(each) => registerReport(each, around)]);
    await program.parseAsync(["report", ...args, "--runs", path("")], { from: "user" });
    return out.text();
  };

  it("writes one file, over another only where it is told to", async () => {
    await stored();
    const file = path("mine.html");
    expect(await report("mine", "--out", file)).toMatch(/^wrote .*mine\.html \([\d.]+ kB\)\n$/);
    const text = readFileSync(file, "utf8");
    expect(text).toContain("__ESPALIER_REPORT__");
    expect(text).not.toMatch(/<(script|link)[^>]*(src|href)="\./);
    writeFileSync(file, "mine");
    await expect(report("mine", "--out", file)).rejects.toMatchObject({ code: "EXPORT_EXISTS" });
    expect(readFileSync(file, "utf8")).toBe("mine");
    await report("abcd", "--out", file, "--force");
    expect(readFileSync(file, "utf8")).toContain("__ESPALIER_REPORT__");
    await expect(report("mine", "--store", path("none.db"))).rejects.toMatchObject({ code: "STATS_MISSING" });
    await expect(report("other", "--out", file)).rejects.toMatchObject({ code: "STATS_UNKNOWN_RUN" });
  });
});
