import { it } from "vitest";
import { compile } from "../run/compile.ts";
import { put } from "../run/put.ts";
import { convolution } from "../ops/convolution.ts";
import { reverse } from "../ops/shape.ts";
import type { Value } from "../trace/value.ts";
it("fuzz", async () => {
  let seed = 7; const rnd = (n: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor((seed / 2147483648) * n); };
  let bad = 0;
  for (const [rev, st, ld, rd, pd, groups, takes] of [[true,2,2,2,2,3,2],[false,2,2,2,2,3,2],[false,1,2,2,2,3,2],[false,2,1,2,2,3,2],[false,2,2,1,2,3,2],[false,2,2,2,0,3,2],[false,2,2,2,2,3,1],[false,2,1,1,1,3,2],[false,2,1,1,0,3,2],[false,2,2,1,0,3,1],[true,2,2,1,0,3,1]] as const) {
    const n = 2, gives = 1, sp = [5, 5], k = [3, 3];
    const params = { strides: [st,st], padding: [[pd,0],[pd,1]] as const, lhsDilation: [ld,ld], rhsDilation: [rd,rd], groups,
      lhsSpec: [0, n + 1, ...sp.map((_, i) => i + 1)], rhsSpec: [n + 1, n, ...sp.map((_, i) => i)], outSpec: [0, n + 1, ...sp.map((_, i) => i + 1)] };
    const xs = [2, ...sp, groups * takes], ws = [...k, takes, groups * gives];
    const mk = (s: number[], f: number) => Float32Array.from({ length: s.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i * f + 0.5));
    const run = async (engine: "wasm" | "xla") => [...await compile((x: Value, w: Value) => convolution(x, rev ? reverse(w, sp.map((_, i) => i)) : w, params), { engine })(put(mk(xs, 0.3), { shape: xs, engine }), put(mk(ws, 0.7), { shape: ws, engine })).read()];
    const [a, b] = [await run("wasm"), await run("xla")];
    const d = Math.max(...a.map((v, i) => Math.abs(v - (b[i] as number))));
    { if (!(d<1e-4)) bad++; process.stderr.write(`${d < 1e-4 ? "ok" : "BAD"} ${d} rev ${rev} x ${xs} w ${ws} ${JSON.stringify(params)}\n`); }
  }
  process.stderr.write(`bad ${bad}\n`);
});
