import { EspalierError } from "../../../core/index.ts";
import type { RunInfo } from "../../run-info.ts";
import { type MlflowApi, MlflowError } from "./api.ts";
import { paramsOf } from "./params.ts";

/** Params of one request. */
const MOST_PARAMS = 100;
/** The tag by which a run is found again. */
const TAG = "espalier.run";

/** What is used of MLflow's answers. */
interface Experiment {
  readonly experiment?: { readonly experiment_id: string; readonly lifecycle_stage?: string };
}
interface Run {
  readonly info: { readonly run_id: string };
  readonly data?: { readonly params?: readonly { readonly key: string }[] };
}

/** The id of the experiment of this name, which is made where there is none. */
async function experimentOf(api: MlflowApi, name: string): Promise<string> {
  const get = async (): Promise<Experiment> =>
    (await api.get("experiments/get-by-name", { experiment_name: name })) as Experiment;
  const found = await get().catch(async (error: unknown) => {
    if (!isError(error, "RESOURCE_DOES_NOT_EXIST")) throw error;
    const made = (await api.post("experiments/create", { name }).catch((raced: unknown) => {
      // Another run made it meanwhile.
      if (!isError(raced, "RESOURCE_ALREADY_EXISTS")) throw raced;
      return undefined;
    })) as { readonly experiment_id: string } | undefined;
    return made ? { experiment: made } : get();
  });
  const experiment: Experiment["experiment"] = found.experiment;
  if (experiment?.lifecycle_stage === "deleted" || experiment === undefined)
    throw new EspalierError("SINK_UNUSABLE", `MLflow at ${api.url}: the experiment "${name}" is deleted`, {
      fix: "restore it there, or choose another name",
    });
  return experiment.experiment_id;
}

const isError = (error: unknown, code: string): boolean =>
  error instanceof MlflowError && error.errorCode === code;

/** The run of an experiment that is this one: found by its tag, or made. Its id. */
export async function openRun(
  api: MlflowApi,
  choice: { readonly experiment: string; readonly runName?: string | undefined },
  run: RunInfo,
): Promise<string> {
  const experiment_id = await experimentOf(api, choice.experiment);
  // Always looked for first: it may have been made by a call whose answer was lost.
  const found = (await api.post("runs/search", {
    experiment_ids: [experiment_id],
    filter: `tags.\`${TAG}\` = '${run.id.replaceAll("'", "_")}'`,
    max_results: 1,
  })) as { readonly runs?: readonly Run[] };
  const existing = found.runs?.[0];
  const id = existing?.info.run_id ?? (await makeRun(api, experiment_id, choice.runName ?? run.name, run));
  if (existing) await api.post("runs/update", { run_id: id, status: "RUNNING" });
  // What is set cannot be changed, also not by a run that was resumed with other settings.
  const known = new Set(existing?.data?.params?.map(({ key }) => key));
  const params = paramsOf(run.config).filter(({ key }) => !known.has(key));
  for (let at = 0; at < params.length; at += MOST_PARAMS)
    await api.post("runs/log-batch", { run_id: id, params: params.slice(at, at + MOST_PARAMS) });
  return id;
}

async function makeRun(api: MlflowApi, experiment_id: string, name: string, run: RunInfo): Promise<string> {
  const made = (await api.post("runs/create", {
    experiment_id,
    run_name: name,
    start_time: Math.round(run.startedAt),
    tags: [
      { key: TAG, value: run.id.replaceAll("'", "_") },
      { key: "mlflow.runName", value: name },
    ],
  })) as { readonly run: Run };
  return made.run.info.run_id;
}
