import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requirePlugin } from "../plugin/require-plugin.test-support.ts";
import { type Handle, PjrtClient, type PjrtDevice } from "./index.ts";

const plugin = requirePlugin();

const vectors = `module { func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.multiply %x, %y : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
} }`;

const donating = `module { func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
} }`;

/** A matrix to the power of `n + 1`, one product after the other. */
const powers = `module { func.func @main(%x: tensor<256x256xf32>, %n: tensor<i32>) -> tensor<256x256xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<256x256xf32>
    cond {
      %below = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %below : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %product = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      stablehlo.return %next, %product : tensor<i32>, tensor<256x256xf32>
    }
  return %0#1 : tensor<256x256xf32>
} }`;

const failure = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe.skipIf(!plugin)("PjrtClient", () => {
  let client: PjrtClient;
  let device: PjrtDevice;
  beforeAll(() => {
    client = PjrtClient.open(plugin?.path ?? "", { cpu_device_count: 2 });
    device = client.devices[0] as PjrtDevice;
  });
  afterAll(() => client.close());

  const put = (values: readonly number[], on: PjrtDevice = device) =>
    client.buffers.fromHost(new Uint8Array(Float32Array.from(values).buffer), "f32", [values.length], on);
  const get = (buffer: Handle | undefined, length = 4) => {
    const target = new Float32Array(length);
    client.buffers.toHost(buffer ?? 0, new Uint8Array(target.buffer));
    return [...target];
  };

  it("tells its platform, version and devices", () => {
    expect(client.platform).toBe("cpu");
    expect(client.apiVersion.major).toBe(0);
    expect(client.devices.map(({ id }) => id)).toEqual([0, 1]);
    expect(device.description).toMatch(/cpu/i);
  });

  it("runs a program of several inputs and outputs", () => {
    const program = client.compile(vectors, { flags: { xla_cpu_multi_thread_eigen: false } });
    const [x, y] = [put([1, 2, 3, 4]), put([10, 20, 30, 40])];
    const outputs: Handle[] = [];
    program.execute([x, y], outputs);
    expect(program.outputCount).toBe(2);
    expect(outputs.map((output) => get(output))).toEqual([
      [11, 22, 33, 44],
      [10, 40, 90, 160],
    ]);
    for (const buffer of [x, y, ...outputs]) client.buffers.destroy(buffer);
    program.close();
  });

  it("copies data before it returns, so that the caller may change it", () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const buffer = client.buffers.fromHost(new Uint8Array(data.buffer), "f32", [2, 2], device);
    data.fill(9);
    expect(get(buffer)).toEqual([1, 2, 3, 4]);
    expect(client.buffers.byteSize(buffer)).toBe(16);
  });

  it("takes and gives arrays without elements", () => {
    const buffer = client.buffers.fromHost(new Uint8Array(0), "f32", [0, 3], device);
    expect(get(buffer, 0)).toEqual([]);
    expect(client.buffers.byteSize(buffer)).toBe(0);
  });

  it("compiles for the device it is asked for", async () => {
    const second = client.devices[1] as PjrtDevice;
    const program = client.compile(vectors, { device: second });
    const x = put([1, 2, 3, 4], second);
    const outputs: Handle[] = [];
    program.execute([x, x], outputs);
    const target = new Uint8Array(16);
    await client.buffers.toHostAsync(outputs[0] as Handle, target);
    expect([...new Float32Array(target.buffer)]).toEqual([2, 4, 6, 8]);
    expect(() => program.execute([x, put([1, 2, 3, 4])], outputs)).toThrow(failure("XLA_RUNTIME", /device/));
  });

  it("runs a program that was compiled for any device where a call says", () => {
    const program = client.compile(vectors, { device: "any" });
    for (const on of client.devices) {
      const [x, outputs]: [Handle, Handle[]] = [put([1, 2, 3, 4], on), []];
      program.execute([x, x], outputs, on);
      expect(get(outputs[1])).toEqual([1, 4, 9, 16]);
      const other = client.devices.find((one) => one !== on);
      expect(() => program.execute([x, x], outputs, other)).toThrow(failure("XLA_RUNTIME", /device/));
    }
  });

  it("runs programs of different devices beside each other", async () => {
    const program = client.compile(powers, { device: "any", flags: { xla_cpu_multi_thread_eigen: false } });
    const start = (n: number, on: PjrtDevice): Handle => {
      const x = client.buffers.fromHost(new Uint8Array(4 * 256 * 256), "f32", [256, 256], on);
      const count = client.buffers.fromHost(new Uint8Array(Int32Array.of(n).buffer), "i32", [], on);
      const outputs: Handle[] = [];
      program.execute([x, count], outputs, on);
      return outputs[0] as Handle;
    };
    const long = start(1000, device);
    const short = start(1, client.devices[1] as PjrtDevice);
    await client.buffers.waitAsync(short);
    expect(client.buffers.isReady(long)).toBe(false);
    await client.buffers.waitAsync(long);
  });

  it("reads long results without holding up the event loop", async () => {
    const n = 700; // 1.96 MB, and long enough in the making that the event loop turns meanwhile
    const type = `tensor<${n}x${n}xf32>`;
    const dot = "stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]";
    const program = client.compile(
      `module { func.func @main(%x: ${type}) -> ${type} { %0 = ${dot} : (${type}, ${type}) -> ${type}
        return %0 : ${type} } }`,
    );
    const ones = new Float32Array(n * n).fill(1);
    const input = client.buffers.fromHost(new Uint8Array(ones.buffer), "f32", [n, n], device);
    const outputs: Handle[] = [];
    program.execute([input], outputs);
    const target = new Float32Array(n * n);
    const reading = client.buffers.toHostAsync(outputs[0] as Handle, new Uint8Array(target.buffer));
    client.buffers.destroy(outputs[0] as Handle); // the copy survives the buffer
    await reading;
    expect(target.every((value) => value === n)).toBe(true);
  });

  it("waits for buffers both ways", async () => {
    const buffer = put([1, 2, 3, 4]);
    client.buffers.wait(buffer);
    expect(client.buffers.isReady(buffer)).toBe(true);
    await client.buffers.waitAsync(buffer);
  });

  it("takes over the memory of donated inputs, and says so when they are used again", async () => {
    const program = client.compile(donating);
    const x = put([1, 2, 3, 4]);
    const outputs: Handle[] = [];
    program.execute([x], outputs);
    expect(get(outputs[0])).toEqual([2, 4, 6, 8]);
    expect(() => program.execute([x], outputs)).toThrow(failure("XLA_RUNTIME", /donated/));
    expect(() => get(x)).toThrow(failure("XLA_RUNTIME", /donated/));
    await expect(client.buffers.toHostAsync(x, new Uint8Array(16))).rejects.toThrow(/donated/);
    client.buffers.destroy(x);
  });

  it("reports what the compiler says", () => {
    expect(() => client.compile("module { oops }")).toThrow(failure("XLA_COMPILE", /oops/));
    expect(() => client.compile(vectors, { flags: { xla_no_such_flag: true } })).toThrow(
      failure("XLA_COMPILE", /xla_no_such_flag/),
    );
  });

  it("reports wrong inputs instead of crashing", () => {
    const program = client.compile(vectors);
    const x = put([1, 2, 3, 4]);
    expect(() => program.execute([x], [])).toThrow(failure("XLA_RUNTIME", /supplied 1 .* expected 2/));
    expect(() => program.execute([x, put([1, 2])], [])).toThrow(failure("XLA_RUNTIME", /size 16 .* 8/));
    expect(() => program.execute([x, 0], [])).toThrow(failure("XLA_RUNTIME", /input 1/));
    expect(() => get(x, 3)).toThrow(failure("XLA_RUNTIME", /16 bytes read into 12/));
    expect(() => get(0)).toThrow(failure("XLA_RUNTIME", /null/));
    expect(() => client.buffers.fromHost(new Uint8Array(4), "f32", [2], device)).toThrow(
      failure("XLA_RUNTIME", /4 bytes for shape \[2\], which takes 8/),
    );
  });

  it("refuses programs and buffers once they are closed", () => {
    const other = PjrtClient.open(plugin?.path ?? "");
    const program = other.compile(vectors);
    other.close();
    expect(() => program.execute([1, 1], [])).toThrow(failure("XLA_RUNTIME", /freed/));
    expect(() => other.compile(vectors)).toThrow(failure("XLA_RUNTIME", /closed/));
    expect(() => other.buffers.wait(1)).toThrow(failure("XLA_RUNTIME", /closed/));
    other.buffers.destroy(1);
    other.close();
  });
});
