/** Where a command prints. */
export interface Output {
  readonly isTTY: boolean;
  /** Of the terminal; undefined elsewhere. */
  readonly columns: number | undefined;
  /** Resolves when there is room for more. */
  write(text: string | Uint8Array): Promise<void>;
  /** Aborted when whoever read it has gone, as `head` does: then there is nobody left to work for. */
  readonly gone: AbortSignal;
}

/** Prints to a stream such as `process.stdout`. A reader that goes away is no failure. */
export function outputTo(stream: NodeJS.WriteStream): Output {
  const gone = new AbortController();
  let failure: Error | undefined;
  const noted = (error: NodeJS.ErrnoException): void => {
    if (error.code !== "EPIPE") failure ??= error;
    gone.abort();
  };
  stream.on("error", noted);
  return {
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    gone: gone.signal,
    write: (text) =>
      new Promise((resolve, reject) => {
        // The stream tells of a failure here first, and of one between two calls by its event.
        const settle = (error?: Error | null): void => {
          if (error) noted(error);
          if (failure) reject(failure);
          else resolve();
        };
        if (gone.signal.aborted) settle();
        else stream.write(text, settle);
      }),
  };
}
