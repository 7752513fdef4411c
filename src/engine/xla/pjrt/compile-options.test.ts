import { describe, expect, it } from "vitest";
import { encodeCompileOptions } from "./compile-options.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("encodeCompileOptions", () => {
  it("asks for one replica and one partition on whichever device is first", () => {
    expect(hex(encodeCompileOptions(undefined, {}))).toBe("1a0f08ffffffffffffffffff0120012801");
  });

  it("assigns the program to the device it is for", () => {
    // device_ordinal 2, num_replicas 1, num_partitions 1, device_assignment {1, 1, {[2]}}
    expect(hex(encodeCompileOptions(2, {}))).toBe("1a10080220012801" + "4a08080110011a020802");
  });

  it("asks for a program that runs on the device that a call names", () => {
    // As for the first device, and compile_portable_executable.
    expect(hex(encodeCompileOptions("any", {}))).toBe("1a0f08ffffffffffffffffff0120012801" + "2001");
  });

  it("asks for one partition on each of several devices, by Shardy", () => {
    // device_ordinal -1, num_partitions 2, use_spmd_partitioning, device_assignment {1, 2, {[0]}, {[3]}}, field 19
    expect(hex(encodeCompileOptions([0, 3], {}))).toBe(
      "1a2208ffffffffffffffffff01200128023001" + "4a0c080110021a0208001a020803" + "980101",
    );
  });

  it("gives each flag the field of its type", () => {
    const flags = (value: boolean | number | string) =>
      hex(encodeCompileOptions(undefined, { f: value })).slice(34);
    expect(flags(true)).toBe("3a07" + "0a0166" + "12021001");
    expect(flags(3)).toBe("3a07" + "0a0166" + "12021803");
    expect(flags(0.5)).toBe("3a0e" + "0a0166" + "120921000000000000e03f");
    expect(flags("x")).toBe("3a08" + "0a0166" + "12030a0178");
  });
});
