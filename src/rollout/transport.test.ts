import { expect, it } from "vitest";
import { rollout, transportConformance, weights } from "./conformance.test-support.ts";
import { inProcessTransport, RolloutQueue } from "./transport.ts";

transportConformance("the in-process transport", async ({ capacity, workers }) => {
  const transport = inProcessTransport({ capacity });
  return { transport, links: Array.from({ length: workers }, (_, i) => transport.worker(`worker-${i}`)) };
});

it("receive without waiting answers at once, before and after weights", async () => {
  const transport = inProcessTransport();
  const early = transport.worker("early");
  expect(await early.receive()).toBeUndefined();
  await transport.publish(weights(1));
  expect(await early.receive()).toEqual(weights(1));
  expect(await early.receive()).toBeUndefined();
  expect(await transport.worker("late").receive()).toEqual(weights(1));
  expect(transport.stats.workers).toBe(2);
});

it("a name has one open link at a time", async () => {
  const transport = inProcessTransport();
  const link = transport.worker("a");
  expect(() => transport.worker("a")).toThrow(expect.objectContaining({ code: "WORKER_NAME_TAKEN" }));
  await link.close();
  await transport.worker("a").send(rollout("a", 0));
  expect(await transport.take()).toEqual(rollout("a", 0));
});

it("take fails where all workers have ended, and not what they had sent; another may come", async () => {
  const transport = inProcessTransport();
  const [a, b] = [transport.worker("a"), transport.worker("b")];
  await a.send(rollout("a", 0));
  await Promise.all([a.close(), b.close()]);
  expect(await transport.take()).toEqual(rollout("a", 0));
  await expect(transport.take()).rejects.toMatchObject({ code: "WORKERS_ENDED" });
  const c = transport.worker("c");
  const waiting = transport.take();
  await c.send(rollout("c", 0));
  expect(await waiting).toEqual(rollout("c", 0));
  const late = transport.take();
  await c.close();
  await expect(late).rejects.toMatchObject({ code: "WORKERS_ENDED" });
  // A trainer that closes it with its last worker has come to its own end.
  const last = transport.worker("d");
  const closing = transport.take();
  await last.close().then(() => transport.close());
  expect(await closing).toBeUndefined();
  expect(await transport.take()).toBeUndefined();
});

it("a capacity that is none is refused", () => {
  expect(() => inProcessTransport({ capacity: 0 })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  );
});

it("a sender that waits is not passed by one that comes when there is room", async () => {
  const queue = new RolloutQueue(1);
  await queue.put(rollout("a", 0));
  const waiting = queue.put(rollout("a", 1));
  const taken = queue.take();
  const late = queue.put(rollout("a", 2));
  expect([await taken, await queue.take(), await queue.take()].map((one) => one?.weightId)).toEqual([
    0, 1, 2,
  ]);
  await Promise.all([waiting, late]);
});

it("many ids are remembered, and not without end", async () => {
  const queue = new RolloutQueue(1, 10);
  const pass = async (n: number) => {
    await queue.put(rollout("a", n));
    await queue.take();
  };
  for (let n = 0; n <= 10; n++) await pass(n);
  await queue.put(rollout("a", 1));
  expect(queue.counts).toMatchObject({ accepted: 11, duplicates: 1 });
  await queue.put(rollout("a", 0));
  expect(queue.counts).toMatchObject({ accepted: 12, duplicates: 1 });
});
