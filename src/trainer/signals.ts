const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

type Caught = keyof typeof codes;

export interface SignalHandlers {
  release(): void;
}

/**
 * Catches SIGINT, SIGTERM and SIGHUP until released: the first asks for an end in good order, the second ends the
 * process at once. A SIGHUP is never that second one: a terminal that closes sends it twice, once itself and once
 * through its shell. Nor does what is still written to that terminal end the process.
 */
export function catchSignals(
  first: (signal: Caught, exitCode: number) => unknown,
  second: (signal: Caught) => void,
): SignalHandlers {
  let exitCode: number | undefined;
  const handle = (signal: Caught): void => {
    if (exitCode !== undefined) {
      if (signal === "SIGHUP") return;
      second(signal);
      process.exit(codes[signal]);
    }
    exitCode = codes[signal];
    first(signal, exitCode);
  };
  const signals = Object.keys(codes) as Caught[];
  for (const signal of signals) process.on(signal, handle);
  const screens = [process.stdout, process.stderr]
    .filter(({ isTTY }) => isTTY)
    .map((stream) => ({ stream, passOver: (error: NodeJS.ErrnoException) => passOverClosed(stream, error) }));
  for (const { stream, passOver } of screens) stream.on("error", passOver);
  return {
    release() {
      for (const signal of signals) process.off(signal, handle);
      for (const { stream, passOver } of screens) stream.off("error", passOver);
    },
  };
}

/** A terminal that has closed answers writes with EIO. Other failures are thrown, as where nobody listens. */
function passOverClosed(stream: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  if (error.code !== "EIO" && stream.listenerCount("error") === 1) throw error;
}
