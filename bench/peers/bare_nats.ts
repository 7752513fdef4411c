// The same bytes by NATS's own client, without a transport: what bench/cluster.ts compares ours with.
import { once } from "node:events";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { clusterOfBench } from "../cluster/machines.ts";
import { pieces, receivers, weightBytes } from "../cluster/sizes.ts";
import { type Case, serve } from "./protocol.ts";

/** Chunks through a work queue in a file, each acknowledged, with as many in flight as ours has. */
async function experience(): Promise<Case> {
  const { url: servers, token, start } = await clusterOfBench(1);
  const connection = await connect({ servers, token });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: "bare",
    subjects: ["bare.chunks"],
    retention: "workqueue",
    storage: "file",
  });
  await manager.consumers.add("bare", {
    durable_name: "taker",
    ack_policy: "explicit",
    max_ack_pending: 128,
  });
  const consumer = await jetstream(connection).consumers.get("bare", "taker");
  let left = 0;
  let done = (): void => undefined;
  await consumer.consume({
    max_messages: 128,
    callback: (message) => {
      message.ack();
      if (--left === 0) done();
    },
  });
  const child = start(0, "./side.ts", "bareSend", servers, token);
  const run = async (count: number): Promise<void> => {
    left = count;
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    child.stdin?.write(`${count}\n`);
    await all;
  };
  await run(10);
  return { run };
}

/** Pieces by plain publish and subscribe: nothing is stored. */
async function weights(): Promise<Case> {
  const { url: servers, token, start } = await clusterOfBench(1);
  const connection = await connect({ servers, token });
  let left = 0;
  let done = (): void => undefined;
  connection.subscribe("bare.done", {
    callback: () => {
      if (--left === 0) done();
    },
  });
  const children = Array.from({ length: receivers }, () =>
    start(0, "./side.ts", "bareReceive", servers, token),
  );
  await Promise.all(children.map(({ stdout }) => stdout && once(stdout, "data")));
  const message = new Uint8Array(weightBytes).fill(3);
  const size = weightBytes / pieces;
  const run = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      left = receivers;
      const all = new Promise<void>((resolve) => {
        done = resolve;
      });
      for (let p = 0; p < pieces; p++)
        connection.publish("bare.weights", message.subarray(p * size, (p + 1) * size));
      await all;
    }
  };
  await run(1);
  return { run };
}

await serve(() => "@nats-io/transport-node 3.4.0", { experience, weights });

// What was started keeps the process alive.
process.exit();
