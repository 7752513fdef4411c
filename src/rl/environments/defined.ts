import { badOption, EspalierError, shown } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Space, SpaceValue } from "../spaces/space.ts";
import { copyState } from "./copy-state.ts";
import type { Definition } from "./definition.ts";
import type { Drawing, Environment, Reset, ResetOptions, Step } from "./environment.ts";
import { type Exchange, exchangeOf } from "./exchange.ts";
import { inPlace, isPromise } from "./given.ts";
import { SeededRandom } from "./random.ts";

type Values = SpaceValue | readonly SpaceValue[];

const outcomeFix = "let step give { state, reward, terminated }: the state after it, new or changed";

/** What a definition describes, with a state, random numbers and a time. */
export class DefinedEnvironment implements Environment {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly agents?: number;
  readonly lessons?: readonly string[];
  readonly render?: () => Drawing;
  readonly #definition: Definition<unknown>;
  readonly #exchange: Exchange;
  readonly #random = new SeededRandom(0);
  readonly #limit: number;
  #state: unknown = null;
  #phase: "unborn" | "going" | "over" = "unborn";
  #steps = 0;

  constructor(definition: Definition<unknown>) {
    this.name = definition.name;
    this.observationSpace = definition.observation;
    this.actionSpace = definition.action;
    if (definition.agents !== undefined) this.agents = definition.agents;
    if (definition.lessons) this.lessons = definition.lessons;
    if (definition.draw) this.render = () => this.#draw();
    this.#definition = definition;
    this.#exchange = exchangeOf(definition);
    this.#limit = definition.timeLimit ?? Number.POSITIVE_INFINITY;
  }

  reset({ seed, lesson = 0 }: ResetOptions = {}): Reset<Values> {
    const lessons = this.lessons?.length ?? 1;
    if (!Number.isInteger(lesson) || lesson < 0 || lesson >= lessons)
      throw badOption(
        this.name,
        `there is no lesson ${shown(lesson)}`,
        this.lessons
          ? `its lessons are 0 to ${lessons - 1}: ${this.lessons.join(", ")}`
          : "it has no lessons",
      );
    if (seed !== undefined) this.#random.seed(seed);
    const state = this.#definition.initial(this.#random, { lesson });
    if (isPromise(state))
      throw this.#invalid(`initial gave ${inPlace(state)}`, "let initial give the state itself");
    this.#state = state;
    this.#steps = 0;
    this.#phase = "going";
    const observation = this.#exchange.see(this.#definition.observe(this.#state));
    const actionMask = this.#mask();
    return actionMask ? { observation, actionMask } : { observation };
  }

  step(action: Values): Step<Values, number | readonly number[]> {
    if (this.#phase !== "going") throw this.#notGoing();
    const outcome = this.#definition.step(this.#state, this.#exchange.act(action) as never, this.#random);
    if (outcome?.state === undefined) this.#checkOutcome(outcome);
    const { state, terminated, info } = outcome;
    const reward = this.#exchange.pay(outcome.reward);
    if (typeof terminated !== "boolean")
      throw this.#invalid(
        `terminated is ${shown(terminated)}`,
        "let step say with true or false whether the episode is over",
      );
    this.#state = state;
    this.#steps++;
    const truncated = outcome.truncated === true || this.#steps >= this.#limit;
    if (terminated || truncated) this.#phase = "over";
    const observation = this.#exchange.see(this.#definition.observe(state));
    const actionMask = this.#mask();
    if (!actionMask && !info) return { observation, reward, terminated, truncated };
    return {
      observation,
      reward,
      terminated,
      truncated,
      ...(info && { info }),
      ...(actionMask && { actionMask }),
    };
  }

  getState(): StateTree {
    return {
      phase: this.#phase,
      steps: this.#steps,
      random: this.#random.getState(),
      state: copyState(this.#state, this.name),
    };
  }

  setState(state: StateTree): void {
    const given = state as { readonly [key: string]: StateTree | undefined } | null;
    const { phase, steps } = given ?? {};
    const isPhase = phase === "unborn" || phase === "going" || phase === "over";
    if (!isPhase || typeof steps !== "number" || given?.state === undefined)
      throw new EspalierError("STATE_INVALID", `this is not a state of ${this.name}`, {
        fix: "pass what getState() of the same environment gave",
      });
    this.#random.setState(given.random);
    this.#state = copyState(given.state, this.name);
    this.#phase = phase;
    this.#steps = steps;
  }

  #mask(): Uint8Array | undefined {
    const { actionMask } = this.#definition;
    return actionMask && this.#exchange.mask(this.#definition.actionMask?.(this.#state) as Uint8Array);
  }

  #draw(): Drawing {
    if (this.#phase === "unborn") throw this.#notGoing();
    return this.#definition.draw?.(this.#state) as Drawing;
  }

  #notGoing(): EspalierError {
    const what = this.#phase === "over" ? "the episode is over" : "no episode has begun";
    return new EspalierError("ENVIRONMENT_NOT_RESET", `${this.name}: ${what}`, { fix: "call reset() first" });
  }

  /** Refuses an outcome without a state, unless there never was one. */
  #checkOutcome(outcome: unknown): void {
    const kind = inPlace(outcome);
    if (kind === "an object" && this.#state === undefined) return;
    throw this.#invalid(`step gave ${kind === "an object" ? "no state" : kind}`, outcomeFix);
  }

  #invalid(what: string, fix: string): EspalierError {
    return new EspalierError("ENVIRONMENT_INVALID", `${this.name}: ${what}`, { fix });
  }
}
