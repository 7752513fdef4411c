// jax-js by itself, with its own jit and derivatives, for bench/engine.ts. Its functions use up the arrays they are
// given: `.ref` takes one more reference for every use but the last.
import {
  defaultDevice,
  init,
  type Array as JaxArray,
  jit,
  numpy as np,
  tree,
  valueAndGrad,
} from "@jax-js/jax";
import manifest from "../../package.json" with { type: "json" };
import { numbers } from "../engine/data.ts";
import type { Net } from "../engine/nets.ts";
import { type Case, serve } from "./protocol.ts";

type Layer = { w: JaxArray; b: JaxArray };
type Adam = { m: Layer[]; v: Layer[]; t: JaxArray };
const [learningRate, beta1, beta2, epsilon] = [1e-3, 0.9, 0.999, 1e-8];

function lossOf(params: Layer[], x: JaxArray, y: JaxArray): JaxArray {
  const last = params.length - 1;
  const out = params.reduce((h, { w, b }, i) => {
    const next = np.matmul(h, w).add(b);
    return i < last ? np.tanh(next) : next;
  }, x);
  return np.square(out.sub(y)).mean();
}

function adamStep(params: Layer[], { m, v, t }: Adam, x: JaxArray, y: JaxArray): [Layer[], Adam, JaxArray] {
  const [loss, grads] = valueAndGrad(lossOf)(tree.ref(params), x, y);
  const now = t.add(1);
  const c1 = correction(beta1, now.ref);
  const c2 = correction(beta2, now.ref);
  const nextM = tree.map(
    (m: JaxArray, g: JaxArray) => m.mul(beta1).add(g.mul(1 - beta1)),
    m,
    tree.ref(grads),
  );
  const nextV = tree.map(
    (v: JaxArray, g: JaxArray) => v.mul(beta2).add(np.square(g).mul(1 - beta2)),
    v,
    grads,
  );
  const next = tree.map(
    (p: JaxArray, m: JaxArray, v: JaxArray) =>
      p.sub(
        m
          .div(c1.ref)
          .mul(learningRate)
          .div(np.sqrt(v.div(c2.ref)).add(epsilon)),
      ),
    params,
    tree.ref(nextM),
    tree.ref(nextV),
  );
  c1.dispose();
  c2.dispose();
  return [next, { m: nextM, v: nextV, t: now }, loss];
}

/** 1 - beta^t. */
const correction = (beta: number, t: JaxArray): JaxArray =>
  np
    .exp(t.mul(Math.log(beta)))
    .neg()
    .add(1);

async function adam({ sizes, batch }: Net): Promise<Case> {
  const place = (data: Float32Array<ArrayBuffer>, shape: number[]): JaxArray => np.array(data, { shape });
  const layers = (make: (seed: number, size: number, scale: number) => Float32Array<ArrayBuffer>): Layer[] =>
    sizes.slice(1).map((out, i) => {
      const size = sizes[i] as number;
      return { w: place(make(i, size * out, size ** -0.5), [size, out]), b: np.zeros([out]) };
    });
  const zeros = (_seed: number, size: number): Float32Array<ArrayBuffer> => new Float32Array(size);
  const [inputs, outputs] = [sizes[0] as number, sizes.at(-1) as number];
  const x = place(numbers(100, batch * inputs), [batch, inputs]);
  const y = place(numbers(101, batch * outputs), [batch, outputs]);
  let params = layers(numbers);
  let state: Adam = { m: layers(zeros), v: layers(zeros), t: np.array(0) };
  const step = jit(adamStep);
  const run = async (steps: number): Promise<number> => {
    let last = 0;
    for (let i = 0; i < steps; i++) {
      const [nextParams, nextState, loss] = step(params, state, x.ref, y.ref);
      params = nextParams;
      state = nextState;
      last = (await loss.data())[0] as number;
    }
    return last;
  };
  return { run, check: await run(10) };
}

await init("wasm");
defaultDevice("wasm");
await serve(() => `${manifest.dependencies["@jax-js/jax"]} in WebAssembly`, { adam });
