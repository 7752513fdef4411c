import { EspalierError } from "./error.ts";
import { answerCalls } from "./thread-calls.ts";

/** The work of a thread of thread-calls.test.ts. */
export function runThread(): void {
  answerCalls(
    async (what: unknown) => {
      if (what === "refuse")
        throw new EspalierError("REFUSED", "this was refused", { fix: "ask for another" });
      if (what === "hang") await new Promise(() => undefined);
      if (what === "exit") process.exit(3);
      if (what === "memory") return new Uint8Array(4).buffer;
      return [what];
    },
    (answer) => (answer instanceof ArrayBuffer ? [answer] : []),
  );
}
