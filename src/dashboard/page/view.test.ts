import { expect, it } from "vitest";
import { formatView, parseView, type View } from "./view.ts";

const full: View = {
  run: "7f3a/&=#",
  runs: ["a b", "c,d"],
  tab: "log",
  item: "checkpoint 7",
  search: "loss <b> & more",
  tags: ["wide", "lr sweep"],
  showArchived: true,
  hidden: ["x"],
  sort: "name",
  spark: "validation/loss",
  axis: "time",
  log: true,
  smoothing: 0.65,
  zoom: [-1.5, 2e9],
  zoomOn: "time",
  metricFilter: "grad",
  folded: ["system"],
  theme: "dark",
};

it("gives the same view again from its URL", () => {
  expect(parseView(formatView(full))).toEqual(full);
});

it("says nothing in the URL of what is as by default", () => {
  expect(formatView(parseView(""))).toBe("");
  expect(formatView({ ...parseView(""), run: "a" })).toBe("#run=a");
});

it("takes the default for what the URL says wrongly", () => {
  const view = parseView(
    "#smoothing=7&zoom=5,5&axis=up&theme=pink&log=yes&runs=&runs=a&runs=a&tab=&token=secret",
  );
  expect(view).toEqual({ ...parseView(""), smoothing: 0.99, runs: ["a"] });
  expect(formatView(view)).not.toContain("secret");
  expect(parseView("#smoothing=NaN&zoom=1").smoothing).toBe(0);
});
