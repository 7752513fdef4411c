import { posix } from "node:path";
import type { FileSystem } from "./file-system.ts";
import type { Processes } from "./lock.ts";

interface Inode {
  data: Uint8Array;
  /** What survives a loss of power: the content when it was last synced, the names when they were. */
  syncedData: Uint8Array;
  entries: Map<string, Inode> | undefined;
  syncedEntries: Map<string, Inode>;
}

const inode = (directory: boolean): Inode => ({
  data: new Uint8Array(),
  syncedData: new Uint8Array(),
  entries: directory ? new Map() : undefined,
  syncedEntries: new Map(),
});

const fault = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });

/** How a machine goes down. */
export type Loss =
  /** The process is killed: what was written is there. */
  | "kill"
  /** Power fails: only what was synced is there. */
  | "power"
  /** Power fails after names had reached the disk, and data had not. */
  | "power, names kept";

/** A file system in memory that counts what is asked of it and fails where it is told to. */
export class FaultyFiles {
  root = inode(true);
  operations = 0;
  /** The operation during which the process dies: it is done by half, and nothing is done after it. */
  crashAt = Number.POSITIVE_INFINITY;
  /** Bytes that files may hold together. */
  space = Number.POSITIVE_INFINITY;
  readOnly = false;
  /** The most bytes that one write takes. */
  mostAtOnce = Number.POSITIVE_INFINITY;

  get crashed(): boolean {
    return this.operations >= this.crashAt;
  }

  /** The machine after it went down and came up again. */
  restart(loss: Loss): this {
    if (loss !== "kill") lose(this.root, loss === "power");
    this.crashAt = Number.POSITIVE_INFINITY;
    return this;
  }

  /** All paths of files and directories. */
  paths(from = this.root, at = ""): string[] {
    return [...(from.entries ?? [])].flatMap(([name, node]) => [
      `${at}/${name}`,
      ...this.paths(node, `${at}/${name}`),
    ]);
  }

  file(path: string): Inode {
    return this.#find(path);
  }

  #find(path: string): Inode {
    const found = path
      .split("/")
      .filter((part) => part !== "")
      .reduce<Inode | undefined>((node, part) => node?.entries?.get(part), this.root);
    if (!found) throw fault("ENOENT", path);
    return found;
  }

  #names(path: string): Map<string, Inode> {
    const { entries } = this.#find(path);
    if (!entries) throw fault("ENOTDIR", path);
    return entries;
  }

  /** Counts an operation. True: it is the one during which the process dies. */
  #count(): boolean {
    if (this.crashed) throw new Error("the process is dead");
    this.operations++;
    return this.crashed;
  }

  #step(change = false, path = ""): void {
    if (this.#count()) throw new Error("killed");
    if (change && this.readOnly) throw fault("EROFS", path);
  }

  #used(node = this.root): number {
    return [...(node.entries?.values() ?? [])].reduce(
      (sum, child) => sum + this.#used(child),
      node.data.length,
    );
  }

  #removeAll(path: string): void {
    const names = this.#names(posix.dirname(path));
    const node = names.get(posix.basename(path));
    if (!node) return;
    for (const child of [...(node.entries?.keys() ?? [])]) this.#removeAll(posix.join(path, child));
    this.#step(true, path);
    names.delete(posix.basename(path));
  }

  readonly fs: FileSystem = {
    makeDirectory: async (path) => {
      this.#step();
      let first: string | undefined;
      let at = "";
      for (const part of path.split("/").filter((name) => name !== "")) {
        const names = this.#names(at || "/");
        at = `${at}/${part}`;
        if (names.has(part)) continue;
        if (this.readOnly) throw fault("EROFS", path);
        names.set(part, inode(true));
        first ??= at;
      }
      return first;
    },
    list: async (path) => {
      this.#step();
      try {
        return [...this.#names(path).keys()];
      } catch {
        return [];
      }
    },
    create: async (path) => {
      this.#step(true, path);
      const names = this.#names(posix.dirname(path));
      if (names.has(posix.basename(path))) throw fault("EEXIST", path);
      const node = inode(false);
      names.set(posix.basename(path), node);
      return {
        write: async (bytes, position) => {
          const dying = this.#count();
          const taken = bytes.subarray(0, dying ? bytes.length >> 1 : this.mostAtOnce);
          if (this.#used() + taken.length > this.space) throw fault("ENOSPC", path);
          const grown = new Uint8Array(Math.max(node.data.length, position + taken.length));
          grown.set(node.data);
          grown.set(taken, position);
          node.data = grown;
          if (dying) throw new Error("killed");
          return taken.length;
        },
        sync: async () => {
          this.#step();
          node.syncedData = node.data;
        },
        close: async () => this.#step(),
      };
    },
    open: async (path) => {
      this.#step();
      const { data } = this.#find(path);
      return {
        size: data.length,
        read: async (target, position) => {
          this.#step();
          const part = data.subarray(position, position + target.length);
          target.set(part);
          return part.length;
        },
        close: async () => this.#step(),
      };
    },
    rename: async (from, to) => {
      this.#step(true, from);
      const node = this.#find(from);
      this.#names(posix.dirname(from)).delete(posix.basename(from));
      this.#names(posix.dirname(to)).set(posix.basename(to), node);
    },
    remove: async (path) => {
      try {
        this.#removeAll(path);
      } catch (error) {
        // Its directory is not there either.
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    },
    syncDirectory: async (path) => {
      this.#step();
      this.#find(path).syncedEntries = new Map(this.#names(path));
    },
  };
}

function lose(node: Inode, names: boolean): void {
  node.data = node.syncedData;
  if (node.entries && names) node.entries = new Map(node.syncedEntries);
  for (const child of node.entries?.values() ?? []) lose(child, names);
}

/** A process of a machine on which these are running. */
export const processOf = (pid: number, running: ReadonlySet<number>, host = "here"): Processes => ({
  self: { pid, host, start: null },
  isRunning: (identity) => (identity.host === host ? running.has(identity.pid) : undefined),
});
