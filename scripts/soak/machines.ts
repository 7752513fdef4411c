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

/** Times that machines were made in this process: names are not used twice, as the kernel may be slow to forget one. */
let made = 0;

const ip = (...words: readonly string[]): void => void execFileSync("ip", [...words], { stdio: "pipe" });

/**
 * Makes `count` machines. It needs root and iproute2: the error says so. Addresses lie in a network of this process's
 * own, 10.77.x.0/24, and lead to these namespaces alone. They go with the process, unless that is killed.
 */
export function makeMachines(count: number): Machines {
  const name = `e${process.pid % 100_000}x${made}`;
  const names = Array.from({ length: count }, (_, i) => `${name}-${i}`);
  const bridge = `${name}b`;
  const network = `10.77.${(process.pid + made++) % 250}`;
  const remove = (): void => {
    process.removeListener("exit", remove);
    for (const one of names) quietly(() => ip("netns", "delete", one));
    quietly(() => ip("link", "delete", bridge));
  };
  process.once("exit", remove);
  try {
    ip("link", "add", bridge, "type", "bridge");
    ip("address", "add", `${network}.254/24`, "dev", bridge);
    ip("link", "set", bridge, "up");
    names.forEach((one, i) => {
      const inside = ["netns", "exec", one, "ip"] as const;
      ip("netns", "add", one);
      ip("link", "add", `${name}v${i}`, "type", "veth", "peer", "name", "eth0", "netns", one);
      ip("link", "set", `${name}v${i}`, "master", bridge, "up");
      ip(...inside, "address", "add", `${network}.${i + 1}/24`, "dev", "eth0");
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
    address: `${network}.254`,
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
