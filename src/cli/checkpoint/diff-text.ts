import { columns } from "../columns.ts";
import { type ComponentDifference, differs, type LeafDifference } from "./diff.ts";

/** The most leaves of one component that are told one by one. */
const shown = 20;

/** What `diff` prints. */
export function diffText(found: readonly ComponentDifference[]): string {
  const different = found.filter(differs);
  if (different.length === 0) return `the same, bit for bit, in all ${found.length} components`;
  const rows = different.flatMap(({ component, missing, leaves }) => {
    if (missing) return [[component, `is missing in the ${missing}`]];
    const more = leaves.length - shown;
    return [
      ...leaves.slice(0, shown).map((leaf) => [component, ...cells(leaf)]),
      ...(more > 0 ? [[component, `and ${more} more`]] : []),
    ];
  });
  const same = found.length - different.length;
  return [
    `first difference: ${firstText(found)}`,
    "",
    ...columns([["component", "tensor or value", "type", "differ", "greatest difference", "first"], ...rows]),
    "",
    `${different.length} of ${found.length} components differ, ${same} are the same`,
  ].join("\n");
}

/** The first difference of all in one line: component, tensor and index. */
export function firstText(found: readonly ComponentDifference[]): string {
  const first = found.find(differs);
  if (!first) return "none";
  const [leaf] = first.leaves;
  if (!leaf) return `component ${first.component} is missing in the ${first.missing}`;
  return `component ${first.component}, ${leaf.path}${placeText(leaf)}: ${valuesText(leaf)}`;
}

function cells(leaf: LeafDifference): readonly string[] {
  const { path, sides, numbers } = leaf;
  if (!numbers) return [path, "", "", "", valuesText(leaf)];
  const { count, of, greatest } = numbers;
  return [
    path,
    sides[0] ?? "",
    `${count} of ${of}`,
    String(Number(greatest.toPrecision(3))),
    `${placeText(leaf)} ${valuesText(leaf)}`.trimStart(),
  ];
}

const placeText = ({ numbers }: LeafDifference): string =>
  numbers && numbers.index.length > 0 ? `[${numbers.index.join(",")}]` : "";

function valuesText({ sides: [a, b], numbers }: LeafDifference): string {
  if (numbers)
    return numbers.values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join(" and ");
  if (a === undefined || b === undefined)
    return `${a ?? b} is missing in the ${a === undefined ? "first" : "second"}`;
  return `${a} and ${b}`;
}
