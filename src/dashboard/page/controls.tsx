// Buttons and forms that tell a run what to do. Nothing changes on the page before the run has confirmed it.
import { useId, useState } from "preact/hooks";
import type { ControlAction } from "../../metrics/index.ts";
import type { ControlState, RunDetail } from "../api.ts";
import { isReport, session } from "./client.ts";
import { formatNumber } from "./format.ts";
import { controlOf, requestText, type Sent, sent, steer } from "./steering.ts";
import { Button } from "./table.tsx";

/** Who asks, as it is stored with every intervention. */
const nameKey = "espalier-name";
const storedName = (): string => localStorage.getItem(nameKey) || "dashboard";

/** True where requests to the run can be sent, and something listens. */
export const canSteer = (run: RunDetail): boolean => whyNot(run) === undefined;

/** Sends a request in the name that was given last. */
export const tell = (run: RunDetail, action: ControlAction): void => void steer(run.id, action, storedName());

/** Everything that a run can be told, and its answers. */
export function Controls({ run }: { run: RunDetail }) {
  if (isReport) return null;
  const state = controlOf(run);
  const why = whyNot(run);
  const off = why !== undefined;
  return (
    <section class="controls" aria-label="Controls">
      {why && <p class="note">{why}</p>}
      {state && why !== ended && (
        <>
          <div class="toolbar">
            {requestsOf(state).map(([text, action, can]) => (
              <Button
                key={text}
                off={off || !can}
                title={can ? undefined : "The run has no hook for this."}
                on={() => tell(run, action)}
              >
                {text}
              </Button>
            ))}
            <StopButton run={run} off={off} />
            <label>
              Your name{" "}
              <input
                size={12}
                maxLength={100}
                disabled={off}
                defaultValue={storedName()}
                onChange={(event) => localStorage.setItem(nameKey, event.currentTarget.value.trim())}
              />
            </label>
          </div>
          {Object.keys(state.ramps).length > 0 && (
            <details open={matchMedia("(min-width: 50rem)").matches}>
              <summary>Scheduled numbers</summary>
              {Object.entries(state.ramps).map(([ramp, { value, set }]) => (
                <RampForm key={ramp} run={run} ramp={ramp} value={value} set={set} off={off} />
              ))}
            </details>
          )}
        </>
      )}
      <Answers run={run} />
    </section>
  );
}

const ended = "This run has ended.";

/** Buttons: their text, what they tell, and whether the run can do it. */
function requestsOf({ state, checkpoints, evaluations }: ControlState) {
  const paused = state === "paused";
  return [
    [paused ? "Resume" : "Pause", { action: paused ? "resume" : "pause" }, true],
    ["Checkpoint now", { action: "checkpoint" }, checkpoints.length > 0],
    ["Evaluate now", { action: "evaluate" }, evaluations.length > 0],
  ] as const;
}

function whyNot(run: RunDetail): string | undefined {
  const state = controlOf(run);
  if (state?.state === "ended" || (run.state !== "running" && run.state !== "paused")) return ended;
  if (!state) return "This run cannot be steered: it has said nothing of what it can be told.";
  if (session.value?.control === true) return undefined;
  return "To steer this run, open the address with the token that `espalier dashboard` printed when it started.";
}

/** Asks before it stops the run. */
function StopButton({ run, off }: { run: RunDetail; off: boolean }) {
  const [asking, setAsking] = useState(false);
  if (!asking)
    return (
      <Button off={off} on={() => setAsking(true)}>
        Stop…
      </Button>
    );
  const answer = (stop: boolean) => {
    setAsking(false);
    if (stop) tell(run, { action: "stop" });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot stand in this row.
    <span class="confirm" role="group" aria-label="Stop this run?">
      Stop this run? It ends after this batch, as at its end.
      <button type="button" class="danger" disabled={off} onClick={() => answer(true)} ref={focus}>
        Stop
      </button>
      <Button on={() => answer(false)}>Keep running</Button>
    </span>
  );
}

const focus = (element: HTMLElement | null): void => element?.focus();

interface RampProps {
  readonly run: RunDetail;
  readonly ramp: string;
  readonly value: number;
  readonly set: number | null;
  readonly off: boolean;
}

/** The value of a ramp now, one to set it to, and a button that gives it back to its schedule. */
function RampForm({ run, ramp, value, set, off }: RampProps) {
  const [text, setText] = useState("");
  const id = useId();
  const number = text.trim() === "" ? Number.NaN : Number(text);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!Number.isFinite(number)) return;
    tell(run, { action: "set", ramp, value: number });
    setText("");
  };
  return (
    <form class="toolbar" onSubmit={submit} aria-label={ramp}>
      <label for={id}>
        <b>{ramp}</b> {formatNumber(value)}
        {set === null ? " by its schedule" : " set by hand"}
      </label>
      <input
        id={id}
        size={10}
        inputMode="decimal"
        placeholder="new value"
        disabled={off}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" disabled={off || !Number.isFinite(number)}>
        Set
      </button>
      <Button off={off || set === null} on={() => tell(run, { action: "set", ramp, value: null })}>
        Release
      </Button>
    </form>
  );
}

/** Requests of this page and what became of them, read out as they change. */
function Answers({ run }: { run: RunDetail }) {
  const own = sent.value.filter((one) => one.run === run.id).slice(0, 5);
  return (
    <ul class="answers" aria-live="polite" aria-label="Answers of the run">
      {own.map((one) => (
        <li key={one.request.id} class={one.record?.outcome ?? "waiting"}>
          {requestText(one.request)}: {answerText(one, controlOf(run)?.state === "ended")}
        </li>
      ))}
    </ul>
  );
}

function answerText({ record }: Sent, late: boolean): string {
  if (!record) return late ? "the run ended without an answer" : "waiting for the run";
  const message = record.message === "" ? "" : `: ${record.message}`;
  return record.outcome === "refused"
    ? `refused${message}`
    : `applied at batch ${formatNumber(record.counters.batches)}${message}`;
}
