import { execFileSync } from "node:child_process";

/** Machines on this one: network namespaces that a bridge connects, each with an address of its own. */
export interface Machines {
  /** The address of this process's side of the bridge. */
  readonly address: string;
  /** Words before a command that run it on machine `i`. */
  on(i: number): readonly string[];
  /** Cuts machine `i` off, or connects it again. */
  connect(i: number, connected: boolean): void;
  remove(): void;
}

const ip = (...words: readonly string[]): void => void execFileSync("ip", [...words], { stdio: "pipe" });

/**
 * Makes `count` machines. It needs root and iproute2: the error says so. Addresses are in 10.77.0.0/24 and lead to these
 * namespaces alone.
 */
export function makeMachines(count: number, name = `esp${process.pid % 100_000}`): Machines {
  const names = Array.from({ length: count }, (_, i) => `${name}-${i}`);
  const bridge = `${name}b`;
  const remove = (): void => {
    for (const one of names) quietly(() => ip("netns", "delete", one));
    quietly(() => ip("link", "delete", bridge));
  };
  try {
    ip("link", "add", bridge, "type", "bridge");
    ip("address", "add", "10.77.0.254/24", "dev", bridge);
    ip("link", "set", bridge, "up");
    names.forEach((one, i) => {
      const inside = ["netns", "exec", one, "ip"] as const;
      ip("netns", "add", one);
      ip("link", "add", `${name}v${i}`, "type", "veth", "peer", "name", "eth0", "netns", one);
      ip("link", "set", `${name}v${i}`, "master", bridge, "up");
      ip(...inside, "address", "add", `10.77.0.${i + 1}/24`, "dev", "eth0");
      ip(...inside, "link", "set", "eth0", "up");
      ip(...inside, "link", "set", "lo", "up");
    });
  } catch (cause) {
    remove();
    throw new Error(`no network namespaces can be made here (root and iproute2 are needed): ${cause}`, {
      cause,
    });
  }
  return {
    address: "10.77.0.254",
    on: (i) => ["ip", "netns", "exec", names[i] as string],
    // A link that is down drops packets without a word, as a cable that is pulled out does.
    connect: (i, connected) => ip("link", "set", `${name}v${i}`, connected ? "up" : "down"),
    remove,
  };
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // It was not there.
  }
}
