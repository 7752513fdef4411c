import { checkSize, checkWord } from "../../core/index.ts";
import {
  type Check,
  checkAbove,
  checkFlag,
  checkFromZero,
  checkShare,
  orRamp,
} from "../on-policy/check-numbers.ts";
import { checkUpdateEpochs } from "../on-policy/check-parts.ts";

/** What settings of the same name may be, in every agent that has them. */
const checks: Readonly<Record<string, Check>> = {
  ...{ totalSteps: checkSize, environments: checkSize, rolloutSteps: checkSize, minibatches: checkSize },
  ...{ learningRate: orRamp(checkAbove), annealRate: checkFlag, annealClip: checkFlag },
  ...{ gamma: checkShare, lambda: checkShare, clip: orRamp(checkAbove), maxNorm: checkAbove },
  ...{ valueWeight: orRamp(checkFromZero), entropyWeight: orRamp(checkFromZero) },
  ...{ adamEpsilon: checkFromZero, epsilon: checkFromZero, decay: checkShare },
  ...{ normalizeObservations: checkFlag, normalizeRewards: checkFlag },
  updateEpochs: (kind, _name, given) => checkUpdateEpochs(kind, given),
  valueClip: (kind, name, given) => {
    if (typeof given === "string") checkWord(kind, name, given, ["none"]);
    else orRamp(checkAbove)(kind, name, given);
  },
};

/** Refuses settings that make no sense, when an agent is made. Gives them back. */
export function checkedSettings<S extends object>(kind: string, settings: S): S {
  for (const [name, given] of Object.entries(settings)) checks[name]?.(kind, name, given);
  return settings;
}
