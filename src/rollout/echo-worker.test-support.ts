import { characterTokenizer } from "../data/index.ts";
import type { TextLesson } from "../language/index.ts";
import * as nn from "../nn/index.ts";
import type { WorkerStart } from "./processes.ts";
import { textRollouts } from "./text.ts";
import { RolloutWorker } from "./worker.ts";

const tokenizer = characterTokenizer("\nab=");
/** Says the letter again: "b=" is followed by "b". */
const lesson: TextLesson = {
  name: "echo",
  problem: (random) => {
    const letter = random.pick(["a", "b"]);
    return { prompt: `${letter}=`, answer: letter };
  },
};
export const model = nn.transformer({ vocabulary: 4, width: 8, layers: 1, heads: 1, context: 4 });

/** The worker of a process that makes rollouts of text. */
export const worker = ({ name, index, link }: WorkerStart): RolloutWorker =>
  new RolloutWorker({
    name,
    link,
    seed: index,
    generator: textRollouts({
      ...{ model, tokenizer, lessons: [lesson], length: 2, prompts: 4, group: 4, heldOut: 0, engine: "wasm" },
    }),
    defaultHooks: false,
  });
