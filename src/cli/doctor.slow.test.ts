import { describe, expect, it, onTestFinished } from "vitest";
import { findPostgres, password, startPostgres } from "../metrics/store/postgres.test-support.ts";
import { examine } from "./doctor.ts";
import { thisProgram } from "./run-again.ts";

const postgres = findPostgres();

describe.skipIf("missing" in postgres)("espalier doctor", () => {
  it("opens a stats store in Postgres, and does not print its password", async () => {
    if ("missing" in postgres) return;
    const server = await startPostgres(postgres.programs);
    onTestFinished(() => server.remove());
    const url = await server.newDatabase();
    const findings = await examine({
      ...{ node: "22.1.0", engines: ">=20.16", env: { ESPALIER_ENGINE: "wasm", ESPALIER_STORE: url } },
      ...{ runs: "runs", self: thisProgram(), free: () => 1e12, plugins: () => [] },
    });
    expect(findings.find(({ name }) => name === "stats store")).toMatchObject({
      state: "ok",
      found: `${url.replace(`:${password}`, "")} opens`,
    });
    expect(JSON.stringify(findings)).not.toContain(password);
  });
});
