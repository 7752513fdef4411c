import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";

/**
 * A Python with MLflow: the one that ESPALIER_BENCH_PYTHON names, else `python3`. Where ESPALIER_REQUIRE names
 * `mlflow` its absence is an error, elsewhere the reason to leave it out.
 */
export function findMlflow(): { readonly python: string } | { readonly missing: string } {
  const python = process.env.ESPALIER_BENCH_PYTHON || "python3";
  try {
    const check = "import importlib.util as u, sys; sys.exit(u.find_spec('mlflow.server') is None)";
    execFileSync(python, ["-c", check], { stdio: "ignore" });
    return { python };
  } catch {
    const missing = `${python} has no mlflow`;
    if (process.env.ESPALIER_REQUIRE?.includes("mlflow"))
      throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
    return { missing };
  }
}

/** A tracking server in a folder of its own, with a database. */
export async function startMlflow(
  python: string,
  folder: string,
  port: number,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const url = `http://127.0.0.1:${port}`;
  const database = `sqlite:///${join(folder, "mlflow.db")}`;
  const server = spawn(
    python,
    ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", String(port), "--workers", "1"].concat([
      "--backend-store-uri",
      database,
      "--artifacts-destination",
      join(folder, "artifacts"),
    ]),
    // A group of its own: the server starts others, which must end with it.
    { cwd: folder, stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  let said = "";
  server.stderr.on("data", (piece: Buffer) => {
    said = `${said}${piece}`.slice(-4000);
  });
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  let isGone = false;
  void ended.then(() => {
    isGone = true;
  });
  const stop = async (): Promise<void> => {
    if (!isGone && server.pid !== undefined) process.kill(-server.pid, "SIGKILL");
    await ended;
  };
  for (let i = 0; i < 600; i++) {
    if (isGone) throw new Error(`mlflow server ended:\n${said}`);
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return { url, stop };
    await after(250);
  }
  await stop();
  throw new Error(`mlflow server does not answer:\n${said}`);
}
