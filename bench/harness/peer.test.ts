import { afterEach, describe, expect, it } from "vitest";
import { Peer } from "./peer.ts";

const wanted = { script: "", case: "adam", params: { size: 3 } };
const started: Peer[] = [];

/** A peer whose process answers each line by an expression over `request`. */
function peerAnswering(expression: string): Peer {
  const program = `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const request = JSON.parse(line);
      const reply = ${expression};
      console.log(typeof reply === "string" ? reply : JSON.stringify(reply));
    });`;
  const peer = new Peer("JAX", process.execPath, ["-e", program]);
  started.push(peer);
  return peer;
}

afterEach(() => {
  for (const peer of started.splice(0)) peer.stop();
});

describe("Peer", () => {
  it("sets up a case, hands over its parameters and gives back times and the check number", async () => {
    const peer = peerAnswering(
      'request.do === "setup" ? { check: request.params.size } : { seconds: request.steps / 2 }',
    );
    const subject = await peer.setUp(wanted);
    expect(subject.check).toBe(3);
    expect(await subject.run(10)).toBe(5);
    expect(await subject.run(4)).toBe(2);
  });

  it("gives a sample for each number it is asked by", async () => {
    const subject = await peerAnswering("{ sample: request.index * 100 }").setUp(wanted);
    expect(await subject.sample(3)).toBe(300);
  });

  it("passes on an error that the peer reports, and goes on", async () => {
    const peer = peerAnswering(
      'request.do === "setup" ? { error: "KeyError: adam" } : { text: "1.0 on cpu" }',
    );
    await expect(peer.setUp(wanted)).rejects.toThrow("JAX: KeyError: adam");
    expect(await peer.describe()).toBe("1.0 on cpu");
  });

  it("says what a process wrote before it ended", async () => {
    const peer = peerAnswering('(console.error("No module named jax"), process.exit(3))');
    await expect(peer.describe()).rejects.toThrow(/JAX ended with code 3: No module named jax/);
    await expect(peer.describe()).rejects.toThrow(/JAX ended with code 3/);
  });

  it("gives each of several open requests its own answer", async () => {
    const peer = peerAnswering("{ seconds: request.steps, text: request.do }");
    const subject = await peer.setUp(wanted);
    const [, text, first, second] = await Promise.all([
      peer.drop(),
      peer.describe(),
      subject.run(3),
      subject.run(5),
    ]);
    expect([text, first, second]).toEqual(["describe", 3, 5]);
  });

  it("refuses an answer that is no JSON", async () => {
    await expect(peerAnswering('"hello"').describe()).rejects.toThrow('JAX answered "hello"');
  });

  it("says that a command could not be started", async () => {
    const peer = new Peer("JAX", "/no/such/python", []);
    await expect(peer.describe()).rejects.toThrow(/could not be started/);
  });
});
