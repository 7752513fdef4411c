import type { PeerName, SampledFigure, Sampler } from "./figure.ts";
import { oneLine } from "./one-line.ts";
import type { Peers } from "./peers.ts";
import type { Result } from "./report.ts";

interface SampleOptions {
  readonly peers?: Peers | undefined;
  readonly quick: boolean;
}

/** Whoever gives samples, and those given until now. */
interface Sampled {
  readonly who: string;
  readonly sampler: Sampler;
  readonly samples: number[];
}

/**
 * A sample of ours and of each peer for every seed. Who fails once is not asked again, and shows nothing: the mean of
 * fewer seeds would be another figure.
 */
export async function runSampled(figure: SampledFigure, { peers, quick }: SampleOptions): Promise<Result> {
  const problems: Record<string, string> = {};
  const taking: Sampled[] = [];
  const setUp = async (who: string, make: () => Promise<Sampler>): Promise<void> => {
    try {
      taking.push({ who, sampler: await make(), samples: [] });
    } catch (cause) {
      problems[who] = oneLine(cause);
    }
  };
  await setUp("ours", figure.ours);
  if (peers)
    for (const [name, wanted] of Object.entries(figure.peers))
      await setUp(name, () => peers.setUp(name as PeerName, wanted));
  const count = quick ? Math.min(3, figure.samples) : figure.samples;
  for (let index = 1; index <= count; index++)
    for (const { who, sampler, samples } of taking)
      if (!problems[who])
        try {
          samples.push(await sampler.sample(index));
          console.error(`  ${index}: ${who} ${samples.at(-1)} ${figure.unit}`);
        } catch (cause) {
          problems[who] = oneLine(cause);
        }
  for (const { sampler } of taking) await sampler.dispose?.();
  const whole = taking.filter(({ who }) => !problems[who]);
  const { ours, ...others } = Object.fromEntries(whole.map(({ who, samples }) => [who, samples]));
  const { name, engine, unit, bars } = figure;
  return { name, engine, unit, bars, statistic: "mean", problems, ours, peers: others };
}
