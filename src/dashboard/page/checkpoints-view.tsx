// The tab "Checkpoints": what was saved, what lies in it, whether it is whole, and what is never deleted.
import { useState } from "preact/hooks";
import type { CheckpointDetail, CheckpointSummary, RunDetail, Verified } from "../api.ts";
import { isReport, send, session, useApi } from "./client.ts";
import { formatBytes, formatNumber, formatTime } from "./format.ts";
import { apiOf, Button, Loaded, Table, useFresh } from "./table.tsx";
import { setView, view } from "./view.ts";

export function CheckpointsView({ run }: { run: RunDetail }) {
  const answer = useFresh<readonly CheckpointSummary[]>(run.id, "checkpoints", "checkpoint");
  const chosen = view.value.item;
  const [verdicts, setVerdicts] = useState<Readonly<Record<string, string>>>({});
  const verify = async (name: string) => {
    setVerdicts((before) => ({ ...before, [name]: "being read…" }));
    const found = await send<Verified>("POST", apiOf(run.id, "checkpoints", name, "verify"), {});
    const said = found?.whole ? "whole" : (found?.problem ?? "not verified");
    setVerdicts((before) => ({ ...before, [name]: said }));
  };
  const protect = async (name: string, on: boolean) => {
    await send("POST", apiOf(run.id, "checkpoints", name, "protect"), { protected: on });
    answer.reload();
  };
  const off = session.value?.control !== true;
  return (
    <>
      {off && !isReport && (
        <p class="note">
          Verifying and protecting need the address with the token that `espalier dashboard` printed.
        </p>
      )}
      <Loaded answer={answer}>
        {(rows) => (
          <>
            <Table
              caption="Checkpoints"
              rows={rows}
              keyOf={({ name }) => name}
              empty="No checkpoint is here."
              columns={[
                { title: "Name", cell: ({ name }) => name },
                { title: "Step", number: true, cell: ({ step }) => formatNumber(step) },
                { title: "Saved", cell: ({ at }) => formatTime(at) },
                { title: "Size", number: true, cell: ({ bytes }) => formatBytes(bytes) },
                {
                  title: "Metrics",
                  cell: ({ metrics }) => <span class="break">{numbersText(foremost(metrics))}</span>,
                },
                {
                  title: "Actions",
                  cell: ({ name, protected: kept }) => (
                    <span class="buttons">
                      <Button
                        expanded={chosen === name}
                        label={`Inspect ${name}`}
                        on={() => setView({ item: chosen === name ? "" : name })}
                      >
                        Inspect
                      </Button>
                      {!isReport && (
                        <>
                          <Button off={off} label={`Verify ${name}`} on={() => verify(name)}>
                            Verify
                          </Button>
                          <Button
                            off={off}
                            pressed={kept}
                            label={`${kept ? "Protected" : "Protect"} ${name}`}
                            on={() => protect(name, !kept)}
                          >
                            {kept ? "Protected" : "Protect"}
                          </Button>
                        </>
                      )}
                      <span aria-live="polite">{verdicts[name]}</span>
                    </span>
                  ),
                },
              ]}
            />
            {chosen !== "" && <Inside path={apiOf(run.id, "checkpoints", chosen)} name={chosen} />}
          </>
        )}
      </Loaded>
    </>
  );
}

/** A few metrics, scores first. */
function foremost(metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const rank = (key: string) =>
    ["evaluation/", "validation/", "rollout/", ""].findIndex((own) => key.startsWith(own));
  const sorted = Object.entries(metrics).sort(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(sorted.slice(0, 4));
}

const numbersText = (numbers: Readonly<Record<string, number>>): string =>
  Object.entries(numbers)
    .map(([name, value]) => `${name} ${formatNumber(value)}`)
    .join(", ");

/** Counters and components of a checkpoint; tensors and values of each component unfold. */
function Inside({ path, name }: { path: string; name: string }) {
  const answer = useApi<CheckpointDetail>(path);
  return (
    <section class="panel" aria-label={`Inside ${name}`}>
      <h3>{name}</h3>
      <Loaded answer={answer}>
        {({ counters, metrics, components }) => (
          <>
            <p>{numbersText(counters)}</p>
            {Object.keys(metrics).length > 0 && <p class="note">{numbersText(metrics)}</p>}
            {components.map((component) => (
              <details key={component.name}>
                <summary>
                  {component.name}, {formatBytes(component.bytes)}, {component.tensors.length} tensors
                </summary>
                <p class="note break">sha256 {component.sha256}</p>
                <Table
                  caption={`Contents of ${component.name}`}
                  rows={contentsOf(component)}
                  keyOf={([path]) => path}
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
  ...Object.entries(values),
];
