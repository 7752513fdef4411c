import { afterEach, describe, expect, it, vi } from "vitest";
import type { NamedArrays, Rollout, Transport, Weights, WorkerLink } from "./rollout.ts";

/** A transport with links of workers, which may be in other processes. */
export interface OpenTransport {
  readonly transport: Transport;
  readonly links: readonly WorkerLink[];
}

const array = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] });

/** Weights whose numbers say which they are. */
export const weights = (id: number): Weights => ({ id, arrays: { w: array(id, id + 0.5) } });

/** A rollout whose numbers say which it is. */
export const rollout = (worker: string, n: number, arrays: NamedArrays = { x: array(n) }): Rollout => ({
  ...{ id: `${worker}/${n}`, worker, weightId: n, lesson: "walk", arrays },
  ...{ episodes: 2, return: n / 4, positive: 0.5, metrics: { length: n } },
});

/** Receives until the weights with this id are there, and gives the ids on the way. */
async function receiveUntil(link: WorkerLink, id: number): Promise<number[]> {
  const ids: number[] = [];
  while (ids.at(-1) !== id) {
    const received = await link.receive({ wait: true });
    if (!received) throw new Error(`closed after ${ids}`);
    expect(received).toEqual(weights(received.id));
    ids.push(received.id);
  }
  return ids;
}

async function takeAll(transport: Transport, count: number): Promise<Rollout[]> {
  const taken: Rollout[] = [];
  while (taken.length < count) taken.push((await transport.take()) as Rollout);
  return taken;
}

const aborted = (): { readonly controller: AbortController; readonly signal: AbortSignal } => {
  const controller = new AbortController();
  return { controller, signal: controller.signal };
};

/** How a transport differs from one in the trainer's own process. */
interface Differences {
  /** A server keeps rollouts for the trainer: counts follow soon after, and it may drop what it knows by itself. */
  readonly server?: boolean;
}

/** What every transport does. `open` gives one with so many links; the suite closes it. */
export function transportConformance(
  kind: string,
  open: (options: { readonly capacity: number; readonly workers: number }) => Promise<OpenTransport>,
  { server = false }: Differences = {},
): void {
  const opened: Transport[] = [];
  const expectStats = (transport: Transport, stats: Partial<Transport["stats"]>): void | Promise<void> => {
    const { duplicates: _, ...soon } = stats;
    if (!server) expect(transport.stats).toMatchObject(stats);
    else return vi.waitFor(() => expect(transport.stats).toMatchObject(soon), { timeout: 5000, interval: 5 });
  };
  const start = async (workers = 1, capacity = 8) => {
    const made = await open({ capacity, workers });
    opened.push(made.transport);
    return { ...made, link: made.links[0] as WorkerLink };
  };
  afterEach(async () => {
    for (const transport of opened.splice(0)) await transport.close();
  });

  describe(`weights by ${kind}`, () => {
    it("are waited for: there are none before the first", async () => {
      const { transport, link } = await start();
      const first = link.receive({ wait: true });
      await transport.publish(weights(7));
      expect(await first).toEqual(weights(7));
    });

    it("come once each, and the newest counts", async () => {
      const { transport, link } = await start();
      for (const id of [1, 2, 3]) await transport.publish(weights(id));
      const ids = await receiveUntil(link, 3);
      expect(ids).toEqual([...new Set(ids)].sort());
      expect(await link.receive()).toBeUndefined();
      await transport.publish(weights(4));
      expect(await receiveUntil(link, 4)).toEqual([4]);
    });

    it("with a lower id come too: the trainer went back to a checkpoint", async () => {
      const { transport, link } = await start();
      for (const id of [10, 4, 5, 5]) {
        await transport.publish(weights(id));
        expect(await receiveUntil(link, id)).toEqual([id]);
      }
    });

    it("reach every worker", async () => {
      const { transport, links } = await start(2);
      await transport.publish(weights(1));
      for (const link of links) await receiveUntil(link, 1);
      await transport.publish(weights(2));
      for (const link of links) await receiveUntil(link, 2);
    });

    it("keep every bit, type, shape and name", async () => {
      const { transport, link } = await start();
      const arrays: NamedArrays = {
        "blocks.0.w": { data: Float32Array.of(1.5, -0, Number.NaN, Infinity, 1e-45, 3), shape: [2, 3] },
        bytes: { data: Uint8Array.of(1, 2, 255), shape: [3] },
        double: { data: Float64Array.of(Math.PI), shape: [] },
        'odd "name"\n': { data: Int32Array.of(-1, 2 ** 31 - 1), shape: [1, 2, 1] },
        nothing: { data: new Float32Array(0), shape: [0, 4] },
        part: { data: Uint32Array.of(9, 2 ** 32 - 1, 9).subarray(1, 2), shape: [1] },
      };
      await transport.publish({ id: 1, arrays });
      const received = await link.receive({ wait: true });
      expect(received).toEqual({ id: 1, arrays });
      expect(Object.keys(received?.arrays ?? {})).toEqual(Object.keys(arrays));
      for (const { data, shape } of Object.values(received?.arrays ?? {}))
        expect(data.length).toBe(shape.reduce((product, n) => product * n, 1));
    });

    it("are not waited for any more when the signal is aborted", async () => {
      const { transport, link } = await start();
      const { controller, signal } = aborted();
      await transport.publish(weights(1));
      await receiveUntil(link, 1);
      const waiting = link.receive({ wait: true, signal });
      controller.abort();
      expect(await waiting).toBeUndefined();
      await transport.publish(weights(2));
      expect(await receiveUntil(link, 2)).toEqual([2]);
    });

    it("that are not whole are refused, and those before them stay", async () => {
      const { transport, link } = await start();
      await transport.publish(weights(1));
      for (const wrong of [
        { id: -1, arrays: {} },
        { id: 0.5, arrays: {} },
        { id: 2, arrays: { w: { data: new Float32Array(5), shape: [2, 3] } } },
        JSON.parse('{ "id": 2 }'),
        JSON.parse('{ "id": 2, "arrays": { "w": [1, 2] } }'),
      ])
        await expect(transport.publish(wrong)).rejects.toMatchObject({ code: "WEIGHTS_INVALID" });
      expect(await receiveUntil(link, 1)).toEqual([1]);
      expect(await link.receive()).toBeUndefined();
    });
  });

  describe(`rollouts by ${kind}`, () => {
    /** Workers may start with the first weights. */
    const started = async (workers = 1, capacity = 8) => {
      const made = await start(workers, capacity);
      await made.transport.publish(weights(0));
      return made;
    };

    it("arrive in their order, with all they hold", async () => {
      const { transport, link } = await started();
      const arrays: NamedArrays = {
        tokens: { data: Int32Array.of(1, 2, 3, 4), shape: [2, 2] },
        mask: { data: Uint8Array.of(1), shape: [1] },
        logProbs: { data: Float32Array.of(-0, Number.NaN, -1e-45), shape: [3] },
        u: { data: Uint32Array.of(7, 2 ** 32 - 1).subarray(1), shape: [1] },
        d: { data: Float64Array.of(0.1), shape: [] },
      };
      const sent = [rollout("a", 0, arrays), rollout("a", 1), rollout("a", 2)];
      for (const one of sent) await link.send(one);
      await expectStats(transport, { accepted: 3, taken: 0, queued: 3, duplicates: 0, workers: 1 });
      expect(await takeAll(transport, 3)).toEqual(sent);
      await expectStats(transport, { accepted: 3, taken: 3, queued: 0 });
    });

    it("are in the trainer's queue when they are acknowledged, and never more than its capacity", async () => {
      const { transport, link } = await started(1, 2);
      const acknowledged: number[] = [];
      const sending = [0, 1, 2, 3, 4].map(async (n) => {
        await link.send(rollout("a", n));
        acknowledged.push(n);
        const { accepted, taken } = transport.stats;
        if (!server) expect(accepted).toBeGreaterThanOrEqual(acknowledged.length);
        expect(accepted - taken).toBeLessThanOrEqual(2);
      });
      await Promise.all(sending.slice(0, 2));
      // Whatever comes after this was sent before it.
      await link.receive();
      expect(acknowledged).toEqual([0, 1]);
      await expectStats(transport, { accepted: 2, queued: 2 });
      expect((await takeAll(transport, 5)).map(({ weightId }) => weightId)).toEqual([0, 1, 2, 3, 4]);
      await Promise.all(sending);
    });

    it("that come twice count once, whoever sends them", async () => {
      const { transport, links, link } = await started(2, 3);
      for (const n of [0, 0, 1]) await link.send(rollout("a", n));
      await links[1]?.send(rollout("a", 0));
      expect(await takeAll(transport, 2)).toEqual([rollout("a", 0), rollout("a", 1)]);
      await link.send(rollout("a", 1));
      await link.send(rollout("a", 2));
      expect(await takeAll(transport, 1)).toEqual([rollout("a", 2)]);
      await expectStats(transport, { accepted: 3, taken: 3, queued: 0, duplicates: 3 });
    });

    it("are taken each once from many workers, those of one in its order", async () => {
      const { transport, links } = await started(2, 2);
      const sending = links.map(async (link, worker) => {
        for (let n = 0; n < 30; n++) await link.send(rollout(`w${worker}`, n));
      });
      const taken = await takeAll(transport, 60);
      await Promise.all(sending);
      for (const worker of ["w0", "w1"])
        expect(taken.filter((one) => one.worker === worker).map(({ weightId }) => weightId)).toEqual(
          Array.from({ length: 30 }, (_, n) => n),
        );
      await expectStats(transport, { accepted: 60, taken: 60, queued: 0, duplicates: 0 });
    });

    it("are not lost to a trainer that no longer waits for them", async () => {
      const { transport, link } = await started();
      const { controller, signal } = aborted();
      const waiting = transport.take({ signal });
      controller.abort();
      expect(await waiting).toBeUndefined();
      expect(await transport.take({ signal })).toBeUndefined();
      await link.send(rollout("a", 0));
      expect(await transport.take({ signal })).toBeUndefined();
      expect(await transport.take()).toEqual(rollout("a", 0));
    });

    it("whose sending was aborted can be sent again, and count once", async () => {
      const { transport, link } = await started(1, 1);
      const { controller, signal } = aborted();
      await link.send(rollout("a", 0));
      const waiting = link.send(rollout("a", 1), { signal });
      const failed = expect(waiting).rejects.toThrow();
      controller.abort(new Error("no time"));
      await failed;
      const again = link.send(rollout("a", 1));
      expect(await takeAll(transport, 2)).toEqual([rollout("a", 0), rollout("a", 1)]);
      await again;
      await link.send(rollout("a", 2));
      expect(await transport.take()).toEqual(rollout("a", 2));
    });
  });

  describe(`closing ${kind}`, () => {
    it("ends everybody who waits", async () => {
      const { transport, links } = await start(2, 1);
      await transport.publish(weights(1));
      for (const link of links) await receiveUntil(link, 1);
      const [a, b] = links as [WorkerLink, WorkerLink];
      const receiving = b.receive({ wait: true });
      await a.send(rollout("a", 0));
      await expectStats(transport, { accepted: 1 });
      const sending = [a.send(rollout("a", 1)), a.send(rollout("a", 2)), b.send(rollout("b", 0))].map(
        (sent) => expect(sent).rejects.toMatchObject({ code: "TRANSPORT_CLOSED" }),
      );
      await transport.close();
      expect(await receiving).toBeUndefined();
      await Promise.all(sending);
      await expectStats(transport, { accepted: 1, taken: 0, workers: 0 });
    });

    it("ends a trainer that waits, once and for all", async () => {
      const { transport } = await start();
      await transport.publish(weights(1));
      const taking = transport.take();
      await Promise.all([transport.close(), transport.close()]);
      expect(await taking).toBeUndefined();
      expect(await transport.take()).toBeUndefined();
      await expect(transport.publish(weights(2))).rejects.toMatchObject({ code: "TRANSPORT_CLOSED" });
      await transport.close();
    });

    it("a link ends what it waits for, and the others go on", async () => {
      const { transport, links } = await start(2, 1);
      await transport.publish(weights(1));
      const [a, b] = links as [WorkerLink, WorkerLink];
      await receiveUntil(a, 1);
      await b.send(rollout("b", 0));
      const receiving = a.receive({ wait: true });
      const sending = expect(a.send(rollout("a", 0))).rejects.toMatchObject({ code: "TRANSPORT_CLOSED" });
      await a.close();
      expect(await receiving).toBeUndefined();
      await sending;
      await expect(a.send(rollout("a", 1))).rejects.toMatchObject({ code: "TRANSPORT_CLOSED" });
      expect(await a.receive()).toBeUndefined();
      expect(await transport.take()).toEqual(rollout("b", 0));
      await b.send(rollout("b", 1));
      expect(await transport.take()).toEqual(rollout("b", 1));
    });
  });
}
