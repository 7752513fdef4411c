import { describe, expect, it } from "vitest";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { every } from "../../schedule/index.ts";
import { simulate } from "../../testing/index.ts";
import { evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import { evenly, result } from "./curricula.test-support.ts";
import { type Curriculum, curriculumHook, type LessonResult } from "./curriculum.ts";
import { lessonCurriculum } from "./lesson-curriculum.ts";

/** Evaluates at the end of every so many epochs. */
const evaluating = (scores: Readonly<Record<string, number>>, epochs = 1): TrainerHook => ({
  name: "evaluation",
  schedule: every({ epochs }),
  provides: [evaluationScores],
  onEpochEnd: ({ slots, counters }) => slots.set(evaluationScores, { scores, counters }),
});

/** A curriculum that notes what it is told. */
function noting(): Curriculum & { readonly told: (readonly LessonResult[])[] } {
  const told: (readonly LessonResult[])[] = [];
  return {
    ...evenly(["door", "maze"]),
    told,
    evaluated: (results) => void told.push(results),
    metrics: () => ({ unlocked: 2 }),
  };
}

const door = { "door.return": 0.5, "door.positive": 0.75, "door.episodes": 20 };

describe("curriculumHook", () => {
  it("logs the curriculum's metrics at the end of every epoch", async () => {
    const { logged } = await simulate(curriculumHook(noting()), { epochs: 2 });
    expect(logged.map(({ hook, category, values }) => ({ hook, category, values }))).toEqual([
      { hook: "curriculum", category: "curriculum", values: { unlocked: 2 } },
      { hook: "curriculum", category: "curriculum", values: { unlocked: 2 } },
    ]);
  });

  it("tells what evaluations found of its lessons, after them, each once", async () => {
    const curriculum = noting();
    const scores = { ...door, "maze.return": 1, "cave.return": 1, "cave.positive": 1 };
    await simulate([curriculumHook(curriculum), evaluating(scores, 2)], { epochs: 5 });
    const told = [{ lesson: 0, episodes: 20, return: 0.5, positive: 0.75 }];
    expect(curriculum.told).toEqual([told, told]);
  });

  it("takes an evaluation for one of a single episode where its number is not said", async () => {
    const curriculum = noting();
    await simulate([curriculumHook(curriculum), evaluating({ "maze.return": 1, "maze.positive": 1 })]);
    expect(curriculum.told).toEqual([[{ lesson: 1, episodes: 1, return: 1, positive: 1 }]]);
  });

  it("logs what happens to lessons", async () => {
    const curriculum = lessonCurriculum({
      lessons: [
        { name: "door", stop: 0.7 },
        { name: "maze", after: ["door"] },
      ],
    });
    for (let i = 0; i < 5; i++) curriculum.trained([result(0, 1, { episodes: 10 })]);
    const { logged } = await simulate([curriculumHook(curriculum), evaluating(door)], { epochs: 6 });
    expect(logged.map(({ values }) => values["event.maze"])).toEqual([
      "unlocked",
      ...Array(5).fill(undefined),
    ]);
    expect(logged.map(({ values }) => values["event.door"]).indexOf("graduated")).toBe(4);
    expect(logged.at(-1)?.values).toMatchObject({ unlocked: 2, graduated: 1 });
  });

  it("does not tell the same evaluation again when a run is resumed", async () => {
    const store = memoryStore();
    const run = async (epochs: number) => {
      const curriculum = noting();
      await simulate(
        [
          curriculumHook(curriculum),
          evaluating(door, 2),
          checkpointHook({ store, schedule: every({ epochs: 1 }) }),
        ],
        { epochs },
      );
      return curriculum.told.length;
    };
    expect(await run(3)).toBe(1);
    expect(await run(5)).toBe(1);
  });

  it("keeps to its schedule", async () => {
    const { logged } = await simulate(
      curriculumHook(noting(), { schedule: every({ epochs: 3 }), name: "lessons" }),
      {
        epochs: 7,
      },
    );
    expect(logged.map(({ hook, counters }) => [hook, counters.epochs])).toEqual([
      ["lessons", 3],
      ["lessons", 6],
    ]);
  });
});
