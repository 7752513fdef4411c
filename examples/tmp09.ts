import { every, evaluationScores } from "../src/index.ts";
import { evaluationHook, gridLessons, lessonCurriculum, lessonSuites, ppo } from "../src/rl/index.ts";
const names = Object.keys(gridLessons);
const o = JSON.parse(process.argv[2] ?? "{}");
const { total = 600000, ...over } = o;
const curriculum = lessonCurriculum({
  lessons: names.map((name, i) => ({ name, threshold: 0.8, ...(i > 0 && { after: [names[i - 1] as string] }) })),

});
const t0 = performance.now(), c0 = process.cpuUsage().user;
const agent = ppo({ env: "GridWorld-v0", seed: 1, curriculum, ...over });
const schedule = every({ samples: 50000 });
await agent.train({
  steps: total,
  hooks: ({ player }) => [
    evaluationHook({ player, suites: lessonSuites("GridWorld-v0"), episodes: 16, deterministic: false, schedule, on: "onEpochEnd" }),
    { name: "a", needs: [evaluationScores], schedule, onEpochEnd({ slots, counters }) {
      const s = slots.get(evaluationScores)?.scores ?? {};
      console.log(counters.steps, names.map((n) => (s[`${n}.return`]??NaN).toFixed(2)).join(" "), Array.from(curriculum.shares(), (x) => x.toFixed(2)).join(" "), ((performance.now()-t0)/1000).toFixed(1), (process.cpuUsage().user-c0)/1e6) } },
  ],
});
