import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RunDetail } from "./api.ts";
import {
  fileRun,
  fileValue,
  makeDirectory,
  type ServedDashboard,
  serveDashboard,
} from "./dashboard.test-support.ts";

const markup = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`;

/** What was sent, whole, to a socket of its own; resolves with all that came back once the server has closed it. */
function raw(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("utf8")));
    // The server ends what it refuses while it is still being sent.
    socket.on("error", (error: NodeJS.ErrnoException) =>
      ["EPIPE", "ECONNRESET"].includes(error.code ?? "") ? undefined : reject(error),
    );
    socket.write(text);
  });
}

describe("the host", () => {
  it.each(["localhost", "127.0.0.1", "[::1]", "LOCALHOST:1234"])("may be %s", async (host) => {
    const { ask } = await serveDashboard();
    expect((await ask("/api/session", { headers: { host } })).status).toBe(200);
  });

  it.each(["evil.example", "evil.example:6006", "127.0.0.1.evil.example", "localhost@evil.example", "a b"])(
    "may not be %j, whatever it means today",
    async (host) => {
      const { ask } = await serveDashboard();
      for (const path of ["/api/session", "/api/runs", "/"])
        expect(await ask(path, { headers: { host } })).toMatchObject({
          status: 403,
          json: { error: { code: "DASHBOARD_FORBIDDEN" } },
        });
    },
  );
});

it("a request without a host is refused", async () => {
  const { port } = await serveDashboard();
  expect(await raw(port, "GET /api/runs HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n")).toMatch(
    /^HTTP\/1\.1 403 /,
  );
  expect(await raw(port, "GET /api/runs HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 403 /);
});

describe("control", () => {
  const requests = (run: string) =>
    [
      ["POST", `/api/runs/${run}/marks`, { archived: true }],
      ["POST", `/api/runs/${run}/control`, { action: "stop", id: "a", who: "me" }],
      ["DELETE", `/api/runs/${run}?confirm=${run}`, undefined],
      ["POST", `/api/runs/${run}/checkpoints/x/protect`, { protected: true }],
      ["POST", `/api/runs/${run}/checkpoints/x/verify`, {}],
    ] as const;

  async function attempt(
    { ask, url }: ServedDashboard,
    [method, path, body]: ReturnType<typeof requests>[number],
    headers: Readonly<Record<string, string>>,
  ) {
    const own = { origin: new URL(url).origin, "content-type": "application/json", ...headers };
    const sent = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ""));
    return ask(path, { method, headers: sent, ...(body && { body: JSON.stringify(body) }) });
  }

  it("needs the token", async () => {
    const served = await serveDashboard();
    await fileRun(served.store, "a");
    await served.store.endRun("a", { outcome: "completed", counters: {} as never });
    const { token } = served;
    for (const request of requests("a"))
      for (const wrong of ["", "wrong", token.slice(1), `${token}x`, token.toUpperCase(), "x".repeat(5000)])
        expect((await attempt(served, request, { "x-espalier-token": wrong })).json).toMatchObject({
          error: { code: "DASHBOARD_TOKEN_NEEDED" },
        });
    expect(await served.store.run("a")).toMatchObject({ archived: false });
    const [marks] = requests("a");
    expect((await attempt(served, marks, { "x-espalier-token": token })).status).toBe(200);
    expect(await served.store.run("a")).toMatchObject({ archived: true });
  });

  it("does not take the token from the address or a cookie", async () => {
    const served = await serveDashboard();
    await fileRun(served.store, "a");
    const headers = { origin: new URL(served.url).origin, "content-type": "application/json" };
    const path = `/api/runs/a/marks?token=${served.token}&x-espalier-token=${served.token}`;
    const cookie = `x-espalier-token=${served.token}`;
    const answer = await served.ask(path, { method: "POST", headers: { ...headers, cookie }, body: "{}" });
    expect(answer.status).toBe(401);
  });

  it.each(["http://evil.example", "null", "", "https://127.0.0.1", "http://localhost.evil.example"])(
    "is not taken from the page %j, with the token or without",
    async (origin) => {
      const served = await serveDashboard();
      await fileRun(served.store, "a");
      for (const request of requests("a")) {
        const answer = await attempt(served, request, { origin, "x-espalier-token": served.token });
        expect(answer).toMatchObject({ status: 403, json: { error: { code: "DASHBOARD_FORBIDDEN" } } });
      }
      expect(await served.store.runs()).toMatchObject([{ id: "a", archived: false }]);
    },
  );

  it("is no business of other methods", async () => {
    const { ask, url, token } = await serveDashboard();
    const headers = { origin: new URL(url).origin, "x-espalier-token": token };
    for (const method of ["PUT", "PATCH", "OPTIONS", "DELETE"]) {
      const answer = await ask("/api/runs", { method, headers });
      expect(answer.status).toBe(405);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    expect((await ask("/", { method: "POST", headers })).status).toBe(405);
  });
});

describe("another address than loopback", () => {
  it("shows nothing without the token, but the page that asks for it", async () => {
    const { ask, token, store } = await serveDashboard({ host: "0.0.0.0" });
    await fileRun(store, "a");
    for (const path of ["/api/session", "/api/runs", "/api/runs/a", "/api/live", "/api/cluster"])
      expect((await ask(path)).status).toBe(401);
    expect((await ask("/api/runs", { headers: { "x-espalier-token": token } })).status).toBe(200);
    expect((await ask("/")).status).toBe(200);
    expect((await ask("/", { headers: { host: "evil.example" } })).status).toBe(403);
  });

  it("refuses a token that can be guessed, and one that no header holds", async () => {
    for (const token of ["short", "секретный-пароль", "with a space in it", "a line\nand another one"])
      await expect(serveDashboard({ token })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

describe("paths", () => {
  const outside = [
    "..",
    "%2e%2e",
    "..%2f..%2fsecret",
    "%2e%2e%2f%2e%2e%2fsecret",
    "..%5c..%5csecret",
    "%2fetc%2fpasswd",
    "a%00b",
    "%252e%252e%252fsecret",
    ".",
    "%",
    "%ff",
    "a%2fb",
    "\u202e%0a",
  ];

  it.each(outside)("that name %s lead nowhere", async (name) => {
    const { ask, directory, store, send } = await serveDashboard();
    await fileRun(store, "a");
    makeDirectory(directory, "a", { "checkpoints/.keep": "" });
    writeFileSync(join(directory, "..", "secret"), "the secret");
    writeFileSync(join(directory, "..", "secret.replay"), "the secret");
    const named = encodeURI(name).replaceAll("%25", "%");
    const asked = [
      `/api/runs/${named}`,
      `/api/runs/${named}/log`,
      `/api/runs/a/checkpoints/${named}`,
      `/api/runs/a/replays/${named}`,
      `/${named}`,
      `/assets/${named}`,
      `/${named}/secret`,
    ];
    for (const path of asked) {
      const answer = await ask(path);
      expect([400, 404]).toContain(answer.status);
      expect(answer.text).not.toContain("the secret");
      expect(answer.text).not.toContain("root:");
      expect(answer.text).not.toMatch(/\bat .*\.ts:\d/);
    }
    const gone = await send("DELETE", `/api/runs/${named}?confirm=${named}`);
    expect([400, 404]).toContain(gone.status);
    expect(existsSync(join(directory, "..", "secret"))).toBe(true);
  });

  it("that are links out of the directory of runs lead nowhere", async () => {
    const { directory, store, get, send, ask } = await serveDashboard();
    const elsewhere = join(directory, "..", "elsewhere");
    makeDirectory(elsewhere, "b", { "run.log": "the secret\n", "config.yaml": "secret: true\n" });
    for (const id of ["a", "b", "c"]) {
      await fileRun(store, id, { startedAt: 1 });
      await store.endRun(id, { outcome: "completed", counters: {} as never });
    }
    // The whole directory, files in it, and one that is another run's.
    symlinkSync(join(elsewhere, "b"), join(directory, "b"));
    const own = makeDirectory(directory, "a");
    symlinkSync(join(elsewhere, "b", "run.log"), join(own, "run.log"));
    symlinkSync(join(elsewhere, "b", "config.yaml"), join(own, "config.yaml"));
    symlinkSync(elsewhere, join(own, "checkpoints"));
    symlinkSync(own, join(directory, "c"));
    expect(await get("/api/runs/b")).toMatchObject({ hasDirectory: false });
    expect(await get("/api/runs/c")).toMatchObject({ hasDirectory: false });
    expect(await get("/api/runs/b/log")).toEqual({ lines: [], from: 0, to: 0 });
    expect(await get("/api/runs/a/log")).toEqual({ lines: [], from: 0, to: 0 });
    expect(await get("/api/runs/a/checkpoints")).toEqual([]);
    expect((await ask("/api/runs/a")).text).not.toContain("secret");
    for (const id of ["a", "b", "c"])
      expect((await send("DELETE", `/api/runs/${id}?confirm=${id}`)).status).toBe(200);
    expect(readdirSync(directory).sort()).toEqual(expect.arrayContaining(["b", "c"]));
    expect(existsSync(own)).toBe(false);
    expect(readFileSync(join(elsewhere, "b", "run.log"), "utf8")).toBe("the secret\n");
  });

  it("of a run whose id is a path have no directory", async () => {
    const { directory, store, ask } = await serveDashboard();
    makeDirectory(join(directory, ".."), "other", { "run.log": "the secret\n" });
    for (const id of ["../other", "/etc", "..", "a/../../other"]) {
      await fileRun(store, id);
      const answer = await ask("/api/runs");
      expect(answer.status).toBe(200);
      expect(answer.text).toContain(JSON.stringify(id));
      expect((await ask(`/api/runs/${encodeURIComponent(id)}/log`)).text).not.toContain("the secret");
    }
  });

  it("may not be longer than any that is meant", async () => {
    const { ask } = await serveDashboard();
    expect(await ask(`/api/runs/${"a".repeat(13_000)}`)).toMatchObject({ status: 414 });
    expect((await ask(`/api/runs/${"a".repeat(100_000)}`)).status).toBe(431);
    for (const query of ["run=a&key=a&".repeat(101), "run=a&key=a&key=b"])
      expect((await ask(`/api/series?${query}`)).status).toBe(400);
  });
});

describe("what is sent", () => {
  it("may have 64 kB: more is refused before it is read", async () => {
    const { port, token, store } = await serveDashboard();
    await fileRun(store, "a");
    const head = (more: string) =>
      `POST /api/runs/a/marks HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n` +
      `x-espalier-token: ${token}\r\ncontent-type: application/json\r\n${more}\r\n\r\n`;
    // Ten megabytes are promised, and the answer comes before any of them.
    expect(await raw(port, head("content-length: 10000000"))).toMatch(
      /^HTTP\/1\.1 413 [\s\S]*DASHBOARD_TOO_LARGE/,
    );
    // In pieces, without saying how many.
    const piece = `${(16_000).toString(16)}\r\n${"x".repeat(16_000)}\r\n`;
    const sent = await raw(port, head("transfer-encoding: chunked") + piece.repeat(625));
    expect(sent).toMatch(/^HTTP\/1\.1 413 /);
    expect(await store.run("a")).toMatchObject({ tags: [] });
  });

  it.each([
    ["no JSON", "{", "application/json"],
    ["a form", "archived=true", "application/x-www-form-urlencoded"],
    ["plain text", "{}", "text/plain"],
    ["a list", "[1]", "application/json"],
    ["null", "null", "application/json"],
    ["other members", `{"state":"completed"}`, "application/json"],
    ["tags that are none", `{"tags":[1]}`, "application/json"],
    ["many tags", JSON.stringify({ tags: Array.from({ length: 21 }, (_, i) => `${i}`) }), "application/json"],
    ["long tags", JSON.stringify({ tags: ["x".repeat(51)] }), "application/json"],
    ["a prototype", `{"__proto__":{"archived":true}}`, "application/json"],
  ])("is checked: %s", async (_what, body, type) => {
    const { ask, url, token, store } = await serveDashboard();
    await fileRun(store, "a");
    const headers = { origin: new URL(url).origin, "x-espalier-token": token, "content-type": type };
    const answer = await ask("/api/runs/a/marks", { method: "POST", headers, body });
    expect(answer.status).toBe(400);
    expect(answer.json.error?.message).toEqual(expect.any(String));
    expect(await store.run("a")).toMatchObject({ tags: [], archived: false });
  });

  it("is refused where it is no HTTP", async () => {
    const { port } = await serveDashboard();
    expect(await raw(port, "hello\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("answers", () => {
  it("have a policy that lets in nothing from elsewhere, and are shown as what they are", async () => {
    const { ask } = await serveDashboard();
    for (const path of ["/", "/api/session", "/api/none", "/none"]) {
      const { headers } = await ask(path);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/script-src|unsafe|https?:|\*/);
    }
  });

  it("carry markup of names, tags and log lines as data", async () => {
    const { store, directory, ask, send } = await serveDashboard();
    await fileRun(store, "a", { name: markup, config: { [markup]: markup } });
    await fileValue(store, "a", 1, 1, `train/${markup}`);
    makeDirectory(directory, "a", { "run.log": `${markup}\x1b]0;title\x07\r\nnext\n` });
    await send("POST", "/api/runs/a/marks", { tags: ["<b>"] });
    const paths = ["/api/runs", "/api/runs/a", "/api/runs/a/log", `/api/runs/${encodeURIComponent(markup)}`];
    for (const path of paths) {
      const { headers } = await ask(path);
      expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    }
    expect((await ask("/api/runs/a/log")).json).toMatchObject({
      lines: [`${markup}\\x1b]0;title\\x07`, "next"],
    });
    expect((await ask("/api/runs")).json).toMatchObject([{ name: markup, tags: ["<b>"] }]);
  });

  it("have no passwords of addresses in configurations", async () => {
    const { store, directory, get, ask } = await serveDashboard();
    const config = `stats: postgres://me:s3cret@host:5432/db
sinks: [{ use: mlflowSink, uri: "http://me:s3cret@host:5000/#x" }, "postgres://host/db?user=me&password=s3cret&ssl=true"]
urls: [nats://host:4222, http://host:80/a@b, me@host, "12:30@noon"]
`;
    await fileRun(store, "a", { config: { stats: "postgres://me:s3cret@host/db" } });
    await fileRun(store, "b", { config: {} });
    expect((await get<RunDetail>("/api/runs/a")).config).toContain("postgres://me:***@host/db");
    makeDirectory(directory, "a", { "config.yaml": config });
    expect((await get<RunDetail>("/api/runs/a")).config).toBe(config.replaceAll("s3cret", "***"));
    const compared = await ask("/api/compare?run=a&run=b");
    expect(compared.text).toContain("postgres://me:***@host:5432/db");
    expect(compared.text).not.toContain("s3cret");
  });

  it("of failures say what to do, and never where in the code they happened", async () => {
    const { store, ask } = await serveDashboard();
    expect((await ask("/api/runs/none")).json).toEqual({
      error: { code: "STATS_UNKNOWN_RUN", message: 'there is no run "none"', fix: expect.any(String) },
    });
    await store.close();
    const answer = await ask("/api/runs");
    expect(answer.status).toBe(500);
    expect(answer.json.error?.code).toBe("STATS_CLOSED");
    expect(answer.text).not.toMatch(/\bat |node:|\.ts/);
  });
});

it("a thousand connections that say nothing do not keep others from being answered", async () => {
  const { port, get, listen, store } = await serveDashboard();
  await fileRun(store, "a");
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(
    Array.from(
      { length: 1000 },
      (_, i) =>
        new Promise<void>((resolve, reject) => {
          const socket = createConnection({ host: "127.0.0.1", port }, resolve);
          sockets.push(socket);
          socket.on("error", reject);
          // Half of them begin a request and leave it there.
          if (i % 2) socket.write("GET /api/runs HTTP/1.1\r\nHost: 127");
        }),
    ),
  );
  expect(await get("/api/runs")).toHaveLength(1);
  const listener = await listen("a");
  await fileValue(store, "a", 1, 5);
  expect(await listener.next("metrics")).toMatchObject({ series: { "train/loss": { value: [5] } } });
});

it("there are so many pages that listen, and no more", async () => {
  const { listen, get } = await serveDashboard();
  const all = await Promise.allSettled(Array.from({ length: 510 }, () => listen()));
  const refused = all.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(10);
  expect(String((refused[0] as PromiseRejectedResult).reason)).toContain("503");
  expect(await get("/api/runs")).toEqual([]);
});
