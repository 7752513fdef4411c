/** Learning to act: environments, policies, losses, tasks, evaluation, replays and curricula. */
export type { CompiledEnvironment } from "./compiled/compiled.ts";
export { type CompiledRows, compiledRows, type RowsState, type RowsStep } from "./compiled/rows.ts";
export type { Curriculum, LessonResult } from "./curriculum/curriculum.ts";
export { curriculumHook } from "./curriculum/curriculum-hook.ts";
export { learningProgressCurriculum } from "./curriculum/learning-progress.ts";
export { lessonCurriculum } from "./curriculum/lesson-curriculum.ts";
export { defineEnvironment } from "./environments/define.ts";
export type { Drawing, Environment, Reset, ResetOptions, Shape, Step } from "./environments/environment.ts";
export {
  compiledEnvironment,
  environmentNames,
  hasCompiled,
  makeEnvironment,
  registerEnvironment,
} from "./environments/registry.ts";
export type { EpisodeResult } from "./evaluation/episode.ts";
export { evaluationHook } from "./evaluation/evaluation-hook.ts";
export { type PlayOptions, playEpisodes } from "./evaluation/play.ts";
export type { Player, PlayerState } from "./evaluation/player.ts";
export { type AdvantageInputs, type Advantages, advantages } from "./experience/advantages.ts";
export type { Experience, ExperienceBuffer, PolicyOutputs } from "./experience/experience.ts";
export {
  type AutoUpdateEpochsOptions,
  autoUpdateEpochs,
  type UpdateEpochs,
} from "./experience/update-epochs.ts";
export { cloningLoss } from "./losses/cloning.ts";
export { entropyLoss } from "./losses/entropy.ts";
export { kickstartLoss } from "./losses/kickstart.ts";
export { policyGradientLoss, policyLoss } from "./losses/policy.ts";
export { meanOf } from "./losses/valid.ts";
export { valueLoss } from "./losses/value.ts";
export type { CompiledEnvironments, OnPolicyOptions } from "./on-policy/options.ts";
export { type OnPolicyTask, onPolicyTask } from "./on-policy/task.ts";
export { buildPolicy } from "./policies/build.ts";
export type { Distribution, Policy, PolicyOutput, PolicyStep } from "./policies/policy.ts";
export type { ActivationName, CnnSpec, MlpSpec, PolicySpec } from "./policies/spec.ts";
export type { Agent, AgentEvaluation, AgentScore, AgentTraining } from "./presets/agent.ts";
export { type PpoOptions, ppo } from "./presets/ppo.ts";
export { type PpoSettings, type PresetName, ppoSettings } from "./presets/ppo-settings.ts";
export * from "./spaces/index.ts";
export { threadedEnvironment } from "./vector/threads/threaded-environment.ts";
export type { EpisodeEnd, VectorEnvironment } from "./vector/vector.ts";
export { vectorEnvironment } from "./vector/vector-environment.ts";
