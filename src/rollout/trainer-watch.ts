/** The trainer of a worker process, and the milliseconds that the worker has to end in without it. */
export interface TrainerWatchData {
  readonly trainer: number;
  readonly patience: number;
}

/**
 * A thread of a worker process: ends it when the trainer is gone, even where the worker is in code that never yields and
 * hears of nothing. It imports nothing of ours, so that it costs little.
 */
export function runThread({ trainer, patience }: TrainerWatchData): void {
  const timer = setInterval(() => {
    if (process.ppid === trainer) return;
    clearInterval(timer);
    setTimeout(() => process.kill(process.pid, "SIGKILL"), patience);
  }, 1000);
}
