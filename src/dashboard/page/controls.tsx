// Buttons and forms that tell a run what to do. Nothing changes on the page before the run has confirmed it.
import { useId, useState } from "preact/hooks";
import type { ControlAction } from "../../metrics/index.ts";
import type { RunDetail } from "../api.ts";
import { isReport, session } from "./client.ts";
import { formatNumber } from "./format.ts";
import { controlOf, requestText, type Sent, sent, steer } from "./steering.ts";
import { Button } from "./table.tsx";

/** Who asks, as it is stored with every intervention. */
const nameKey = "espalier-name";
const storedName = (): string => localStorage.getItem(nameKey) || "dashboard";

/** True where requests to the run can be sent, and something listens. */
export const canSteer = (run: RunDetail): boolean => {
  const state = controlOf(run);
  return session.value?.control === true && state !== undefined && state.state !== "ended";
};

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
      {state && state.state !== "ended" && (
        <>
          <div class="toolbar">
            {state.state === "paused" ? (
              <Button off={off} on={() => tell(run, { action: "resume" })}>
                Resume
              </Button>
            ) : (
              <Button off={off} on={() => tell(run, { action: "pause" })}>
                Pause
              </Button>
            )}
            <StopButton run={run} off={off} />
            <Button
              off={off || state.checkpoints.length === 0}
              title={state.checkpoints.length === 0 ? "The run has no checkpoint hook." : undefined}
              on={() => tell(run, { action: "checkpoint" })}
            >
              Checkpoint now
            </Button>
            <Button
              off={off || state.evaluations.length === 0}
              title={state.evaluations.length === 0 ? "The run has no evaluation hook." : undefined}
              on={() => tell(run, { action: "evaluate" })}
            >
              Evaluate now
            </Button>
            <NameField off={off} />
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
      <Answers run={run.id} />
    </section>
  );
}

function whyNot(run: RunDetail): string | undefined {
  const state = controlOf(run);
  if (!state)
    return "This run cannot be steered: nothing listens. It has ended, or it was started without control.";
  if (state.state === "ended") return "This run has ended.";
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
      <span>
        Stop this run? It ends as after its last batch, with a checkpoint if it has a hook for that.
      </span>
      <button type="button" class="danger" disabled={off} onClick={() => answer(true)} ref={focus}>
        Stop
      </button>
      <Button on={() => answer(false)}>Keep running</Button>
    </span>
  );
}

const focus = (element: HTMLElement | null): void => element?.focus();

function NameField({ off }: { off: boolean }) {
  const id = useId();
  return (
    <label for={id}>
      Your name
      <input
        id={id}
        size={12}
        maxLength={100}
        disabled={off}
        defaultValue={storedName()}
        onChange={(event) => localStorage.setItem(nameKey, event.currentTarget.value.trim())}
      />
    </label>
  );
}

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
function Answers({ run }: { run: string }) {
  const own = sent.value.filter((one) => one.run === run).slice(0, 5);
  return (
    <ul class="answers" aria-live="polite" aria-label="Answers of the run">
      {own.map((one) => (
        <li key={one.request.id} class={one.record?.outcome ?? "waiting"}>
          {requestText(one.request)}: {answerText(one)}
        </li>
      ))}
    </ul>
  );
}

function answerText({ record }: Sent): string {
  if (!record) return "waiting for the run";
  const message = record.message === "" ? "" : `: ${record.message}`;
  return record.outcome === "refused"
    ? `refused${message}`
    : `applied at batch ${formatNumber(record.counters.batches)}${message}`;
}
