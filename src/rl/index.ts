/** Learning to act: environments, policies, losses, tasks, evaluation, replays and curricula. */

export { type Actor, type ActorOptions, type OpenActorOptions, openActor } from "./acting/actor.ts";
export { type LoadActorOptions, loadActor } from "./acting/load-actor.ts";
export { acrobot, cartPole, mountainCar, mountainCarContinuous, pendulum } from "./compiled/classics.ts";
export type { CompiledEnvironment } from "./compiled/compiled.ts";
export { type CompiledRows, compiledRows, type RowsState, type RowsStep } from "./compiled/rows.ts";
export type { Curriculum, CurriculumEvent, LessonResult } from "./curriculum/curriculum.ts";
export { type CurriculumHookOptions, curriculumHook } from "./curriculum/curriculum-hook.ts";
export { learningProgressCurriculum } from "./curriculum/learning-progress.ts";
export { lessonCurriculum } from "./curriculum/lesson-curriculum.ts";
export type { Lesson, LessonCurriculumOptions } from "./curriculum/lesson-options.ts";
export type { LearningProgressOptions } from "./curriculum/progress-options.ts";
export type { PlateauOptions } from "./curriculum/returns.ts";
export type { DqnOptions } from "./dqn/options.ts";
export { type DqnTask, dqnTask } from "./dqn/task.ts";
export type { EnvironmentEntry } from "./environments/built-in.ts";
export { makeAcrobot } from "./environments/classics/acrobot.ts";
export { makeCartPole } from "./environments/classics/cart-pole.ts";
export { makeMountainCar } from "./environments/classics/mountain-car.ts";
export { makeMountainCarContinuous } from "./environments/classics/mountain-car-continuous.ts";
export { makePendulum } from "./environments/classics/pendulum.ts";
export { defineEnvironment } from "./environments/define.ts";
export type {
  Definition,
  InitialOptions,
  Outcome as StepOutcome,
  PerAgent,
  TypedEnvironment,
} from "./environments/definition.ts";
export type { Drawing, Environment, Reset, ResetOptions, Shape, Step } from "./environments/environment.ts";
export { type CompiledGridState, compiledGridWorld } from "./environments/grid/compiled.ts";
export { gridWorld } from "./environments/grid/grid-world.ts";
export { gridLessons } from "./environments/grid/lessons.ts";
export type { GridWorldOptions } from "./environments/grid/options.ts";
export { type EnvironmentRandom, SeededRandom } from "./environments/random.ts";
export {
  compiledEnvironment,
  environmentNames,
  hasCompiled,
  makeEnvironment,
  registerEnvironment,
} from "./environments/registry.ts";
export {
  asSvg,
  asSvgAnimation,
  asText,
  type SvgAnimationOptions,
  type SvgOptions,
  type TextOptions,
} from "./environments/rendering/index.ts";
export * from "./environments/wrappers/index.ts";
export type { EnvironmentModule, EnvironmentSource } from "./evaluation/environment-source.ts";
export type { EpisodeResult, PlayedEpisode, RecordEpisode } from "./evaluation/episode.ts";
export {
  type CheckpointEvaluation,
  type CheckpointEvaluationOptions,
  evaluateCheckpoint,
} from "./evaluation/evaluate-checkpoint.ts";
export { type EvaluateOptions, evaluateSuites } from "./evaluation/evaluate-suites.ts";
export { evaluationHook } from "./evaluation/evaluation-hook.ts";
export type {
  EvaluationEvent,
  EvaluationHookOptions,
  EvaluationMode,
} from "./evaluation/evaluation-options.ts";
export { type PlayOptions, playEpisodes } from "./evaluation/play.ts";
export type { Player, PlayerState } from "./evaluation/player.ts";
export { type ProcessQueueOptions, processQueue } from "./evaluation/process-queue.ts";
export type { EvaluationJob, EvaluationOutcome, EvaluationQueue } from "./evaluation/queue.ts";
export type { ReplayOptions } from "./evaluation/replays.ts";
export { allScores, type SuiteResult, scoresOf } from "./evaluation/scores.ts";
export { lessonSuites, type Suite, type Suites } from "./evaluation/suites.ts";
export { type AdvantageInputs, type Advantages, advantages } from "./experience/advantages.ts";
export type { Experience, ExperienceBuffer, PolicyOutputs } from "./experience/experience.ts";
export { addMoments, type Moments, noMoments, normalize } from "./experience/normalizer.ts";
export {
  annealedBeta,
  type DrawnSegments,
  type PrioritizedSegmentsOptions,
  prioritizedSegments,
} from "./experience/prioritized-segments.ts";
export {
  type ReplayBatch,
  type ReplayBuffer,
  type ReplayBufferOptions,
  type ReplayChoice,
  replayBuffer,
} from "./experience/replay-buffer.ts";
export { type CenterRewardsInputs, centerRewards } from "./experience/reward-centering.ts";
export {
  noRewardScale,
  type RewardScale,
  type ScaleRewardsInputs,
  scaleRewards,
} from "./experience/reward-scaling.ts";
export {
  type AutoUpdateEpochsOptions,
  autoUpdateEpochs,
  type UpdateEpochs,
} from "./experience/update-epochs.ts";
export { type CloningLossOptions, cloningLoss, type Demonstrations } from "./losses/cloning.ts";
export { entropyLoss } from "./losses/entropy.ts";
export { type KickstartLossOptions, kickstartLoss } from "./losses/kickstart.ts";
export type { LossSettings } from "./losses/options.ts";
export {
  type AdvantageNormalization,
  type PolicyGradientLossOptions,
  type PolicyLossOptions,
  policyGradientLoss,
  policyLoss,
} from "./losses/policy.ts";
export { type ActionValues, type TdLossOptions, type TransitionTargets, tdLoss } from "./losses/td.ts";
export { meanOf, normalizedOver } from "./losses/valid.ts";
export { type ValueLossOptions, valueLoss } from "./losses/value.ts";
export type { CompiledEnvironments, OnPolicyOptions } from "./on-policy/options.ts";
export { type OnPolicyTask, onPolicyTask } from "./on-policy/task.ts";
export { buildPolicy, loadPolicy, type PolicySpaces } from "./policies/build.ts";
export { categorical, multiCategorical } from "./policies/distributions/categorical.ts";
export { distributionFor } from "./policies/distributions/for-space.ts";
export { type GaussianOptions, gaussian } from "./policies/distributions/gaussian.ts";
export { squashedGaussian } from "./policies/distributions/squashed-gaussian.ts";
export type { Distribution, Policy, PolicyOutput, PolicyStep } from "./policies/policy.ts";
export type { ActivationName, CnnSpec, MlpSpec, PolicySpec } from "./policies/spec.ts";
export { type A2cOptions, a2c } from "./presets/a2c.ts";
export { type A2cSettings, a2cSettings } from "./presets/a2c-settings.ts";
export type { Agent, AgentEvaluation, AgentScore, AgentTraining } from "./presets/agent.ts";
export { type DqnAgentOptions, type DqnSettings, dqn } from "./presets/dqn.ts";
export { type PpoOptions, ppo } from "./presets/ppo.ts";
export { type PpoSettings, type PresetName, ppoSettings } from "./presets/ppo-settings.ts";
export {
  readReplay,
  replayPath,
  type StoredReplay,
  type WriteReplayOptions,
  writeReplay,
} from "./replays/files.ts";
export { decodeReplay, encodeReplay } from "./replays/format.ts";
export { replayFrames } from "./replays/frames.ts";
export { asGif, type GifOptions } from "./replays/gif.ts";
export { type RecordOptions, recordEpisode } from "./replays/record-episode.ts";
export {
  type EpisodeStart,
  type RecordedAction,
  type ReplayRecorder,
  replayRecorder,
} from "./replays/recorder.ts";
export type { ObservationMarks, Replay, ReplayEnd } from "./replays/replay.ts";
export { type ReplayVerdict, verifyReplay } from "./replays/verify.ts";
export * from "./spaces/index.ts";
export type { FailurePolicy } from "./vector/failure.ts";
export type { ThreadedEnvironmentOptions } from "./vector/threads/threaded-environment.ts";
export { threadedEnvironment } from "./vector/threads/threaded-environment.ts";
export type { EpisodeEnd, VectorEnvironment } from "./vector/vector.ts";
export type { VectorEnvironmentOptions } from "./vector/vector-environment.ts";
export { vectorEnvironment } from "./vector/vector-environment.ts";
export type { RestartingVector, VectorOptions } from "./vector/vector-options.ts";
