import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const debian = "/usr/lib/postgresql";

/**
 * The directory of Postgres' programs: in PATH, or where Debian puts them. Where ESPALIER_REQUIRE names `postgres` its
 * absence is an error, elsewhere the reason to skip.
 */
export function findPostgres(): { readonly programs: string } | { readonly missing: string } {
  const places = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...(existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : []),
  ];
  const programs = places.findLast((place) =>
    ["initdb", "postgres"].every((name) => existsSync(join(place, name))),
  );
  if (programs !== undefined) return { programs };
  const missing = `there is no initdb and postgres in PATH or ${debian}/*/bin`;
  if (process.env.ESPALIER_REQUIRE?.split(",").includes("postgres"))
    throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
  return { missing };
}

/** A server of its own, on a loopback port of its own, with its data in a temporary directory. */
export interface PostgresServer {
  /** The URL of a new, empty database. */
  newDatabase(): Promise<string>;
  /** Ends the server; `immediate` as a crash would. */
  stop(immediate?: boolean): Promise<void>;
  /** Starts it again on the same port with the same data. */
  start(): Promise<void>;
  /** Ends it for good and removes its data. */
  remove(): Promise<void>;
}

const user = "espalier";
export const password = "s3cret-w0rd";

/** Starts a server. It does not run as root: where we are root, it runs as `postgres` or `nobody`. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "espalier-postgres-"));
  const data = join(folder, "data");
  const owner = ownerOf();
  chmodSync(folder, 0o700);
  if (owner) chownSync(folder, owner.uid, owner.gid);
  execFileSync(
    join(programs, "initdb"),
    ["-D", data, "-U", user, "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"],
    { cwd: folder, stdio: ["ignore", "ignore", "pipe"], ...owner },
  );
  const port = await freePort();
  let server: ChildProcess | undefined;
  const kill = (): void => void server?.kill("SIGQUIT");
  process.on("exit", kill);

  const url = (database: string): string => `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
  const start = async (): Promise<void> => {
    const settings = [
      "fsync=off",
      "max_connections=60",
      `unix_socket_directories=${folder}`,
      "listen_addresses=127.0.0.1",
    ];
    const options = settings.flatMap((setting) => ["-c", setting]);
    const child = spawn(join(programs, "postgres"), ["-D", data, "-p", String(port), ...options], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      ...owner,
    });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said = (said + chunk).slice(-2000);
    });
    server = child;
    while (!(await answers(url("postgres")))) {
      if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}: ${said}`);
      await sleep(20);
    }
  };
  const stop = async (immediate = false): Promise<void> => {
    const child = server;
    server = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill(immediate ? "SIGQUIT" : "SIGINT");
    await ended;
  };
  let databases = 0;
  await start();
  return {
    start,
    stop,
    async newDatabase() {
      const name = `store_${++databases}`;
      await ask(url("postgres"), `create database ${name}`);
      return url(name);
    },
    async remove() {
      await stop(true);
      process.off("exit", kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks a server one question. */
export async function ask(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const answers = (url: string): Promise<boolean> =>
  ask(url, "select 1").then(
    () => true,
    () => false,
  );

function ownerOf(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"])
    try {
      const number = (flag: string): number =>
        Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
      return { uid: number("-u"), gid: number("-g") };
    } catch {
      // The next.
    }
  throw new Error("postgres does not run as root, and there is neither a user postgres nor nobody");
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}
