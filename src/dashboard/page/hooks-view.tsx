// The tab "Hooks": the plan with its reasons, each hook's state and timings, and why it did or did not run.
import { useId, useState } from "preact/hooks";
import type { Hooks, RunDetail, Why } from "../api.ts";
import { isReport, useApi } from "./client.ts";
import { canSteer, tell } from "./controls.tsx";
import { formatNumber } from "./format.ts";
import { controlOf } from "./steering.ts";
import { apiOf, Button, Loaded, Table, Text, useFresh } from "./table.tsx";
import { setView, view } from "./view.ts";

export function HooksView({ run }: { run: RunDetail }) {
  const answer = useFresh<Hooks>(run.id, "hooks", "decision");
  const asked = view.value.item;
  const told = controlOf(run)?.hooks ?? {};
  const enabled = (hook: Hooks["hooks"][number]): boolean => told[hook.name]?.enabled ?? hook.enabled;
  return (
    <Loaded answer={answer}>
      {({ plan, hooks }) => (
        <>
          <Table
            caption="Hooks"
            rows={hooks}
            keyOf={({ name }) => name}
            empty="Nothing was filed about hooks yet."
            columns={[
              { title: "Hook", cell: ({ name }) => name },
              { title: "State", cell: (hook) => (enabled(hook) ? "enabled" : "disabled") },
              { title: "Calls", number: true, cell: ({ count }) => formatNumber(count) },
              { title: "Mean ms", number: true, cell: ({ mean }) => formatNumber(mean) },
              { title: "Total ms", number: true, cell: ({ total }) => formatNumber(total) },
              {
                title: "Actions",
                cell: (hook) => (
                  <span class="buttons">
                    {!isReport && (
                      <Button
                        off={!canSteer(run) || told[hook.name] === undefined}
                        label={`${enabled(hook) ? "Disable" : "Enable"} ${hook.name}`}
                        on={() =>
                          tell(run, { action: enabled(hook) ? "disable" : "enable", hook: hook.name })
                        }
                      >
                        {enabled(hook) ? "Disable" : "Enable"}
                      </Button>
                    )}
                    <Button
                      expanded={asked === hook.name}
                      label={`Why ${hook.name} ran or did not`}
                      on={() => setView({ item: asked === hook.name ? "" : hook.name })}
                    >
                      Why
                    </Button>
                  </span>
                ),
              },
            ]}
          />
          {asked !== "" && <Reasons run={run.id} hook={asked} />}
          <h3>Plan</h3>
          <Text>{plan ?? "The plan lies in the run's directory, which is not here."}</Text>
        </>
      )}
    </Loaded>
  );
}

/** The decisions about a hook, all of them or those at a step. */
function Reasons({ run, hook }: { run: string; hook: string }) {
  const [step, setStep] = useState("");
  const id = useId();
  const at = /^\d+$/.test(step.trim()) ? `&at=${step.trim()}` : "";
  const answer = useApi<Why>(`${apiOf(run, "why")}?hook=${encodeURIComponent(hook)}${at}`);
  return (
    <section class="panel" aria-label={`Why ${hook} ran or did not`}>
      <div class="toolbar">
        <h3>{`Why ${hook} ran or did not`}</h3>
        <label for={id}>at step</label>
        <input
          id={id}
          size={10}
          inputMode="numeric"
          placeholder="any"
          value={step}
          onInput={(event) => setStep(event.currentTarget.value)}
        />
      </div>
      <Loaded answer={answer}>
        {({ lines }) =>
          lines.length === 0 ? (
            <p class="note">No decision was filed.</p>
          ) : (
            <Text>{lines.slice(-1000).join("\n")}</Text>
          )
        }
      </Loaded>
    </section>
  );
}
