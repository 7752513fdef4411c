import { describe, expect, it } from "vitest";
import { cartPole } from "../classics/cart-pole.ts";
import type { Drawing, DrawnShape } from "../environment.ts";
import { asText } from "./text.ts";

const drawing = (...shapes: DrawnShape[]): Drawing => ({ width: 4, height: 4, shapes });

describe("asText", () => {
  it("draws each kind of shape in dots", () => {
    const black = { color: "black" };
    const text = (shape: DrawnShape): string => asText(drawing(shape), { columns: 4 });
    expect(text({ kind: "rectangle", at: [0, 0], size: [2, 2], ...black })).toBe("⣿⣿\n");
    expect(text({ kind: "rectangle", at: [1, 2], size: [2, 1], ...black })).toBe("\n ⠛⠛");
    expect(text({ kind: "line", from: [0, 1], to: [4, 1], width: 0.5, ...black })).toBe("⠒⠒⠒⠒\n");
    expect(text({ kind: "circle", at: [2, 2], radius: 1, ...black })).toBe(" ⣠⣄\n ⠙⠋");
    expect(
      text({
        kind: "path",
        points: [
          [0, 0],
          [4, 0],
          [0, 4],
        ],
        filled: true,
        ...black,
      }),
    ).toBe("⣿⣿⠟⠁\n⠟⠁");
    expect(
      text({
        kind: "path",
        points: [
          [0.2, 0],
          [0.2, 4],
        ],
        ...black,
      }),
    ).toBe("⡇\n⡇");
  });

  it("is as wide as asked, no higher than asked, and keeps its proportions", () => {
    const all = drawing({ kind: "rectangle", at: [0, 0], size: [4, 4], color: "black" });
    expect(asText(all, { columns: 6 }).split("\n")).toEqual(["⣿⣿⣿⣿⣿⣿", "⣿⣿⣿⣿⣿⣿", "⣿⣿⣿⣿⣿⣿"]);
    expect(asText(all, { columns: 80, rows: 2 })).toBe("⣿⣿⣿⣿\n⣿⣿⣿⣿");
    expect(asText(all).split("\n")).toHaveLength(40);
  });

  it("leaves what is light blank and draws later shapes over earlier ones", () => {
    const paper = { kind: "rectangle", at: [0, 0], size: [4, 4], color: "#f7f3e9" } as const;
    const ink = { kind: "rectangle", at: [0, 0], size: [2, 4], color: "#3b6ea5" } as const;
    expect(asText(drawing(paper, ink), { columns: 2 })).toBe("⣿");
    expect(asText(drawing(ink, paper), { columns: 2 })).toBe("");
  });

  it("paints with colours of a terminal, changed only where they change", () => {
    const behind = { kind: "rectangle", at: [0, 0], size: [4, 4], color: "white" } as const;
    const front = { kind: "rectangle", at: [2, 0], size: [2, 2], color: "#ff0000" } as const;
    expect(asText(drawing(front), { columns: 4, color: true })).toBe("  \x1b[0;48;2;255;0;0m  \x1b[0m\n");
    expect(asText(drawing(behind, front), { columns: 2, color: true })).toBe(
      "\x1b[0;48;2;255;255;255m \x1b[0;48;2;255;255;255;38;2;255;0;0m⠛\x1b[0m",
    );
  });

  it("has the caption below", () => {
    expect(asText({ ...drawing(), caption: "step 3" }, { columns: 2 })).toBe("\nstep 3");
  });

  it("shows a pole on its cart", () => {
    const environment = cartPole();
    environment.reset({ seed: 1 });
    const text = asText(environment.render?.() as Drawing, { columns: 40 });
    expect(text).toBe(asText(environment.render?.() as Drawing, { columns: 40 }));
    expect(text.split("\n")).toHaveLength(7);
    expect(text).toMatch(/^ +[⠀-⣿]+\n/);
    expect(text).toContain("⣿⣿⣿");
  });

  it("refuses impossible sizes", () => {
    expect(() => asText(drawing(), { columns: 0 })).toThrow(/columns is 0/);
    expect(() => asText(drawing(), { width: 3 } as never)).toThrow(/there is no option "width"/);
  });
});
