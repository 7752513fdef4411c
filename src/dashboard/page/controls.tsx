// Buttons and forms that tell a run what to do, and what it answered. Nothing changes on the page before the run has
// confirmed it.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { hex } from "../../core/index.ts";
import type { ControlAction } from "../../metrics/index.ts";
import type { ControlRecord, ControlRequest, ControlState, RunDetail } from "../api.ts";
import { apiOf, isReport, send, session } from "./client.ts";
import { AskingButton, Button, Field } from "./elements.tsx";
import { formatNumber } from "./format.ts";

/** Requests of this page, newest first. */
const sent = signal<readonly { readonly run: string; readonly request: ControlRequest }[]>([]);

/** Who asks, as it is stored with every intervention. */
const nameKey = "espalier-name";
const storedName = (): string => localStorage.getItem(nameKey) || "dashboard";

/** Sends a request in the name that was given last. It is shown as waiting until the run answers. */
export async function tell({ id: run }: RunDetail, action: ControlAction): Promise<void> {
  const id = hex(crypto.getRandomValues(new Uint8Array(8)));
  const request: ControlRequest = { ...action, id, who: storedName(), at: Date.now() };
  sent.value = [{ run, request }, ...sent.peek()].slice(0, 20);
  const accepted = await send("POST", apiOf(run, "control"), request);
  // The reason is shown by `send`.
  if (accepted === undefined) sent.value = sent.peek().filter((one) => one.request.id !== request.id);
}

/** True where requests to the run can be sent, and something listens. */
export const canSteer = (run: RunDetail): boolean => whyNot(run) === undefined;

/** True of a run that has not ended, as far as is known. */
const isOn = ({ state, control }: RunDetail): boolean =>
  control?.state !== "ended" && (state === "running" || state === "paused");

function whyNot(run: RunDetail): string | undefined {
  const more = run.hasDirectory ? `To go on from its newest checkpoint: espalier resume ${run.id}` : "";
  if (run.state === "lost") return `The process of this run is gone. ${more}`;
  if (!isOn(run)) return run.state === "completed" ? "This run has ended." : `This run has ended. ${more}`;
  if (!run.control) return "This run cannot be steered: it has said nothing of what it can be told.";
  if (session.value?.control === true) return undefined;
  return "To steer this run, open the address with the token that `espalier dashboard` printed when it started.";
}

/** Everything that a run can be told, and its answers. */
export function Controls({ run }: { readonly run: RunDetail }) {
  if (isReport) return null;
  const { control: state, answers } = run;
  const why = whyNot(run);
  const shown = sent.value.filter((one) => one.run === run.id).slice(0, 5);
  return (
    <section class="panel" aria-label="Controls">
      {why && <p class="note">{why}</p>}
      {state && isOn(run) && <Requests run={run} state={state} off={why !== undefined} />}
      <ul aria-live="polite" aria-label="Answers of the run">
        {shown.map(({ request }) => {
          const answer = answers.find((one) => one.request.id === request.id);
          return (
            <li key={request.id} class={answer?.outcome ?? "waiting"}>
              {requestText(request)}: {answerText(answer, !isOn(run))}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface RequestsProps {
  readonly run: RunDetail;
  readonly state: ControlState;
  readonly off: boolean;
}

function Requests({ run, state: { state, checkpoints, evaluations, ramps }, off }: RequestsProps) {
  const request = (text: string, action: ControlAction, can = true) => (
    <Button
      text={text}
      disabled={off || !can}
      title={can ? undefined : "The run has no hook for this."}
      on={() => tell(run, action)}
    />
  );
  const named = (event: { readonly currentTarget: HTMLInputElement }) =>
    localStorage.setItem(nameKey, event.currentTarget.value.trim());
  return (
    <>
      <div class="toolbar">
        {state === "paused" ? request("Resume", { action: "resume" }) : request("Pause", { action: "pause" })}
        {request("Checkpoint now", { action: "checkpoint" }, checkpoints.length > 0)}
        {request("Evaluate now", { action: "evaluate" }, evaluations.length > 0)}
        <AskingButton
          text="Stop…"
          disabled={off}
          title="Stop this run? It ends after this batch, as at its end."
          action="Stop"
          onAnswer={() => tell(run, { action: "stop" })}
        />
        <Field
          label="Your name"
          size={12}
          maxLength={100}
          disabled={off}
          defaultValue={storedName()}
          onChange={named}
        />
      </div>
      {Object.keys(ramps).length > 0 && (
        <details open={matchMedia("(min-width: 50rem)").matches}>
          <summary>Scheduled numbers</summary>
          {Object.entries(ramps).map(([ramp, now]) => (
            <RampForm key={ramp} run={run} ramp={ramp} {...now} off={off} />
          ))}
        </details>
      )}
    </>
  );
}

type RampProps = ControlState["ramps"][string] & Omit<RequestsProps, "state"> & { readonly ramp: string };

/** The value of a ramp now, one to set it to, and a button that gives it back to its schedule. */
function RampForm({ run, ramp, value, set, off }: RampProps) {
  const [text, setText] = useState("");
  const number = text.trim() === "" ? Number.NaN : Number(text);
  const change = (to: number | null) => tell(run, { action: "set", ramp, value: to });
  const submit = (event: Event) => {
    event.preventDefault();
    if (Number.isFinite(number)) void change(number);
    setText("");
  };
  return (
    <form class="toolbar" onSubmit={submit} aria-label={ramp}>
      <Field
        label={`${ramp} ${formatNumber(value)} ${set === null ? "by its schedule" : "set by hand"}`}
        size={10}
        inputMode="decimal"
        placeholder="new value"
        disabled={off}
        value={text}
        on={setText}
      />
      <button type="submit" disabled={off || !Number.isFinite(number)}>
        Set
      </button>
      <Button text="Release" disabled={off || set === null} on={() => change(null)} />
    </form>
  );
}

/** A request in words: "set learningRate to 0.001". */
function requestText(request: ControlAction): string {
  if (request.action === "set" && request.value === null) return `release ${request.ramp}`;
  if (request.action === "set") return `set ${request.ramp} to ${String(request.value)}`;
  return "hook" in request ? `${request.action} ${request.hook}` : request.action;
}

function answerText(record: ControlRecord | undefined, late: boolean): string {
  if (!record) return late ? "the run ended without an answer" : "waiting for the run";
  const { outcome, counters, message } = record;
  const said = outcome === "refused" ? "refused" : `applied at batch ${formatNumber(counters.batches)}`;
  return message === "" ? said : `${said}: ${message}`;
}
