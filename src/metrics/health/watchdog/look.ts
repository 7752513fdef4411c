import type { Session } from "node:inspector";
import type { Look } from "./report.ts";

/** A look at the main thread, and the way to end the process through it. */
export interface Looked extends Look {
  /** Asks the main thread to exit. Whether it does is another matter. */
  exit(code: number): void;
  /** Lets it go on. */
  release(): void;
}

interface Frame {
  readonly callFrameId: string;
  readonly functionName: string;
  readonly url: string;
  readonly location: {
    readonly scriptId: string;
    readonly lineNumber: number;
    readonly columnNumber?: number;
  };
}

/**
 * Stops the main thread through Node's inspector and reads its stack. That works in the middle of an endless loop and of
 * a blocked `Atomics.wait`; a thread in native code does not answer. Its text runs in the watching thread, so that it
 * uses nothing from outside.
 */
export async function lookAtMain(open: () => Session, patience: number): Promise<Looked> {
  const nobody = (): never => {
    throw new Error("nobody answers");
  };
  const nothing = { stack: [], details: "", exit: nobody, release: () => undefined };
  let session: Session;
  try {
    session = open();
  } catch (cause) {
    return { ...nothing, doing: "unknown", details: String(cause) };
  }
  const release = (): void => session.disconnect();
  const within = <T>(
    milliseconds: number,
    begin: (done: (value: T) => void) => void,
  ): Promise<T | undefined> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), milliseconds);
      begin((value) => {
        clearTimeout(timer);
        resolve(value);
      });
    });
  const urls = new Map<string, string>();
  let paused: (frames: readonly Frame[]) => void = () => undefined;
  let early: readonly Frame[] | undefined;
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  session.on("Debugger.paused", ({ params }) => {
    early = params.callFrames as unknown as readonly Frame[];
    paused(early);
  });
  session.post("Debugger.enable");
  const answered = await within<boolean>(patience, (done) =>
    session.post("Debugger.pause", () => done(true)),
  );
  if (!answered) return { ...nothing, release, doing: "native" };
  // Code that runs stops at once; a thread that waits would stop when it next has something to do.
  const frames = await within<readonly Frame[]>(patience / 4, (done) => {
    paused = done;
    if (early) done(early);
  });
  const first = frames?.[0];
  if (frames && first) {
    const stack = frames.map(({ functionName, url, location }) => {
      const where = url || urls.get(location.scriptId) || "native";
      return `${functionName || "<anonymous>"} (${where}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1})`;
    });
    const exit = (code: number): void => {
      const expression = `globalThis.process.exit(${code})`;
      session.post("Debugger.evaluateOnCallFrame", { callFrameId: first.callFrameId, expression });
    };
    return { doing: "javascript", stack, details: "", exit, release };
  }
  session.post("Debugger.disable");
  const evaluate = (expression: string, done: (value: unknown) => void): void =>
    session.post("Runtime.evaluate", { expression, returnByValue: true }, (_error, given) =>
      done((given as { result?: { value?: unknown } } | undefined)?.result?.value),
    );
  const resources = await within<unknown>(patience, (done) =>
    evaluate('[...new Set(process.getActiveResourcesInfo())].join(", ")', done),
  );
  const exit = (code: number): void => evaluate(`process.exit(${code})`, () => undefined);
  return { doing: "waiting", stack: [], details: String(resources ?? ""), exit, release };
}
