/** A slip somebody could make, and the tests that must notice it. */
export interface Mutation {
  /** `room: what breaks`. */
  readonly name: string;
  /** A piece of code that occurs once in the sources; files may move. White space counts as one space. */
  readonly find: string;
  readonly replace: string;
  /** Test files. Where one has moved, the file of the same name nearest to the old place is meant. */
  readonly tests: readonly string[];
}

export const mutations: readonly Mutation[] = [
  {
    name: "trainer: a limit of updates is passed",
    find: "if (counters.updates >= config.maxUpdates)",
    replace: "if (counters.updates > config.maxUpdates)",
    tests: ["src/trainer/trainer.test.ts"],
  },
  {
    name: "trainer: a fused call runs short of a limit",
    find: "Math.ceil(updates), Math.ceil(samples)",
    replace: "Math.floor(updates), Math.floor(samples)",
    tests: ["src/trainer/fuse.test.ts"],
  },
  {
    name: "trainer: epochs are fused though a hook watches their end",
    find: 'mayBeDue(run, "onEpochEnd", { at: ended, unknown }) || ended.epochs >= config.epochs',
    replace: "ended.epochs >= config.epochs",
    tests: ["src/trainer/fuse.test.ts"],
  },
  {
    name: "trainer: the last reason to end counts",
    find: "#end(outcome: Outcome, reason: string | undefined): void { if (this.asked) return;",
    replace: "#end(outcome: Outcome, reason: string | undefined): void {",
    tests: ["src/trainer/trainer.test.ts", "src/trainer/ending.test.ts"],
  },
  {
    name: "trainer: the last validation is repeated at the end",
    find: "if (since.onValidationEnd && isSameWork(since.onValidationEnd, counters)) return;",
    replace: "",
    tests: ["src/trainer/validation.test.ts"],
  },
  {
    name: "trainer: a non-finite update is taken for its neighbour",
    find: "index >= from && index < from + trainRows(values)",
    replace: "index > from && index <= from + trainRows(values)",
    tests: ["src/supervised/non-finite.test.ts"],
  },
  {
    name: "hooks: priority is turned round",
    find: "priority(a) > priority(b) ||",
    replace: "priority(a) < priority(b) ||",
    tests: ["src/hooks/order.test.ts"],
  },
  {
    name: "hooks: a hook that fails is not disabled",
    find: "entry.enabled = false; this.#parts.changed();",
    replace: "this.#parts.changed();",
    tests: ["src/hooks/runner.test.ts"],
  },
  {
    name: "hooks: a hook is asked one count late",
    find: "top !== undefined && top.at <= now",
    replace: "top !== undefined && top.at < now",
    tests: ["src/hooks/due-index.test.ts"],
  },
  {
    name: "losses: weights do not count",
    find: "const weighted = weight === 1 ? term.loss : np.multiply(term.loss, weight);",
    replace: "const weighted = term.loss;",
    tests: ["src/losses/objective.test.ts"],
  },
  {
    name: "losses: a term that only gives values is added",
    find: "if (!counted.has(loss)) continue;",
    replace: "",
    tests: ["src/losses/objective.test.ts"],
  },
  {
    name: "losses: terms share one key",
    find: "return termKey(loss.name, key);",
    replace: "return key as Value;",
    tests: ["src/losses/objective.test.ts"],
  },
  {
    name: "losses: a schedule with a memory is asked ahead",
    find: "if (schedule.state) return 1;",
    replace: "",
    tests: ["src/losses/activity.test.ts"],
  },
  {
    name: "learner: an update that was left out has a norm",
    find: "applied ? np.where(applied.equal(1), norm, Number.NaN) : norm",
    replace: "norm",
    tests: ["src/supervised/monitor.test.ts", "src/supervised/skipped.test.ts"],
  },
  {
    name: "learner: the last non-finite update is reported, not the first",
    find: "np.where(np.logicalOr(finite, np.greaterEqual(first, 0)), first, index)",
    replace: "np.where(finite, first, index)",
    tests: ["src/supervised/non-finite.test.ts"],
  },
  {
    name: "learner: ramps are not sent again when they change",
    find: "if (this.#last[at] !== numbers[i]) {",
    replace: "if (this.#tensor === undefined) {",
    tests: ["src/update/rates.test.ts"],
  },
  {
    name: "learner: packed parameters overlap",
    find: "const part = np.reshape(np.dynamicSlice(array, [from], [size]), shape); from += size;",
    replace: "const part = np.reshape(np.dynamicSlice(array, [from], [size]), shape); from += 1;",
    tests: ["src/update/tensor-state.test.ts"],
  },
  {
    name: "supervised: accumulated gradients are a sum",
    find: "treeMap((grad: Value) => grad.mul(size / rows), grads)",
    replace: "grads",
    tests: ["src/supervised/task.test.ts"],
  },
  {
    name: "supervised: a smaller batch of validation counts as a full one",
    find: "(sums[name] ?? 0) + (rows[i] as number) * size",
    replace: "(sums[name] ?? 0) + (rows[i] as number) * batchSize",
    tests: ["src/supervised/task.test.ts"],
  },
  {
    name: "data: the last batch is always dropped",
    find: 'lastBatch === "keep" ? length % batchSize : 0',
    replace: "0",
    tests: ["src/data/loader.test.ts"],
  },
  {
    name: "data: every epoch has the same order",
    find: "shuffled(hostRandom.hostFoldIn(this.#key, epoch), this.length)",
    replace: "shuffled(this.#key, this.length)",
    tests: ["src/data/loader.test.ts"],
  },
  {
    name: "rl: nothing follows a truncated episode",
    find: "const goesOn = np.subtract(1, f32(inputs.terminated));",
    replace: "const goesOn = np.subtract(1, f32(inputs.ends));",
    tests: ["src/rl/experience/advantages.test.ts"],
  },
  {
    name: "rl: advantages reach too far",
    find: "np.multiply(np.subtract(1, f32(inputs.ends)), np.multiply(gamma, lambda))",
    replace: "np.multiply(np.subtract(1, f32(inputs.ends)), gamma)",
    tests: ["src/rl/experience/advantages.test.ts"],
  },
  {
    name: "rl: V-trace's ratios are not clipped",
    find: "expected.mul(np.minimum(ratio, rhoBar))",
    replace: "expected.mul(ratio)",
    tests: ["src/rl/experience/advantages.test.ts"],
  },
  {
    name: "rl: PPO's surrogate is not clipped",
    find: "np.minimum(ratio.mul(advantage), clipped.mul(advantage))",
    replace: "ratio.mul(advantage)",
    tests: ["src/rl/losses/fixtures.test.ts"],
  },
  {
    name: "rl: the smaller value loss counts",
    find: "squares = np.maximum(squares,",
    replace: "squares = np.minimum(squares,",
    tests: ["src/rl/losses/fixtures.test.ts"],
  },
  {
    name: "rl: advantages are normalised by the wrong deviation",
    find: "const others = np.maximum(np.sum(valid).sub(1), 1);",
    replace: "const others = np.maximum(np.sum(valid), 1);",
    tests: ["src/rl/losses/fixtures.test.ts"],
  },
  {
    name: "rl: updates beyond targetKl are taken",
    find: "treeMap((a: Value, b: Value) => np.where(taken, a, b), after, before);",
    replace: "after;",
    tests: ["src/rl/on-policy/ppo-epoch.test.ts"],
  },
  {
    name: "rl: V-trace is found again in the middle of an epoch",
    find: "np.where(np.equal(begin, 0), correctAdvantages(setup, now, params), now.table)",
    replace: "correctAdvantages(setup, now, params)",
    tests: ["src/rl/on-policy/exact.test.ts"],
  },
  {
    name: "rl: update epochs share one order",
    find: "const own = random.foldIn(random.foldIn(key, index), epoch);",
    replace: "const own = random.foldIn(key, index);",
    tests: ["src/rl/on-policy/learn.test.ts", "src/rl/on-policy/ppo-epoch.test.ts"],
  },
  {
    name: "rl: a truncated environment goes on",
    find: "if (terminated[i * this.#agents] || truncated[i * this.#agents]) this.reset(i);",
    replace: "if (terminated[i * this.#agents]) this.reset(i);",
    tests: ["src/rl/vector/vector-environment.test.ts"],
  },
  {
    name: "rl: an environment is restarted for ever",
    find: "if (error && count >= maxFailures) throw failsAgain(error);",
    replace: "",
    tests: ["src/rl/vector/failures.test.ts"],
  },
  {
    name: "rl: a step that failed does not end the episode",
    find: "resets[row] = 0; truncated[row] = 1;",
    replace: "resets[row] = 0;",
    tests: ["src/rl/vector/failures.test.ts"],
  },
  {
    name: "rl: masks allow everything",
    find: "into[at + k] = mask[k] ? 1 : 0;",
    replace: "into[at + k] = 1;",
    tests: ["src/rl/vector/row-writer.test.ts"],
  },
  {
    name: "rl: the means of batches do not count in the variance",
    find: ".add(np.square(delta).mul(share.mul(np.subtract(1, share))))",
    replace: "",
    tests: ["src/rl/experience/running.test.ts"],
  },
  {
    name: "rl: what was earned outlasts the episode",
    find: ".mul(np.take(continues, time - 1, { axis: 0 }))",
    replace: "",
    tests: ["src/rl/experience/running.test.ts"],
  },
  {
    name: "checkpoint: files may lack their names after a loss of power",
    find: "await fs.syncDirectory(from); await fs.rename(from, to);",
    replace: "await fs.rename(from, to);",
    tests: ["src/checkpoint/manager/crash.test.ts"],
  },
  {
    name: "checkpoint: a checkpoint is removed in parts",
    find: "const out = temporary(name); await fs.rename(path(name), out);",
    replace: "const out = path(name);",
    tests: ["src/checkpoint/manager/crash.test.ts"],
  },
  {
    name: "checkpoint: altered files are read",
    find: "if ((await file.hash()) !== record.sha256) throw this.#altered(component);",
    replace: "",
    tests: ["src/checkpoint/manager/faults.test.ts"],
  },
  {
    name: "checkpoint: the lock of another machine is taken over",
    find: "if (running === true || (running === undefined && !takeOver))",
    replace: "if (running === true)",
    tests: ["src/checkpoint/store/local-store.test.ts", "src/checkpoint/faults.test.ts"],
  },
  {
    name: "checkpoint: of equal scores the older is kept",
    find: ".reverse() // of equals the newer first",
    replace: "",
    tests: ["src/checkpoint/manager/retention.test.ts"],
  },
  {
    name: "checkpoint: NaN is a score",
    find: ".filter(({ value }) => !Number.isNaN(value))",
    replace: "",
    tests: ["src/checkpoint/manager/retention.test.ts"],
  },
  {
    name: "checkpoint: other settings are no difference",
    find: "if (!allow.includes(what)) problems.push(...found);",
    replace: "if (!allow.includes(what)) void found;",
    tests: ["src/checkpoint/manager/manager.test.ts"],
  },
  {
    name: "metrics: a window ends within its step",
    find: "if (counters.steps === now.steps) {",
    replace: "if (counters === now) {",
    tests: ["src/metrics/logger/logger.test.ts"],
  },
  {
    name: "metrics: a late value is filed in the next window",
    find: "this.flushedAt !== undefined && counters.steps <= this.flushedAt.steps",
    replace: "false",
    tests: ["src/metrics/logger/logger.test.ts"],
  },
  {
    name: "metrics: a sink that fails is called again at once",
    find: "first * 2 ** Math.min(this.failures - 1, 50)",
    replace: "first",
    tests: ["src/metrics/sinks/delivery/delivery.test.ts"],
  },
  {
    name: "metrics: spilled values come twice after a resume",
    find: "else if (!isInherited || !comesAgain(record, filedUpTo(this.#options.run))) records.push(record);",
    replace: "else records.push(record);",
    tests: ["src/metrics/sinks/delivery/delivery.spill.test.ts"],
  },
  {
    name: "metrics: a refused record takes its batch with it",
    find: "if (this.#queue.split()) return;",
    replace: "",
    tests: ["src/metrics/sinks/delivery/delivery.test.ts"],
  },
  {
    name: "metrics: TensorBoard's buckets are shifted",
    find: "out.doubles(histogram.limits, value.edges.slice(1));",
    replace: "out.doubles(histogram.limits, value.edges.slice(0, -1));",
    tests: ["src/metrics/sinks/tensorboard/events.test.ts"],
  },
  {
    name: "metrics: a run takes over another one's id",
    find: 'if (!resumedAt && known.outcome !== "running") throw runExists(id, known.outcome);',
    replace: "",
    tests: ["src/metrics/store/runs.test.ts"],
  },
  {
    name: "metrics: a resumed run leaves what it files again",
    find: "await removeAfter(tables, known.number, resumedAt, run.filedUpTo ?? resumedAt);",
    replace: "",
    tests: ["src/metrics/store/metrics.test.ts", "src/metrics/store/runs.test.ts"],
  },
  {
    name: "schedule: every fires at its own start",
    find: "return last > (since === undefined ? now - 1 : countOf(since, unit));",
    replace: "return last >= (since === undefined ? now - 1 : countOf(since, unit));",
    tests: ["src/schedule/every.test.ts"],
  },
  {
    name: "schedule: a ramp is one count late",
    find: "at: (counters) => shape(from, to, count(counters) / length),",
    replace: "at: (counters) => shape(from, to, (count(counters) - 1) / length),",
    tests: ["src/schedule/linear.test.ts"],
  },
  {
    name: "cli: a kill at an epoch's end is taken for one in the next",
    find: "course.epochStarts.findLastIndex((start) => start < at)",
    replace: "course.epochStarts.findLastIndex((start) => start <= at)",
    tests: ["src/cli/prove-resume/plan.test.ts"],
  },
  {
    name: "cli: sizes are told in the wrong unit",
    find: "bytes / 1000 ** power",
    replace: "bytes / 1024 ** power",
    tests: ["src/core/text.test.ts"],
  },
];
