// Run by lowering.ts in a fresh process: how long tracing and lowering takes the first time.
import { compile } from "../../src/index.ts";
import { seconds } from "../harness/stopwatch.ts";
import { trainingArguments, trainingStep } from "./transformer.ts";

const args = trainingArguments();
const step = compile(trainingStep, { engine: "xla" });
process.send?.(await seconds(() => step.lower(...args)));
