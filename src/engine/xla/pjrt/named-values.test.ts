import { describe, expect, it } from "vitest";
import { encodeNamedValues } from "./compile-options.ts";
import { namedValue, namedValueType } from "./layout.ts";
import { native } from "./library.ts";

const text = (pointer: number, length: number) => Buffer.from(native().bytesAt(pointer, length)).toString();

describe("encodeNamedValues", () => {
  it("writes one entry after the other, each with its name and size", () => {
    const block = encodeNamedValues({ first: "hello", second: 2 });
    for (const [i, name] of ["first", "second"].entries()) {
      const at = i * namedValue.size;
      expect(block.pointer(at)).toBe(namedValue.size);
      expect(text(block.pointer(at + namedValue.name), block.pointer(at + namedValue.nameLength))).toBe(name);
    }
  });

  it("gives each value its own type", () => {
    const typeOf = (name: string, value: string | number | boolean | readonly number[]) =>
      encodeNamedValues({ [name]: value }).int32(namedValue.type);
    expect(typeOf("x", "a")).toBe(namedValueType.string);
    expect(typeOf("x", 3)).toBe(namedValueType.int64);
    expect(typeOf("x", [1, 2])).toBe(namedValueType.int64List);
    expect(typeOf("x", 0.5)).toBe(namedValueType.float);
    expect(typeOf("x", true)).toBe(namedValueType.bool);
  });

  it("sends a memory fraction as a float even where it is whole", () => {
    expect(encodeNamedValues({ memory_fraction: 1 }).int32(namedValue.type)).toBe(namedValueType.float);
  });

  it("points to texts and lists", () => {
    const words = encodeNamedValues({ x: "grün" });
    expect(text(words.pointer(namedValue.value), words.pointer(namedValue.valueLength))).toBe("grün");
    const list = encodeNamedValues({ x: [5, 7] });
    expect(list.pointer(namedValue.valueLength)).toBe(2);
    expect(native().pointersAt(list.pointer(namedValue.value), 2)).toEqual([5, 7]);
  });
});
