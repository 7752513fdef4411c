// The tab "Hooks": the plan with its reasons, the state of each hook, and why it did or did not run.
import { useState } from "preact/hooks";
import type { Hooks, RunDetail, Why } from "../api.ts";
import { isReport, useApi } from "./client.ts";
import { canSteer, controlOf, tell } from "./controls.tsx";
import { apiOf, Button, Field, Loaded, Table, Text, useFresh } from "./elements.tsx";
import { setView, view } from "./view.ts";

export function HooksView({ run }: { readonly run: RunDetail }) {
  const answer = useFresh<Hooks>(run.id, "hooks", "decision");
  const asked = view.value.item;
  const told = controlOf(run)?.hooks ?? {};
  const actions = (name: string, enabled: boolean) => {
    const action = enabled ? "Disable" : "Enable";
    const ask = () => tell(run, { action: enabled ? "disable" : "enable", hook: name });
    const open = asked === name;
    return (
      <span class="buttons">
        {!isReport && (
          <Button
            text={action}
            label={`${action} ${name}`}
            off={!canSteer(run) || !told[name] || told[name].fixed === true}
            title={told[name]?.fixed ? "It answers requests, so it stays enabled." : undefined}
            on={ask}
          />
        )}
        <Button
          text="Why"
          label={`Why ${name} ran or did not`}
          expanded={open}
          on={() => setView({ item: open ? "" : name })}
        />
      </span>
    );
  };
  return (
    <Loaded answer={answer}>
      {({ plan, hooks }) => (
        <>
          <Table
            caption="Hooks"
            rows={hooks.map((hook) => ({ ...hook, enabled: told[hook.name]?.enabled ?? hook.enabled }))}
            empty="Nothing was filed about hooks yet."
            columns={[
              { title: "Hook", cell: ({ name }) => name },
              { title: "State", cell: ({ enabled }) => (enabled ? "enabled" : "disabled") },
              { title: "Actions", cell: ({ name, enabled }) => actions(name, enabled) },
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
function Reasons({ run, hook }: { readonly run: string; readonly hook: string }) {
  const [step, setStep] = useState("");
  const at = /^\d+$/.test(step.trim()) ? `&at=${step.trim()}` : "";
  const answer = useApi<Why>(`${apiOf(run, "why")}?hook=${encodeURIComponent(hook)}${at}`);
  return (
    <section class="panel" aria-label={`Why ${hook} ran or did not`}>
      <div class="toolbar">
        <h3>{`Why ${hook} ran or did not`}</h3>
        <Field label="at step" size={10} inputMode="numeric" placeholder="any" value={step} on={setStep} />
      </div>
      <Loaded answer={answer}>
        {({ lines }) => <Text>{lines.slice(-1000).join("\n") || "No decision was filed."}</Text>}
      </Loaded>
    </section>
  );
}
