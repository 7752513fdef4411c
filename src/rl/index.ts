/** Learning to act: environments, policies, losses, tasks, evaluation, replays and curricula. */

export {
  type Actor,
  type ActorOptions,
  type LoadActorOptions,
  loadActor,
  type OpenActorOptions,
  openActor,
} from "./acting/actor.ts";
export {
  type Curriculum,
  type CurriculumEvent,
  type CurriculumHookOptions,
  curriculumHook,
  type LessonResult,
} from "./curriculum/curriculum.ts";
export { type LearningProgressOptions, learningProgressCurriculum } from "./curriculum/learning-progress.ts";
export {
  type Lesson,
  type LessonCurriculumOptions,
  lessonCurriculum,
  type PlateauOptions,
} from "./curriculum/lesson-curriculum.ts";
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
export {
  type Definition,
  defineEnvironment,
  type InitialOptions,
  type PerAgent,
  type StepOutcome,
  type TypedEnvironment,
} from "./environments/define.ts";
export type {
  Drawing,
  DrawnShape,
  Environment,
  Reset,
  ResetOptions,
  Step,
} from "./environments/environment.ts";
export { type CompiledGridState, compiledGridWorld } from "./environments/grid/compiled.ts";
export { gridWorld } from "./environments/grid/grid-world.ts";
export { type GridWorldOptions, gridLessons } from "./environments/grid/layout.ts";
export { type EnvironmentRandom, SeededRandom } from "./environments/random.ts";
export {
  compiledEnvironment,
  type EnvironmentEntry,
  type EnvironmentModule,
  type EnvironmentSource,
  environmentNames,
  hasCompiled,
  makeEnvironment,
  registerEnvironment,
} from "./environments/registry.ts";
export { asGif, type GifOptions } from "./environments/rendering/gif.ts";
export {
  asSvg,
  asSvgAnimation,
  type SvgAnimationOptions,
  type SvgOptions,
} from "./environments/rendering/svg.ts";
export { asText, type TextOptions } from "./environments/rendering/text.ts";
export { type FrameStackOptions, frameStack } from "./environments/wrappers/frame-stack.ts";
export {
  type NormalizeOptions,
  type NormalizeRewardsOptions,
  normalizeObservations,
  normalizeRewards,
} from "./environments/wrappers/normalize.ts";
export {
  type ClipOptions,
  clipActions,
  clipObservations,
  clipRewards,
  maskActions,
  timeLimit,
  type Wrapping,
  wrap,
} from "./environments/wrappers/wrap.ts";
export {
  type CheckpointEvaluation,
  type CheckpointEvaluationOptions,
  evaluateCheckpoint,
} from "./evaluation/evaluate-checkpoint.ts";
export {
  type EvaluationEvent,
  type EvaluationHookOptions,
  type EvaluationMode,
  evaluationHook,
} from "./evaluation/evaluation-hook.ts";
export {
  type EpisodeResult,
  type PlayedEpisode,
  type PlayOptions,
  playEpisodes,
  type RecordEpisode,
} from "./evaluation/play.ts";
export type { Player, PlayerState } from "./evaluation/player.ts";
export {
  type EvaluationJob,
  type EvaluationOutcome,
  type EvaluationQueue,
  type ProcessQueueOptions,
  processQueue,
} from "./evaluation/process-queue.ts";
export type { ReplayOptions } from "./evaluation/publish.ts";
export {
  allScores,
  type EvaluateOptions,
  evaluateSuites,
  lessonSuites,
  type Suite,
  type SuiteResult,
  type Suites,
  scoresOf,
} from "./evaluation/suites.ts";
export { type AdvantageInputs, type Advantages, advantages } from "./experience/advantages.ts";
export type { Experience, ExperienceBuffer, PolicyOutputs } from "./experience/experience.ts";
export {
  addMoments,
  type CenterRewardsInputs,
  centerRewards,
  type Moments,
  noMoments,
  noRewardScale,
  normalize,
  type RewardScale,
  type ScaleRewardsInputs,
  scaleRewards,
} from "./experience/normalization.ts";
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
  type ReplaySampleOptions,
  replayBuffer,
} from "./experience/replay-buffer.ts";
export {
  type AutoUpdateEpochsOptions,
  autoUpdateEpochs,
  type UpdateEpochs,
} from "./experience/update-epochs.ts";
export {
  type AdvantageNormalization,
  entropyLoss,
  type PolicyGradientLossOptions,
  type PolicyLossOptions,
  policyGradientLoss,
  policyLoss,
  type ValueLossOptions,
  valueLoss,
} from "./losses/actor-critic.ts";
export {
  type CloningLossOptions,
  cloningLoss,
  type Demonstrations,
  type KickstartLossOptions,
  kickstartLoss,
} from "./losses/imitation.ts";
export { type LossOptions, meanOf, normalizedOver } from "./losses/loss.ts";
export { type ActionValues, type TdLossOptions, type TransitionTargets, tdLoss } from "./losses/td.ts";
export type { CompiledEnvironments, OnPolicyOptions } from "./on-policy/options.ts";
export { type OnPolicyTask, onPolicyTask } from "./on-policy/task.ts";
export { buildPolicy, loadPolicy } from "./policies/build.ts";
export {
  categorical,
  distributionFor,
  type GaussianOptions,
  gaussian,
  multiCategorical,
  squashedGaussian,
} from "./policies/distributions.ts";
export type { Distribution, Policy, PolicyOutput, PolicySpaces, PolicyStep } from "./policies/policy.ts";
export type { ActivationName, CnnSpec, MlpSpec, PolicySpec } from "./policies/spec.ts";
export { type A2cOptions, type A2cSettings, a2c, a2cSettings } from "./presets/a2c.ts";
export type { Agent, AgentEvaluation, AgentScore, AgentTraining } from "./presets/agent.ts";
export { type DqnAgentOptions, type DqnSettings, dqn } from "./presets/dqn.ts";
export { type PpoOptions, type PpoSettings, type PresetName, ppo, ppoSettings } from "./presets/ppo.ts";
export {
  readReplay,
  replayPath,
  type StoredReplay,
  type WriteReplayOptions,
  writeReplay,
} from "./replays/files.ts";
export { decodeReplay, encodeReplay } from "./replays/format.ts";
export { type ReplayVerdict, replayFrames, verifyReplay } from "./replays/playback.ts";
export {
  type EpisodeStart,
  type ObservationMarks,
  type RecordedAction,
  type RecordOptions,
  type Replay,
  type ReplayEnd,
  type ReplayRecorder,
  recordEpisode,
  replayRecorder,
} from "./replays/replay.ts";
export * from "./spaces/index.ts";
export { type CompiledRows, compiledRows, type RowsState, type RowsStep } from "./vector/compiled-rows.ts";
export type { FailurePolicy } from "./vector/failure.ts";
export {
  type ThreadedEnvironmentOptions,
  threadedEnvironment,
} from "./vector/threads/threaded-environment.ts";
export type { EpisodeEnd, RestartingVector, VectorEnvironment, VectorOptions } from "./vector/vector.ts";
export { type VectorEnvironmentOptions, vectorEnvironment } from "./vector/vector-environment.ts";
