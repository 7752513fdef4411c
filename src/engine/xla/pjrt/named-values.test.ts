import { expect, it } from "vitest";
import { encodeNamedValues } from "./compile-options.ts";
import { INT64, namedValue } from "./layout.ts";
import { native } from "./library.ts";

it("named values stand one after the other, each with its name, type, value and size", () => {
  const block = encodeNamedValues({ cpu_device_count: 4, second: 2 ** 40 });
  for (const [i, [name, value]] of [
    ["cpu_device_count", 4] as const,
    ["second", 2 ** 40] as const,
  ].entries()) {
    const at = i * namedValue.size;
    const bytes = native().bytesAt(
      block.pointer(at + namedValue.name),
      block.pointer(at + namedValue.nameLength),
    );
    expect(Buffer.from(bytes).toString()).toBe(name);
    expect(block.pointer(at)).toBe(namedValue.size);
    expect(block.int32(at + namedValue.type)).toBe(INT64);
    expect(block.pointer(at + namedValue.value)).toBe(value);
    expect(block.pointer(at + namedValue.valueLength)).toBe(1);
  }
});
