import { expect, it } from "vitest";
import { plain, shortened } from "./plain.ts";

it("takes the power over a terminal from a text, and leaves its letters", () => {
  expect(plain("a\u001b[31mb\nc\u0007\u009b\u202ed")).toBe("a�[31mb�c���d");
  expect(plain("häuser 東京 ▁█")).toBe("häuser 東京 ▁█");
});

it("shortens by letters, not halves of them", () => {
  expect(shortened("abcdef", 6)).toBe("abcdef");
  expect(shortened("abcdefg", 6)).toBe("abc...");
  expect(shortened("😀😀😀😀😀", 4)).toBe("😀...");
});
