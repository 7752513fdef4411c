// The tab "Sweep": trials by their result.
import { useEffect } from "preact/hooks";
import type { RunDetail, Sweep } from "../api.ts";
import { onLive, useApi } from "./client.ts";
import { Button, Loaded, Table } from "./elements.tsx";
import { formatNumber } from "./format.ts";
import { setView } from "./view.ts";

export function SweepView({ run }: { readonly run: RunDetail }) {
  const answer = useApi<readonly Sweep[]>("/api/sweeps");
  const sweep = answer.data?.find(({ id }) => id === run.sweep);
  useEffect(
    () =>
      onLive("runs", ({ changed }) => {
        const known = new Map(sweep?.trials.map((trial) => [trial.run, trial.state]));
        if (changed.some((one) => one.sweep === run.sweep && known.get(one.id) !== one.state))
          answer.reload();
      }),
    [sweep, run.sweep],
  );
  return (
    <Loaded answer={answer}>
      {() => (sweep ? <Trials sweep={sweep} run={run.id} /> : <p class="note">{run.sweep} is not here.</p>)}
    </Loaded>
  );
}

interface TrialsProps {
  /** Smaller results are better where the server does not say. */
  readonly sweep: Sweep;
  readonly run: string;
}

function Trials({ sweep: { id, metric, parameters, trials, direction }, run }: TrialsProps) {
  // Trials without a result come last.
  const cost = ({ result }: Sweep["trials"][number]) =>
    result === null ? Number.POSITIVE_INFINITY : direction === "maximize" ? -result : result;
  const link = (trial: string) => <Button class="link" text={trial} on={() => setView({ run: trial })} />;
  return (
    <Table
      caption={`Trials of ${id}, the best first`}
      rows={[...trials].sort((a, b) => (cost(a) === cost(b) ? 0 : cost(a) - cost(b)))}
      columns={[
        { title: "Trial", cell: (trial) => (trial.run === run ? <b>{run}</b> : link(trial.run)) },
        { title: "State", cell: ({ state }) => state },
        { title: metric, number: true, cell: ({ result }) => formatNumber(result ?? undefined) },
        ...parameters.map((name) => ({
          title: name,
          number: true,
          cell: ({ values }: Sweep["trials"][number]) => shortened(values[name] ?? ""),
        })),
      ]}
    />
  );
}

/** A long number in few digits; words as they are. */
const shortened = (value: string): string =>
  value.length > 8 && Number.isFinite(Number(value)) ? formatNumber(Number(value)) : value;
