import { firstDifference, type StateTree } from "../../state/index.ts";
import {
  type Bench,
  fault,
  type Moment,
  resetMoment,
  type Seen,
  type Stepped,
  sameMoments,
  stepMoment,
  text,
} from "./bench.ts";
import { copied, spoil } from "./spoil.ts";

type Check = (bench: Bench) => void | Promise<void>;

/** How long episodes are played for that are compared. */
const SOME = 200;

const halfOf = (episode: readonly Moment[]): number => Math.max(1, Math.floor(episode.length / 2));

/** Checks that what happens follows from seed, actions and state alone. */
export const futureChecks: Readonly<Record<string, Check>> = {
  "the same seed gives the same episode": (bench) => {
    for (const seed of bench.seeds) {
      const expected = bench.episode(bench.make(), seed, SOME);
      sameMoments(bench.episode(bench.make(), seed, SOME), expected, `seed ${seed} in another environment`);
    }
  },

  "reset leaves nothing of the episode before": (bench) => {
    for (const seed of bench.seeds) {
      const environment = bench.make();
      const expected = bench.episode(bench.make(), seed, SOME);
      bench.episode(environment, seed + 1, halfOf(expected));
      const what = `seed ${seed} after an unfinished episode`;
      sameMoments(bench.episode(environment, seed, SOME), expected, what);
      sameMoments(bench.episode(environment, seed, SOME), expected, `seed ${seed} after a whole episode`);
    }
  },

  "a reset without a seed draws on": (bench) => {
    const [a, b] = [bench.make(), bench.make()];
    for (const environment of [a, b]) bench.episode(environment, 0, 5);
    const [first, second] = [resetMoment(bench.reset(a)), resetMoment(bench.reset(b))];
    sameMoments([second], [first], "the second episode after seed 0");
    const expected = bench.play(a, 0, first, SOME);
    sameMoments(bench.play(b, 0, second, SOME), expected, "the second episode after seed 0");
  },

  "a state gives back the future": async (bench) => {
    for (const seed of bench.seeds) {
      const environment = bench.make();
      const half = halfOf(bench.episode(bench.make(), seed, SOME));
      const past = bench.episode(environment, seed, half);
      const last = past.at(-1) as Moment;
      const state = copied(stateOf(environment.getState()));
      const future = bench.play(environment, seed, last, SOME);
      const next = resetMoment(bench.reset(environment));
      for (const [what, other] of [
        ["the same environment", environment],
        ["another environment", bench.make()],
      ] as const) {
        other.setState(copied(state));
        const change = await firstDifference(state, stateOf(other.getState()));
        if (change)
          throw fault(`setState in ${what} does not leave the state as it was given: ${change.text}`);
        const place = `after setState at step ${last.at} of seed ${seed} in ${what}`;
        sameMoments(bench.play(other, seed, last, SOME), future, place);
        sameMoments([resetMoment(bench.reset(other))], [next], `the episode that follows, ${place}`);
      }
    }
  },

  "what is given out and taken in shares no memory": (bench) => {
    const seed = bench.seeds[0] ?? 0;
    const expected = bench.episode(bench.make(), seed, SOME);
    const environment = bench.make();
    let given: Seen = bench.reset(environment, { seed });
    let last = resetMoment(given);
    for (const [i, moment] of expected.entries()) {
      sameMoments([last], [moment], "after what it gave out before was written into");
      spoil(stateOf(environment.getState()));
      const state = copied(stateOf(environment.getState()));
      environment.setState(state);
      spoil(state);
      if (i === expected.length - 1) break;
      const action = bench.action(environment, seed, last.at + 1, last.seen);
      const stepped = environment.step(action);
      const later = last.stepped ? stepMoment(last.at, given as Stepped) : resetMoment(given);
      sameMoments([later], [last], "what was given out, a step later");
      spoil(action);
      spoil(given.observation);
      spoil(given.actionMask);
      given = stepped;
      last = stepMoment(last.at + 1, stepped);
    }
  },

  "a step after the end is refused or harmless": (bench) => {
    const seed = bench.seeds[0] ?? 0;
    const environment = bench.make();
    const expected = bench.episode(environment, seed);
    try {
      const action = bench.action(environment, seed, 0, (expected.at(-1) as Moment).seen);
      environment.step(action);
    } catch {
      // Refused.
    }
    sameMoments(bench.episode(environment, seed), expected, `seed ${seed} after a step after the end`);
  },

  "every lesson can be played": (bench) => {
    const { lessons = [] } = bench.make();
    for (const [lesson, name] of lessons.entries()) {
      const play = (): Moment[] => {
        const environment = bench.make();
        const first = resetMoment(bench.reset(environment, { seed: 0, lesson }));
        return [first, ...bench.play(environment, 0, first, SOME)];
      };
      sameMoments(play(), play(), `lesson ${lesson} (${name}) with seed 0, a second time`);
    }
  },

  "drawing changes nothing": async (bench) => {
    const environment = bench.make();
    if (!environment.render) return;
    bench.episode(environment, bench.seeds[0] ?? 0, 3);
    const before = copied(stateOf(environment.getState()));
    const drawing = environment.render();
    const change = await firstDifference(before, stateOf(environment.getState()));
    if (change) throw fault(`render changes the state: ${change.text}`);
    if (!(drawing?.width > 0 && drawing.height > 0 && Array.isArray(drawing.shapes)))
      throw fault(`render gave ${text(drawing)}, which is no drawing with width, height and shapes`);
  },
};

/** A state, or why it is none. */
function stateOf(state: StateTree): StateTree {
  if (state !== undefined && state !== null) return state;
  throw fault(`getState gave ${text(state)}, where its state is expected`);
}
