import type { Subject } from "./figure.ts";

export interface MeasureOptions {
  readonly rounds: number;
  /** How long a batch of steps should take. */
  readonly batchSeconds: number;
  /** Steps a batch; found by trying where it is not given. */
  readonly steps?: number | undefined;
}

/**
 * Seconds a step for each subject, one sample a round. All subjects have their batch in every round, so that a
 * machine that slows down slows all of them. Every second round goes the other way, so that none always comes first.
 * A first round is not counted: compilers that work while the program runs are not done before it.
 */
export async function measureInTurn(
  subjects: ReadonlyMap<string, Subject>,
  options: MeasureOptions,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const taking = [...subjects].map(([name, subject]) => ({
    name,
    subject,
    samples: [] as number[],
    steps: 1,
  }));
  for (const each of taking)
    each.steps = options.steps ?? (await batchSize(each.subject, options.batchSeconds));
  for (let round = 0; round <= options.rounds; round++) {
    for (const { subject, samples, steps } of round % 2 === 0 ? taking : taking.toReversed())
      samples.push((await subject.run(steps)) / steps);
  }
  return new Map(taking.map(({ name, samples }) => [name, samples.slice(1)]));
}

/** How many steps take about so long; trying also warms up. */
async function batchSize(subject: Subject, seconds: number): Promise<number> {
  await subject.run(1);
  for (let steps = 1; ; steps *= 2) {
    const took = await subject.run(steps);
    if (took >= seconds / 4) return Math.max(1, Math.round((steps * seconds) / took));
  }
}
