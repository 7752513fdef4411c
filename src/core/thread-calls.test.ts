import { afterEach, describe, expect, it, vi } from "vitest";
import { startThread } from "../engine/index.ts";
import { ThreadCalls, type ThreadEnd } from "./thread-calls.ts";

describe("calls to a thread", () => {
  const started: ThreadCalls<unknown, unknown>[] = [];
  const start = (errorOf?: (end: ThreadEnd) => Error): ThreadCalls<unknown, unknown> => {
    const calls = new ThreadCalls(
      startThread("core/thread-calls.test-support", { name: "test" }),
      ...(errorOf ? [errorOf] : []),
    );
    started.push(calls);
    return calls;
  };
  afterEach(async () => {
    for (const calls of started.splice(0)) await calls.terminate();
  });

  it("are answered each by its own answer or error, and beside each other", async () => {
    const calls = start();
    const hanging = expect(calls.make("hang")).rejects.toThrow("ended with code 1");
    expect(await Promise.all([calls.make(1), calls.make("two")])).toEqual([[1], ["two"]]);
    await expect(calls.make("refuse")).rejects.toMatchObject({ code: "REFUSED", fix: "ask for another" });
    expect(await calls.make("memory")).toHaveProperty("byteLength", 4);
    expect(calls.ended).toBe(false);
    await calls.terminate();
    await hanging;
  });

  it("that cannot be sent reject, and keep the process no longer", async () => {
    const calls = start();
    await expect(calls.make({ reward: () => 1 })).rejects.toThrow("could not be cloned");
    expect(calls.busy).toBe(0);
    const unref = vi.spyOn(calls.worker, "unref");
    await calls.make(1);
    expect(unref).toHaveBeenCalledOnce();
  });

  it("reject once it has ended, those that come later too, in the words of who started it", async () => {
    const calls = start((end) => new Error(`lost: ${JSON.stringify(end)}`));
    const waiting = expect(calls.make("hang")).rejects.toThrow('lost: {"code":3}');
    await expect(calls.make("exit")).rejects.toThrow('lost: {"code":3}');
    await waiting;
    expect(calls.ended).toBe(true);
    await expect(calls.make(1)).rejects.toThrow('lost: {"code":3}');
  });
});
