// The tab "Checkpoints": what was saved, what lies in it, whether it is whole, and what is never deleted.
import { useState } from "preact/hooks";
import type { CheckpointDetail, CheckpointSummary, RunDetail, Verified } from "../api.ts";
import { isReport, send, session, useApi } from "./client.ts";
import { apiOf, Button, Loaded, Table, useFresh } from "./elements.tsx";
import { formatBytes, formatNumber, formatTime } from "./format.ts";
import { setView, view } from "./view.ts";

export function CheckpointsView({ run }: { readonly run: RunDetail }) {
  const answer = useFresh<readonly CheckpointSummary[]>(run.id, "checkpoints", "checkpoint");
  const chosen = view.value.item;
  const [verdicts, setVerdicts] = useState<Readonly<Record<string, string>>>({});
  const verify = async (name: string) => {
    setVerdicts((before) => ({ ...before, [name]: "being read…" }));
    const found = await send<Verified>("POST", apiOf(run.id, "checkpoints", name, "verify"), {});
    const said = found?.whole ? "whole" : found?.problem || "not verified";
    setVerdicts((before) => ({ ...before, [name]: said }));
  };
  const protect = async (name: string, on: boolean) => {
    await send("POST", apiOf(run.id, "checkpoints", name, "protect"), { protected: on });
    answer.reload();
  };
  const off = session.value?.control !== true;
  const actions = ({ name, protected: kept }: CheckpointSummary) => {
    const open = chosen === name;
    const keep = kept ? "Protected" : "Protect";
    const inspect = () => setView({ item: open ? "" : name });
    return (
      <span class="buttons">
        <Button text="Inspect" aria-label={`Inspect ${name}`} aria-expanded={open} on={inspect} />
        {!isReport && (
          <>
            <Button text="Verify" aria-label={`Verify ${name}`} disabled={off} on={() => verify(name)} />
            <Button
              text={keep}
              aria-label={`${keep} ${name}`}
              disabled={off}
              aria-pressed={kept}
              on={() => protect(name, !kept)}
            />
          </>
        )}
        <span aria-live="polite">{verdicts[name]}</span>
      </span>
    );
  };
  return (
    <>
      {off && !isReport && (
        <p class="note">Verifying and protecting need the address with the token that was printed.</p>
      )}
      <Loaded answer={answer}>
        {(rows) => (
          <>
            <Table
              caption="Checkpoints"
              rows={rows}
              empty="No checkpoint is here."
              columns={[
                { title: "Name", cell: ({ name }) => name },
                { title: "Step", number: true, cell: ({ step }) => formatNumber(step) },
                { title: "Saved", cell: ({ at }) => formatTime(at) },
                { title: "Size", number: true, cell: ({ bytes }) => formatBytes(bytes) },
                { title: "Scores", cell: ({ metrics }) => <span class="break">{scoresText(metrics)}</span> },
                { title: "Actions", cell: actions },
              ]}
            />
            {chosen !== "" && <Inside run={run.id} name={chosen} />}
          </>
        )}
      </Loaded>
    </>
  );
}

type Numbers = Readonly<Record<string, number>>;

/** A few of the scores. */
const scoresText = (metrics: Numbers): string => {
  const scores = Object.entries(metrics).filter(([key]) => /^(evaluation|validation|rollout)\//.test(key));
  return numbersText(Object.fromEntries(scores.slice(0, 4)));
};

const numbersText = (numbers: Numbers): string =>
  Object.entries(numbers)
    .map(([name, value]) => `${name} ${formatNumber(value)}`)
    .join(", ");

/** Counters and components of a checkpoint; tensors and values of each component unfold. */
function Inside({ run, name }: { readonly run: string; readonly name: string }) {
  const answer = useApi<CheckpointDetail>(apiOf(run, "checkpoints", name));
  return (
    <section class="panel" aria-label={`Inside ${name}`}>
      <h3>{name}</h3>
      <Loaded answer={answer}>
        {({ counters, metrics, components }) => (
          <>
            <p>{numbersText(counters)}</p>
            <p class="note">{numbersText(metrics)}</p>
            {components.map((component) => (
              <details key={component.name}>
                <summary>
                  {component.name}, {formatBytes(component.bytes)}, {component.tensors.length} tensors
                </summary>
                <p class="note">sha256 {component.sha256}</p>
                <Table
                  caption={`Contents of ${component.name}`}
                  rows={contentsOf(component)}
                  columns={[
                    { title: "Path", cell: ([path]) => path },
                    { title: "Is", cell: ([, what]) => <span class="break">{what}</span> },
                  ]}
                />
              </details>
            ))}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Tensors with type and shape, then values. */
const contentsOf = ({ tensors, values }: CheckpointDetail["components"][number]) => [
  ...tensors.map(({ path, dtype, shape }) => [path, `${dtype} [${shape.join(", ")}]`] as const),
  ...values,
];
