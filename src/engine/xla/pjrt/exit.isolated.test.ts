import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { requirePlugin } from "../plugin/require-plugin.test-support.ts";
import { closeAtExit } from "./events.ts";

const plugin = requirePlugin();

describe("closeAtExit", () => {
  it("listens for the end of the process only while something is open", () => {
    const before = process.listenerCount("exit");
    const forgetFirst = closeAtExit(() => undefined);
    const forgetSecond = closeAtExit(() => undefined);
    expect(process.listenerCount("exit")).toBe(before + 1);
    forgetFirst();
    forgetSecond();
    expect(process.listenerCount("exit")).toBe(before);
  });
});

describe.skipIf(!plugin)("a process that ends while programs run", () => {
  const type = "tensor<1200x1200xf32>";
  const script = (ending: string) => `
    import { PjrtClient } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
    const client = PjrtClient.open(${JSON.stringify(plugin?.path)});
    const program = client.compile(\`module { func.func @main(%x: ${type}) -> ${type} {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (${type}, ${type}) -> ${type}
      return %0 : ${type} } }\`, { device: "any" });
    const data = new Uint8Array(4 * 1200 * 1200);
    for (const device of client.devices.slice(0, 2)) {
      const buffers = [client.buffers.fromHost(data, "f32", [1200, 1200], device)];
      for (let i = 0; i < 3; i++) program.execute([buffers[0]], buffers, device);
    }
    ${ending}`;

  it.each([
    { ending: "", status: 0 },
    { ending: "process.exit(3)", status: 3 },
    { ending: 'throw new Error("stop")', status: 1 },
  ])("ends with status $status after «$ending»", ({ ending, status }) => {
    const child = spawnSync(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "-e", script(ending)],
      { encoding: "utf8" },
    );
    expect({ status: child.status, signal: child.signal }).toEqual({ status, signal: null });
  });
});
