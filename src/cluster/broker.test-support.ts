import { describe, expect, it } from "vitest";
import type { Broker, Delivery, MessageQueue } from "./broker.ts";

/** What a test of brokers gets. Names of queues and values are its own. */
export interface BrokerScene {
  /** Another connection to the same server. */
  connect(): Promise<Broker>;
  /** A name that nobody else uses. */
  readonly name: string;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (from: Uint8Array | undefined): string | undefined => from && new TextDecoder().decode(from);

const pause = ({ timers }: Broker, milliseconds: number): Promise<void> =>
  new Promise((resolve) => void timers.after(milliseconds, () => resolve()));

/** Deliveries of a queue, one after the other. */
async function deliveriesOf(
  queue: MessageQueue,
  options: { readonly ahead: number; readonly alone?: boolean },
) {
  const arrived: Delivery[] = [];
  let heard: () => void = () => undefined;
  const end = await queue.consume((delivery) => {
    arrived.push(delivery);
    heard();
  }, options);
  const next = async (): Promise<Delivery> => {
    while (arrived.length === 0)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    return arrived.shift() as Delivery;
  };
  return { next, end, arrived };
}

/** What every broker does while its server is there. `run` gives a test its connections and awaits its end. */
export function brokerConformance(
  kind: string,
  run: (test: (scene: BrokerScene) => Promise<void>) => Promise<void>,
): void {
  const scene = (test: (broker: Broker, scene: BrokerScene) => Promise<void>) => (): Promise<void> =>
    run(async (given) => test(await given.connect(), given));
  const open = (
    broker: Broker,
    name: string,
    capacity = 8,
    acknowledgeWithin = 1500,
  ): Promise<MessageQueue> => broker.queue(name, { capacity, acknowledgeWithin });

  describe(`queues by ${kind}`, () => {
    it(
      "are opened by several at once, of whom one says how much they hold",
      scene(async (broker, { name, connect }) => {
        const other = await connect();
        for (let i = 0; i < 10; i++) {
          const [queue] = await Promise.all([
            open(broker, `${name}-${i}`, 1),
            other.queue(`${name}-${i}`, { acknowledgeWithin: 1500 }),
          ]);
          expect(await queue.put("a", bytes("1"))).toBe("stored");
          expect(await queue.put("b", bytes("2"))).toBe("full");
        }
      }),
    );

    it(
      "hold messages until they are acknowledged, and refuse ids that they know and what is too much",
      scene(async (broker, { name, connect }) => {
        const queue = await open(broker, name, 2);
        expect(await queue.put("a", bytes("1"))).toBe("stored");
        expect(await queue.put("a", bytes("1"))).toBe("known");
        expect(await queue.put("b", bytes("2"))).toBe("stored");
        expect(await queue.put("c", bytes("3"))).toBe("full");
        expect(await queue.put("b", bytes("2"))).toBe("known");
        expect(await queue.length()).toBe(2);
        const taking = await deliveriesOf(await open(await connect(), name, 2), { ahead: 2 });
        const [first, second] = [await taking.next(), await taking.next()];
        expect([first.id, text(first.bytes), second.id, text(second.bytes)]).toEqual(["a", "1", "b", "2"]);
        expect(await queue.put("c", bytes("3"))).toBe("full");
        first.acknowledge();
        while ((await queue.put("c", bytes("3"))) === "full") await pause(broker, 20);
        expect((await taking.next()).id).toBe("c");
        await taking.end();
      }),
    );

    it(
      "deliver no more than are asked for ahead",
      scene(async (broker, { name }) => {
        const queue = await open(broker, name);
        for (const id of ["a", "b", "c", "d"]) await queue.put(id, bytes(id));
        const taking = await deliveriesOf(queue, { ahead: 2 });
        const first = await taking.next();
        await taking.next();
        await pause(broker, 300);
        expect(taking.arrived).toEqual([]);
        first.acknowledge();
        expect((await taking.next()).id).toBe("c");
        await taking.end();
      }),
    );

    it(
      "deliver again what is not acknowledged in time, unless that was extended",
      scene(async (broker, { name }) => {
        const queue = await open(broker, name, 8, 600);
        for (const id of ["a", "b"]) await queue.put(id, bytes(id));
        const taking = await deliveriesOf(queue, { ahead: 8 });
        await taking.next();
        const extended = await taking.next();
        for (let i = 0; i < 6; i++) {
          extended.extend();
          await pause(broker, 200);
        }
        extended.acknowledge();
        expect(taking.arrived.map(({ id }) => id)).toContain("a");
        expect(taking.arrived.map(({ id }) => id)).not.toContain("b");
        await taking.end();
      }),
    );

    it(
      "deliver at once what is given back, to any consumer",
      scene(async (broker, { name, connect }) => {
        const queue = await open(broker, name, 8, 30_000);
        await queue.put("a", bytes("a"));
        const first = await deliveriesOf(queue, { ahead: 8 });
        const delivery = await first.next();
        await first.end();
        const second = await deliveriesOf(await open(await connect(), name, 8, 30_000), { ahead: 8 });
        delivery.release();
        const again = await second.next();
        expect(again.id).toBe("a");
        again.acknowledge();
        while ((await queue.length()) > 0) await pause(broker, 20);
        await second.end();
      }),
    );

    it(
      "are shared by their consumers",
      scene(async (broker, { name, connect }) => {
        const queue = await open(broker, name, 40);
        const [first, second] = [
          await deliveriesOf(queue, { ahead: 40 }),
          await deliveriesOf(await open(await connect(), name, 40), { ahead: 40 }),
        ];
        const ids = Array.from({ length: 40 }, (_, i) => `${i}`);
        for (const id of ids) await queue.put(id, bytes(id));
        while (first.arrived.length + second.arrived.length < 40) await pause(broker, 20);
        const taken = [...first.arrived, ...second.arrived];
        expect(taken.map(({ id }) => id).sort()).toEqual([...ids].sort());
        expect(first.arrived.length).toBeGreaterThan(0);
        expect(second.arrived.length).toBeGreaterThan(0);
        await first.end();
        await second.end();
      }),
    );

    it(
      "give all to one who takes alone, what those before it held included",
      scene(async (broker, { name, connect }) => {
        const queue = await open(broker, name, 8, 60_000);
        for (const id of ["a", "b", "c"]) await queue.put(id, bytes(id));
        const dead = await deliveriesOf(queue, { ahead: 8, alone: true });
        for (let i = 0; i < 3; i++) await dead.next();
        const alone = await deliveriesOf(await open(await connect(), name, 8, 60_000), {
          ahead: 8,
          alone: true,
        });
        expect([await alone.next(), await alone.next(), await alone.next()].map(({ id }) => id)).toEqual([
          "a",
          "b",
          "c",
        ]);
        await queue.put("d", bytes("d"));
        expect((await alone.next()).id).toBe("d");
        expect(dead.arrived).toEqual([]);
        await alone.end();
      }),
    );

    it(
      "take another capacity when they are opened with one",
      scene(async (broker, { name }) => {
        const queue = await open(broker, name, 1);
        await queue.put("a", bytes("a"));
        expect(await queue.put("b", bytes("b"))).toBe("full");
        await broker.queue(name, { acknowledgeWithin: 1500 });
        expect(await queue.put("b", bytes("b"))).toBe("full");
        await open(broker, name, 2);
        expect(await queue.put("b", bytes("b"))).toBe("stored");
      }),
    );
  });

  describe(`values by ${kind}`, () => {
    it(
      "keep the newest of each key, under revisions that grow",
      scene(async (broker, { name, connect }) => {
        const values = await broker.values(name);
        expect(await values.get("x.1")).toBeUndefined();
        const first = (await values.put("x.1", bytes("one"))) as number;
        const other = (await values.put("y", bytes("other"))) as number;
        const second = (await values.put("x.1", bytes("two"))) as number;
        expect([first < other, other < second]).toEqual([true, true]);
        const elsewhere = await (await connect()).values(name);
        const found = await elsewhere.get("x.1");
        expect([text(found?.bytes), found?.revision]).toEqual(["two", second]);
        expect([...(await elsewhere.keys())].sort()).toEqual(["x.1", "y"]);
        await elsewhere.delete("y");
        expect(await values.keys()).toEqual(["x.1"]);
        expect(await values.get("y")).toBeUndefined();
      }),
    );

    it(
      "are put only on the revision that is asked for",
      scene(async (broker, { name }) => {
        const values = await broker.values(name);
        const first = (await values.put("x", bytes("1"), { revision: 0 })) as number;
        expect(await values.put("x", bytes("2"), { revision: 0 })).toBeUndefined();
        expect(await values.put("x", bytes("2"), { revision: first + 1 })).toBeUndefined();
        expect(await values.put("x", bytes("2"), { revision: first })).toBeGreaterThan(first);
        expect(text((await values.get("x"))?.bytes)).toBe("2");
        await values.delete("x");
        expect(await values.put("x", bytes("3"), { revision: 0 })).toBeGreaterThan(first);
      }),
    );

    it(
      "are gone after their time, unless they are put again",
      scene(async (broker, { name }) => {
        const values = await broker.values(name, { seconds: 1 });
        await values.put("gone", bytes("1"));
        for (let i = 0; i < 5; i++) {
          await values.put("kept", bytes("1"));
          await pause(broker, 400);
        }
        expect(await values.keys()).toEqual(["kept"]);
        expect(await values.put("gone", bytes("2"), { revision: 0 })).toBeGreaterThan(0);
      }),
    );

    it(
      "are watched in order, until that is ended",
      scene(async (broker, { name, connect }) => {
        const values = await broker.values(name);
        const heard: string[] = [];
        const end = (await (await connect()).values(name)).watch((key, value) => {
          heard.push(`${key} ${text(value)}`);
        });
        await pause(broker, 100);
        for (const value of ["1", "2"]) await values.put("x", bytes(value));
        await values.put("y", bytes("3"));
        while (heard.length < 3) await pause(broker, 20);
        end();
        await values.put("x", bytes("4"));
        await pause(broker, 200);
        expect(heard).toEqual(["x 1", "x 2", "y 3"]);
      }),
    );
  });

  describe(`a server by ${kind}`, () => {
    it(
      "passes announcements on to all who listen now",
      scene(async (broker, { name, connect }) => {
        const heard: string[] = [];
        const others = [await connect(), await connect()];
        const ends = others.map((other, i) => other.listen(name, (said) => heard.push(`${i} ${text(said)}`)));
        await pause(broker, 100);
        broker.announce(name, bytes("hello"));
        broker.announce(`${name}-other`, bytes("no"));
        while (heard.length < 2) await pause(broker, 20);
        ends[0]?.();
        broker.announce(name, bytes("again"));
        while (heard.length < 3) await pause(broker, 20);
        await pause(broker, 200);
        expect(heard.sort()).toEqual(["0 hello", "1 again", "1 hello"]);
      }),
    );

    it(
      "takes messages as large as it says",
      scene(async (broker, { name }) => {
        const large = new Uint8Array(broker.maxPayload).fill(7);
        const values = await broker.values(name);
        await values.put("x", large);
        const found = await values.get("x");
        expect(found?.bytes.length).toBe(large.length);
        expect(found?.bytes.every((byte) => byte === 7)).toBe(true);
        expect(await (await open(broker, name)).put("x", large)).toBe("stored");
      }),
    );

    it(
      "removes what begins with a name, and nothing else",
      scene(async (broker, { name }) => {
        const [one, other] = [await broker.values(`${name}=one`), await broker.values(`${name}-other`)];
        await one.put("x", bytes("1"));
        await other.put("x", bytes("1"));
        await (await open(broker, `${name}=two`)).put("a", bytes("a"));
        await broker.remove(`${name}=`);
        expect(await (await open(broker, `${name}=two`)).length()).toBe(0);
        expect(await (await broker.values(`${name}=one`)).keys()).toEqual([]);
        expect(await other.keys()).toEqual(["x"]);
      }),
    );

    it(
      "answers nobody who has closed the connection",
      scene(async (_, { name, connect }) => {
        const closed = await connect();
        const values = await closed.values(name);
        await closed.close();
        await expect(values.put("x", bytes("1"))).rejects.toMatchObject({ code: "CLUSTER_NO_ANSWER" });
        await closed.close();
      }),
    );
  });
}
