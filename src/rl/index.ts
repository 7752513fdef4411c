/** Learning to act: environments, policies, losses, tasks, evaluation, replays and curricula. */

export { type Actor, loadActor, openActor } from "./acting/actor.ts";
export {
  type Curriculum,
  type CurriculumEvent,
  checkedLessons,
  curriculumHook,
  curriculumValues,
  type LessonResult,
  sharesOf,
} from "./curriculum/curriculum.ts";
export { learningProgressCurriculum } from "./curriculum/learning-progress.ts";
export { type Lesson, lessonCurriculum } from "./curriculum/lesson-curriculum.ts";
export type { DqnOptions } from "./dqn/options.ts";
export { type DqnTask, dqnTask } from "./dqn/task.ts";
export { acrobot, compiledAcrobot } from "./environments/classics/acrobot.ts";
export { cartPole, compiledCartPole } from "./environments/classics/cart-pole.ts";
export {
  compiledMountainCar,
  compiledMountainCarContinuous,
  mountainCar,
  mountainCarContinuous,
} from "./environments/classics/mountain-car.ts";
export { compiledPendulum, pendulum } from "./environments/classics/pendulum.ts";
export type { CompiledEnvironment } from "./environments/compiled.ts";
export { defineEnvironment, type TypedEnvironment } from "./environments/define.ts";
export type { Drawing, Environment, Reset, ResetOptions, Step } from "./environments/environment.ts";
export { checkMade, lessonOf } from "./environments/environment.ts";
export { compiledGridWorld } from "./environments/grid/compiled.ts";
export { gridWorld } from "./environments/grid/grid-world.ts";
export { gridLessons } from "./environments/grid/layout.ts";
export { type EnvironmentRandom, SeededRandom } from "./environments/random.ts";
export {
  checkSource,
  compiledEnvironment,
  type EnvironmentSource,
  environmentNames,
  makeEnvironment,
  moduleUrl,
  registerEnvironment,
} from "./environments/registry.ts";
export { asGif } from "./environments/rendering/gif.ts";
export { asSvg, asSvgAnimation } from "./environments/rendering/svg.ts";
export { asText } from "./environments/rendering/text.ts";
export { frameStack } from "./environments/wrappers/frame-stack.ts";
export { normalizeObservations, normalizeRewards } from "./environments/wrappers/normalize.ts";
export {
  clipActions,
  clipObservations,
  clipRewards,
  maskActions,
  timeLimit,
  wrap,
} from "./environments/wrappers/wrap.ts";
export {
  type CheckpointEvaluationOptions,
  evaluateCheckpoint,
  evaluateJob,
} from "./evaluation/evaluate-checkpoint.ts";
export { type EvaluationHookOptions, evaluationHook } from "./evaluation/evaluation-hook.ts";
export { type EpisodeResult, playEpisodes } from "./evaluation/play.ts";
export { type Player, spacesSetting } from "./evaluation/player.ts";
export {
  type EvaluationJob,
  type EvaluationOutcome,
  type EvaluationQueue,
  processQueue,
  SubmittedJobs,
} from "./evaluation/process-queue.ts";
export { insertEvaluation, openRun } from "./evaluation/publish.ts";
export {
  allScores,
  evaluateSuites,
  lessonSuites,
  type Suite,
  type Suites,
  scoresOf,
} from "./evaluation/suites.ts";
export { advantages } from "./experience/advantages.ts";
export type { Experience, ExperienceBuffer, PolicyOutputs } from "./experience/experience.ts";
export { centerRewards, normalize, scaleRewards } from "./experience/normalization.ts";
export { prioritizedSegments } from "./experience/prioritized-segments.ts";
export { type ReplayBuffer, replayBuffer } from "./experience/replay-buffer.ts";
export { autoUpdateEpochs } from "./experience/update-epochs.ts";
export { entropyLoss, policyGradientLoss, policyLoss, valueLoss } from "./losses/actor-critic.ts";
export { cloningLoss, type Demonstrations, kickstartLoss } from "./losses/imitation.ts";
export { type LossOptions, lossMembers, lossRows, meanOf } from "./losses/loss.ts";
export { tdLoss } from "./losses/td.ts";
export { Columns } from "./on-policy/layout.ts";
export { type OnPolicyOptions, policyFor } from "./on-policy/options.ts";
export { type OnPolicyTask, onPolicyTask } from "./on-policy/task.ts";
export {
  curriculum as curriculumRow,
  orRamp,
  params as paramsRow,
  policy as policyRow,
  positive,
} from "./option-rows.ts";
export { buildPolicy, loadPolicy } from "./policies/build.ts";
export {
  categorical,
  distributionFor,
  gaussian,
  multiCategorical,
  squashedGaussian,
} from "./policies/distributions.ts";
export type { Distribution, Policy } from "./policies/policy.ts";
export type { PolicySpec } from "./policies/spec.ts";
export { type A2cOptions, a2c, a2cSettings } from "./presets/a2c.ts";
export type { Agent } from "./presets/agent.ts";
export { type DqnAgentOptions, dqn } from "./presets/dqn.ts";
export { type PpoOptions, ppo, ppoSettings } from "./presets/ppo.ts";
export { readReplay, replayPath, writeReplay } from "./replays/files.ts";
export { type ReplayVerdict, replayFrames, verifyReplay } from "./replays/playback.ts";
export { type Replay, type ReplayRecorder, recordEpisode, replayRecorder } from "./replays/replay.ts";
export * from "./spaces/index.ts";
export { compiledRows } from "./vector/compiled-rows.ts";
export { threadedEnvironment } from "./vector/threads/threaded-environment.ts";
export type { VectorEnvironment } from "./vector/vector.ts";
export { vectorEnvironment } from "./vector/vector-environment.ts";
