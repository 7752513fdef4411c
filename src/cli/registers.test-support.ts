import { makeDrift } from "../rl/evaluation/evaluation.test-support.ts";
import { registerEnvironment } from "../rl/index.ts";
import { isWorkerProcess } from "../rollout/index.ts";

// A module of a run, as users write them: it registers an environment, and trains where it is the program itself.
registerEnvironment("Registered-v0", { make: makeDrift });
if (!isWorkerProcess()) throw new Error("this would train");
