import { describe, expect, it } from "vitest";
import { withSharedInstances } from "./instances.ts";

interface Wasm {
  Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: { readonly initial: number }) => object;
}
const wasm = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;

/** A module that imports `env.memory` and exports one function that does nothing, under this name. */
function moduleOf(name: string): object {
  const text = (word: string): number[] => [word.length, ...new TextEncoder().encode(word)];
  const section = (id: number, bytes: readonly number[]): number[] => [id, bytes.length, ...bytes];
  return new wasm.Module(
    Uint8Array.from([
      ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, [1, 0x60, 0, 0]),
      ...section(2, [1, ...text("env"), ...text("memory"), 2, 0, 1]),
      ...section(3, [1, 0]),
      ...section(7, [1, ...text(name), 0, 0]),
      ...section(10, [1, 2, 0, 0x0b]),
    ]),
  );
}
const instanceOf = (module: object, memory: object) => new wasm.Instance(module, { env: { memory } });

describe("instances of kernels", () => {
  const memory = new wasm.Memory({ initial: 1 });

  it("are made once for each module and memory, while computing", () => {
    const kernel = moduleOf("kernel");
    const [first, second, other] = withSharedInstances(() => [
      instanceOf(kernel, memory),
      instanceOf(kernel, memory),
      instanceOf(kernel, new wasm.Memory({ initial: 1 })),
    ]);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
    expect(instanceOf(kernel, memory)).not.toBe(first);
  });

  it("of other modules are nobody's business", () => {
    const module = moduleOf("main");
    const [first, second] = withSharedInstances(() => [
      instanceOf(module, memory),
      instanceOf(module, memory),
    ]);
    expect(second).not.toBe(first);
  });

  it("leave the global as it was, also where the work fails", () => {
    const before = wasm.Instance;
    expect(() =>
      withSharedInstances(() => {
        expect(wasm.Instance).not.toBe(before);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(wasm.Instance).toBe(before);
  });
});
