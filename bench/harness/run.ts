import type { CountedFigure, Figure, PeerName, Subject, TimedFigure } from "./figure.ts";
import { measureInTurn } from "./measure.ts";
import { oneLine } from "./one-line.ts";
import type { Peers } from "./peers.ts";
import type { Result } from "./report.ts";
import { runSampled } from "./sampled.ts";

export interface RunOptions {
  /** Undefined: ours alone. */
  readonly peers?: Peers | undefined;
  readonly quick: boolean;
  readonly rounds: number;
  readonly batchSeconds: number;
}

/** Measures one figure. What fails is noted in the result; the other figures go on. */
export function runFigure(figure: Figure, options: RunOptions): Promise<Result> {
  if (figure.kind === "timed") return runTimed(figure, options);
  return figure.kind === "sampled" ? runSampled(figure, options) : runCounted(figure, options);
}

/** From seconds a step to the figure's unit. */
const inUnit: Readonly<Record<TimedFigure["unit"], (seconds: number) => number>> = {
  us: (seconds) => seconds * 1e6,
  ms: (seconds) => seconds * 1e3,
  s: (seconds) => seconds,
  "frames/s": (seconds) => 1 / seconds,
};

async function runTimed(figure: TimedFigure, options: RunOptions): Promise<Result> {
  const { peers, batchSeconds, quick } = options;
  const rounds = quick ? options.rounds : (figure.rounds ?? options.rounds);
  const subjects = new Map<string, Subject>();
  const problems: Record<string, string> = {};
  const setUp = async (name: string, make: () => Promise<Subject>): Promise<void> => {
    try {
      const subject = await make();
      const difference = disagreement(subjects.get("ours"), subject);
      if (difference) problems[name] = difference;
      else subjects.set(name, subject);
    } catch (cause) {
      problems[name] = oneLine(cause);
    }
  };
  await setUp("ours", figure.ours);
  if (peers && !problems.ours)
    for (const [name, wanted] of Object.entries(figure.peers))
      await setUp(name, () => peers.setUp(name as PeerName, wanted));
  const { name, engine, unit, bars } = figure;
  const base = { name, engine, unit, bars, problems };
  if (problems.ours) return { ...base, peers: {} };
  try {
    const measured = await measureInTurn(subjects, { rounds, batchSeconds, steps: figure.steps });
    const { ours, ...others } = Object.fromEntries(
      [...measured].map(([who, samples]) => [who, samples.map(inUnit[unit])]),
    );
    return { ...base, ours, peers: others };
  } catch (cause) {
    return { ...base, problems: { ...problems, ours: oneLine(cause) }, peers: {} };
  } finally {
    for (const subject of subjects.values()) await subject.dispose?.();
  }
}

async function runCounted(figure: CountedFigure, { quick }: RunOptions): Promise<Result> {
  const { name, engine, unit, bars } = figure;
  const base = { name, engine, unit, bars, peers: {} };
  try {
    return { ...base, ours: [await figure.ours({ quick })], problems: {} };
  } catch (cause) {
    return { ...base, problems: { ours: oneLine(cause) } };
  }
}

/** Times of different computations are not to be compared: says where the check numbers are further apart than rounding. */
function disagreement(ours: Subject | undefined, theirs: Subject): string | undefined {
  if (ours?.check === undefined || theirs.check === undefined) return undefined;
  const apart = Math.abs(ours.check - theirs.check);
  if (apart <= 1e-3 * Math.max(Math.abs(ours.check), Math.abs(theirs.check))) return undefined;
  return `it computes something else: its check number is ${theirs.check}, ours ${ours.check}`;
}
