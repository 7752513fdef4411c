// The other side of a figure: a process on another machine (a network namespace where there are some), which moves what
// the bench asks for. `node side.ts KIND URL TOKEN`; the parent's messages over standard input say how many, where that matters.
import { createInterface } from "node:readline";
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { natsLink } from "../../src/cluster/index.ts";
import { chunkBytes, inFlight, pieces, weightBytes } from "./sizes.ts";

const [kind, servers = "", token = ""] = process.argv.slice(2);
const options = { servers, token, run: "bench" };

/** Rollouts of 100 kB, as fast as they are taken, by as many workers as bare NATS has senders. */
async function oursSend(): Promise<void> {
  const arrays = { x: { data: new Uint8Array(chunkBytes).fill(7), shape: [chunkBytes] } };
  const send = async (_: unknown, i: number): Promise<void> => {
    const name = `sender-${i}`;
    const link = natsLink({ ...options, name });
    await link.receive({ wait: true });
    for (let n = 0; ; n++)
      await link.send({
        ...{ id: `${name}/${n}`, worker: name, weightId: 0, lesson: "", arrays },
        ...{ episodes: 0, return: 0, positive: 0 },
      });
  };
  await Promise.all(Array.from({ length: inFlight }, send));
}

/** The same by NATS's own client: as many senders, each with a connection, and a message when the last was stored. */
async function bareSend(): Promise<void> {
  const connections = await Promise.all(Array.from({ length: inFlight }, () => connect({ servers, token })));
  const clients = connections.map((connection) => jetstream(connection));
  const bytes = new Uint8Array(chunkBytes).fill(7);
  let n = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    let left = Number(line);
    const send = async (client: (typeof clients)[number]): Promise<void> => {
      while (left-- > 0) await client.publish("bare.chunks", bytes, { msgID: `bare/${n++}` });
    };
    await Promise.all(clients.map(send));
  }
}

/** A worker that takes weights, and says so by a message, as bare NATS does below. */
async function oursReceive(): Promise<void> {
  const connection = await connect({ servers, token });
  const link = natsLink({ ...options, name: `receiver-${process.pid}` });
  while (await link.receive({ wait: true })) connection.publish("ours.done");
}

/** A subscriber of NATS's own client that puts pieces together, and says so by a message. */
async function bareReceive(): Promise<void> {
  const connection = await connect({ servers, token });
  let whole = new Uint8Array(weightBytes);
  let had = 0;
  connection.subscribe("bare.weights", {
    callback: (_, { data }) => {
      // As weights that are used while the next ones come.
      if (had === 0) whole = new Uint8Array(weightBytes);
      whole.set(data, (had * weightBytes) / pieces);
      if (++had < pieces) return;
      had = 0;
      connection.publish("bare.done");
    },
  });
  await connection.flush();
  console.log("ready");
}

const kinds: Readonly<Record<string, () => Promise<void>>> = { oursSend, bareSend, oursReceive, bareReceive };
// The trainer's end of the transport is its end.
await kinds[kind ?? ""]?.().catch(() => process.exit());
