// Draws the pictures of the docs, from the functions that they are about: `npm run docs:images`. Those of functions
// (ramps, schedules) are the same each time; learning curves are of real runs, with fixed seeds.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  at,
  between,
  type Counters,
  cosine,
  cycle,
  every,
  linear,
  nn,
  noCounters,
  oneCycle,
  optim,
  piecewise,
  type Ramp,
  type Schedule,
  sawtooth,
  type TrainerHook,
  warmup,
} from "../src/index.ts";
import { evaluationHook, ppo } from "../src/rl/index.ts";
import { findLearningRate, supervisedTask } from "../src/supervised/index.ts";
import { evaluationScores } from "../src/trainer/index.ts";
import { root } from "./compiler-options.ts";

/** Colours for light and dark pages. */
const style = `<style>
.page { fill: #fff } text { fill: #57606a; font-size: 12px } .name { fill: #1f2328; font: 12px ui-monospace, monospace }
.axis { stroke: #d0d7de } .line { fill: none; stroke: #4a8f3c; stroke-width: 2 } .dot { fill: #4a8f3c } .faint { fill: none; stroke: #4a8f3c; opacity: 0.35 }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } text { fill: #9198a1 } .name { fill: #e6edf3 } .axis { stroke: #30363d } .line, .faint { stroke: #6cbf5a } .dot { fill: #6cbf5a }
}
</style>`;

const picture = (width: number, height: number, label: string, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" role="img" aria-label="${label}">
${style}
<rect class="page" width="${width}" height="${height}" rx="6"/>
${parts.join("\n")}
</svg>
`;

const counters = (updates: number, perEpoch: number): Counters => {
  const epochs = Math.floor(updates / perEpoch);
  return { ...noCounters, updates, batches: updates, epoch: epochs, epochs };
};

const path = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Each ramp over 1,000 updates, beside the call that makes it. */
export function rampsPicture(): string {
  const over = { updates: 1000 };
  const ramps: readonly (readonly [string, Ramp])[] = [
    ["linear({ from: 1, to: 0, over })", linear({ from: 1, to: 0, over })],
    ["cosine({ from: 1, to: 0, over })", cosine({ from: 1, to: 0, over })],
    [
      "warmup({ updates: 150 }, cosine({ ... }))",
      warmup({ updates: 150 }, cosine({ from: 1, to: 0, over: { updates: 850 } })),
    ],
    ["oneCycle({ peak: 1, over })", oneCycle({ peak: 1, over })],
    [
      "piecewise({ updates: [[0, 1], [300, 0.5], ...] })",
      piecewise({
        updates: [
          [0, 1],
          [300, 0.5],
          [700, 0.1],
        ],
      }),
    ],
    [
      "sawtooth({ from: 1, to: 0, over: { updates: 250 } })",
      sawtooth({ from: 1, to: 0, over: { updates: 250 } }),
    ],
  ];
  const [width, height] = [250, 92];
  const parts = ramps.flatMap(([name, ramp], i) => {
    const [left, top] = [20 + (i % 2) * 400, 18 + Math.floor(i / 2) * 132];
    const points = Array.from({ length: 126 }, (_, k): readonly [number, number] => {
      const updates = Math.min(999, k * 8);
      return [left + (updates / 1000) * width, top + height - ramp.at(counters(updates, 100)) * height];
    });
    return [
      `<path class="axis" fill="none" d="M${left} ${top}V${top + height}H${left + width}"/>`,
      `<path class="line" d="${path(points)}"/>`,
      `<text class="name" x="${left}" y="${top + height + 18}">${name}</text>`,
    ];
  });
  return picture(800, 18 + 3 * 132, "Six ramps over 1,000 updates", parts);
}

/** When schedules are due at the ends of 24 epochs. */
export function schedulesPicture(): string {
  const schedules: readonly (readonly [string, Schedule])[] = [
    ["every({ epochs: 4 })", every({ epochs: 4 })],
    ["every({ epochs: 4, from: 6, until: 18 })", every({ epochs: 4, from: 6, until: 18 })],
    ["at({ epochs: [1, 5, 20] })", at({ epochs: [1, 5, 20] })],
    ["between({ epochs: [6, 12] })", between({ epochs: [6, 12] })],
    ["cycle({ epochs: 8, active: [1, 2] })", cycle({ epochs: 8, active: [1, 2] })],
    [
      "every({ epochs: 2 }).and(between({ epochs: [6, 12] }))",
      every({ epochs: 2 }).and(between({ epochs: [6, 12] })),
    ],
    ["every({ epochs: 5 }).or(at({ epochs: [1] }))", every({ epochs: 5 }).or(at({ epochs: [1] }))],
  ];
  const [left, step, row] = [390, 16, 26];
  const place = (epoch: number): number => left + epoch * step;
  const parts = schedules.flatMap(([name, schedule], i) => {
    const y = 24 + i * row;
    const dots = Array.from({ length: 24 }, (_, k) => k + 1)
      // At the end of an epoch it is that epoch, and it has been completed.
      .filter((epochs) =>
        schedule.due({
          counters: { ...noCounters, epoch: epochs - 1, epochs },
          since: { ...noCounters, epoch: Math.max(0, epochs - 2), epochs: epochs - 1 },
        }),
      )
      .map((epochs) => `<circle class="dot" cx="${place(epochs)}" cy="${y}" r="5"/>`);
    return [
      `<text class="name" x="14" y="${y + 4}">${name}</text>`,
      `<path class="axis" d="M${place(1)} ${y}H${place(24)}"/>`,
      ...dots,
    ];
  });
  const end = 24 + schedules.length * row;
  const ticks = [1, 4, 8, 12, 16, 20, 24].map(
    (epoch) => `<text x="${place(epoch)}" y="${end + 8}" text-anchor="middle">${epoch}</text>`,
  );
  const title = `<text x="14" y="${end + 8}">at the end of epoch</text>`;
  return picture(800, end + 20, "When seven schedules are due over 24 epochs", [...parts, ...ticks, title]);
}

/** The mean return of evaluations while PPO learns CartPole, of three seeds and their mean. */
async function learningPicture(): Promise<string> {
  const total = 60_000;
  const seeds = [1, 2, 3];
  const curves: (readonly [number, number])[][] = [];
  for (const seed of seeds) {
    console.error(`CartPole, seed ${seed}`);
    const curve: (readonly [number, number])[] = [];
    const schedule = every({ steps: 4096 });
    const watch: TrainerHook = {
      name: "watch",
      schedule,
      wants: [evaluationScores],
      onEpochEnd: ({ slots, counters: { steps } }) => {
        const found = slots.get(evaluationScores)?.scores.return;
        if (found !== undefined) curve.push([steps, found]);
      },
    };
    await ppo({ env: "CartPole-v1", seed }).train({
      steps: total,
      hooks: ({ player }) => [
        evaluationHook({ player, suites: { all: { env: "CartPole-v1" } }, schedule, episodes: 20 }),
        watch,
      ],
    });
    curves.push(curve);
  }
  return curvesPicture(curves, { total, most: 500, label: "agent steps", title: "mean return" });
}

interface Axes {
  readonly total: number;
  readonly most: number;
  readonly label: string;
  readonly title: string;
}

/** Curves that begin at the same points, faintly, and their mean. */
function curvesPicture(
  curves: readonly (readonly (readonly [number, number])[])[],
  { total, most, label, title }: Axes,
): string {
  const [left, top, width, height] = [60, 20, 700, 200];
  const place = ([x, y]: readonly [number, number]): readonly [number, number] => [
    left + (x / total) * width,
    top + height - (y / most) * height,
  ];
  const [first = []] = curves;
  const mean = first.map(([x], i): readonly [number, number] => [
    x,
    curves.reduce((sum, curve) => sum + (curve[i]?.[1] ?? 0), 0) / curves.length,
  ]);
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const [x, y] = place([part * total, part * most]);
    return `<path class="axis" d="M${left} ${y}H${left + width}"/><text x="${left - 8}" y="${y + 4}" text-anchor="end">${part * most}</text><text x="${x}" y="${top + height + 18}" text-anchor="middle">${(part * total).toLocaleString("en")}</text>`;
  });
  return picture(800, 270, `${title} by ${label}`, [
    ...marks,
    ...curves.map((curve) => `<path class="faint" d="${path(curve.map(place))}"/>`),
    `<path class="line" d="${path(mean.map(place))}"/>`,
    `<text x="${left + width}" y="${top + height + 38}" text-anchor="end">${label}</text>`,
    `<text class="name" x="${left + 6}" y="${top + 14}">${title}</text>`,
  ]);
}

/** The range test of docs/supervised.md. */
async function ratePicture(): Promise<string> {
  const x = Float32Array.from({ length: 500 }, (_, i) => i / 250 - 1);
  const task = supervisedTask({
    model: nn.mlp({ hidden: [32], out: 1 }),
    optimizer: optim.adam(),
    data: { x: { data: x, shape: [500, 1] }, y: { data: x.map((v) => v * v), shape: [500, 1] } },
    loss: nn.mse,
    batchSize: 50,
  });
  return (await findLearningRate(task, { from: 1e-5, to: 10 })).svg();
}

/** The pictures by their names in docs/images. */
export const pictures: Readonly<Record<string, () => string | Promise<string>>> = {
  "ramps.svg": rampsPicture,
  "schedules.svg": schedulesPicture,
  "learning-rate.svg": ratePicture,
  "cartpole.svg": learningPicture,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  for (const [name, draw] of Object.entries(pictures))
    if (asked.length === 0 || asked.includes(name)) {
      writeFileSync(join(root, "docs/images", name), await draw());
      console.log(`docs/images/${name}`);
    }
}
