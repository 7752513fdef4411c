import type { Device, EngineChoice, Tensor } from "../../engine/index.ts";
import type { MonitorOptions, RateInputs } from "../../learner/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Optimizer } from "../../optim/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { Curriculum } from "../curriculum/curriculum.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { UpdateEpochs } from "../experience/update-epochs.ts";
import type { Policy } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/** Environments that run inside the program. */
export interface CompiledEnvironments {
  readonly compiled: CompiledEnvironment;
  readonly count: number;
}

/** What a task that learns from its own latest experience is made of. */
export interface OnPolicyOptions {
  readonly environment: VectorEnvironment | CompiledEnvironments;
  /** Default: two separate towers of 64 and 64, tanh. */
  readonly policy?: Policy | PolicySpec;
  readonly losses: readonly Loss<Experience, PolicyOutputs>[];
  readonly optimizer: Optimizer;
  /** Steps that every row takes before it is learned from. */
  readonly rolloutSteps: number;
  /** How often experience is gone through; a number, or `autoUpdateEpochs({ ... })`. Default 1. */
  readonly updateEpochs?: number | UpdateEpochs;
  /** Into how many parts it is cut each time. Default 1. */
  readonly minibatches?: number;
  /** How much what comes later counts. Default 0.99 and 0.95. */
  readonly gamma?: number;
  readonly lambda?: number;
  /** Observations are normalised by their running mean and variance, rewards by that of returns. Default neither. */
  readonly normalize?: { readonly observations?: boolean; readonly rewards?: boolean };
  /** Advantages are normalised over the whole rollout, before losses see them. Default false. */
  readonly normalizeAdvantages?: boolean;
  /** Rewards count as what they are above their running mean, which moves at this rate (1e-3 for true). Default false. */
  readonly centerRewards?: boolean | number;
  /** Updates that would come after this divergence are left out until the next rollout. Default none. */
  readonly targetKl?: number;
  /** Advantages are found again before each update epoch, in V-trace form. Default not. */
  readonly vtrace?: { readonly rhoBar?: number; readonly cBar?: number };
  /** Steps that stay together when experience is shuffled. Default 1, and all steps for policies that remember. */
  readonly segment?: number;
  /** Segments come more often the larger their advantages are. Default each once. */
  readonly prioritized?: { readonly alpha?: number; readonly beta?: number | Ramp };
  /** Which lessons come: for environments that have some. Default: the one that `lesson` names. */
  readonly curriculum?: Curriculum;
  /** The lesson of every episode, by name or index. Default: the first, with a warning where there are several. */
  readonly lesson?: string | number;
  readonly learningRate?: Ramp | number;
  /** Others of the optimizer's rates. */
  readonly rates?: RateInputs;
  /** What is reported of every update beside its losses and metrics. */
  readonly monitor?: MonitorOptions;
  /** Parameters to start with, instead of those the policy draws. */
  readonly params?: Params<Tensor>;
  /** Where everything random comes from; the trainer's seed unless told. */
  readonly seed?: number;
  /** The most epochs in one call, for compiled environments. Default 32. */
  readonly maxEpochs?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  readonly deterministic?: boolean;
}
