import { peerLabels } from "./figure.ts";
import { digits } from "./statistics.ts";

/** How much faster ours is than a peer in the figures of one section: 2 is twice as fast, 0.5 half as fast. */
export interface Comparison {
  readonly section: string;
  readonly engine: string;
  readonly peer: string;
  /** The geometric mean, the least and the most. */
  readonly speed: number;
  readonly least: number;
  readonly most: number;
  readonly figures: number;
}

/** Times and rates: the units in which faster is a ratio. */
const units: Readonly<Record<string, "time" | "rate">> = {
  us: "time",
  ms: "time",
  s: "time",
  "frames/s": "rate",
};

/** All comparisons with peers that the tables of docs/benchmarks.md hold, those in which ours is slower included. */
export function comparisonsIn(page: string): readonly Comparison[] {
  const found = new Map<string, number[]>();
  let section = "";
  let header: readonly string[] = [];
  for (const line of page.split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3).trim();
    if (!line.startsWith("|")) continue;
    const cells = line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim());
    if (cells[0] === "figure") header = cells;
    const ours = amountIn(cells[1]);
    const kind = ours && units[ours.unit];
    if (!ours || !kind) continue;
    for (const [column, peer] of header.entries()) {
      const theirs = isPeer(peer) ? amountIn(cells[column]) : undefined;
      if (!theirs || theirs.value <= 0 || ours.value <= 0) continue;
      const speed = kind === "time" ? theirs.value / ours.value : ours.value / theirs.value;
      const engine = /^(xla|wasm|host): /.exec(cells[0] ?? "")?.[1] ?? "";
      const key = JSON.stringify([section, engine, peer]);
      found.set(key, [...(found.get(key) ?? []), speed]);
    }
  }
  return [...found].map(([key, speeds]) => {
    const [of, engine, peer] = JSON.parse(key) as [string, string, string];
    const logs = speeds.map((speed) => Math.log(speed));
    const speed = Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
    return {
      ...{ section: of, engine, peer, speed, figures: speeds.length },
      ...{ least: Math.min(...speeds), most: Math.max(...speeds) },
    };
  });
}

const isPeer = (name: string): boolean => (Object.values(peerLabels) as string[]).includes(name);

/** `0.117 (0.113-0.126) ms` as a median and its unit. */
function amountIn(cell = ""): { readonly value: number; readonly unit: string } | undefined {
  const [, value, unit = ""] = /^([\d.]+)(?: \([^)]*\))? (\S+)$/.exec(cell) ?? [];
  return value === undefined ? undefined : { value: Number(value), unit };
}

/** Pixels. */
const [WIDTH, LEFT, RIGHT, ROW, HEAD] = [860, 330, 70, 22, 74] as const;

/** The comparisons as bars on a logarithmic axis, from the line at which both are as fast. For light and dark pages. */
export function chart(comparisons: readonly Comparison[]): string {
  const all = comparisons.flatMap(({ least, most }) => [least, most]);
  const [low, high] = [Math.min(0.25, ...all), Math.max(4, ...all)];
  const place = (speed: number): number =>
    LEFT + ((Math.log(speed) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (WIDTH - LEFT - RIGHT);
  const rows: string[] = [];
  let y = HEAD;
  let section = "";
  for (const one of comparisons) {
    if (one.section !== section) {
      section = one.section;
      y += 10;
      rows.push(`<text class="head" x="14" y="${y + 15}">${escaped(section)}</text>`);
      y += ROW;
    }
    rows.push(row(one, y, place));
    y += ROW;
  }
  const ticks = ticksBetween(low, high).map((speed) => {
    const x = place(speed).toFixed(1);
    const name = speed < 1 ? `1/${Math.round(1 / speed)}` : String(speed);
    return `<line class="${speed === 1 ? "one" : "tick"}" x1="${x}" x2="${x}" y1="${HEAD - 6}" y2="${y}"/><text class="axis" x="${x}" y="${HEAD - 12}">${name} x</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 16}" font-family="system-ui, sans-serif" role="img" aria-label="How many times as fast as its peers Espalier is">
<style>
.page { fill: #fff } text { fill: #57606a; font-size: 12px } .title { fill: #1f2328; font-size: 15px; font-weight: 600 }
.head { fill: #1f2328; font-weight: 600 } .axis { text-anchor: middle; font-size: 11px } .tick { stroke: #d0d7de } .one { stroke: #57606a }
.fast { fill: #4a8f3c } .slow { fill: #c9761d } .spread { stroke: #57606a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } text { fill: #9198a1 } .title, .head { fill: #e6edf3 } .tick { stroke: #30363d } .one, .spread { stroke: #9198a1 }
  .fast { fill: #6cbf5a } .slow { fill: #e3953f }
}
</style>
<rect class="page" width="${WIDTH}" height="${y + 16}" rx="6"/>
<text class="title" x="14" y="26">Espalier's speed in multiples of others'</text>
<text x="14" y="45">Geometric mean over the figures of docs/benchmarks.md; the thin line goes from the least to the most. Orange is slower.</text>
${[...ticks, ...rows].join("\n")}
</svg>
`;
}

function row(
  { peer, engine, speed, least, most, figures }: Comparison,
  y: number,
  place: (speed: number) => number,
): string {
  const [from, to] = [place(Math.min(1, speed)), place(Math.max(1, speed))];
  const middle = y + 11;
  const width = Math.max(2, to - from).toFixed(1);
  const of = engine === "" || engine === "host" ? "" : `${engine}, `;
  const name = `against ${peer} (${of}${figures === 1 ? "one figure" : `${figures} figures`})`;
  const line =
    figures === 1
      ? ""
      : `<line class="spread" x1="${place(least).toFixed(1)}" x2="${place(most).toFixed(1)}" y1="${middle}" y2="${middle}"/>`;
  const end = Math.max(to, place(most), place(1)) + 6;
  return `<text x="26" y="${y + 15}">${escaped(name)}</text><rect class="${speed >= 1 ? "fast" : "slow"}" x="${from.toFixed(1)}" y="${y + 4}" width="${width}" height="14" rx="2"/>${line}<text x="${end.toFixed(1)}" y="${y + 15}">${digits(speed)} x</text>`;
}

/** Powers of four. */
const ticksBetween = (low: number, high: number): readonly number[] =>
  Array.from({ length: 21 }, (_, i) => 4 ** (i - 10)).filter((speed) => speed >= low && speed <= high);

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
