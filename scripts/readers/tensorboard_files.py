"""What TensorBoard's own readers find in directories of event files, as JSON. Made with tensorboard 2.21.0.

    python scripts/readers/tensorboard_files.py [--fast] DIRECTORY...    prints a list of what each holds, as one line
    python scripts/readers/tensorboard_files.py                          does the same for each line of input: a JSON
                                                                         list of such arguments

For each directory, by the names of TensorBoard's runs in it (`.` is the directory itself):

    accumulator   EventAccumulator, which programs read files with
    loader        what the dashboards get with --load_fast=false
    fast          what the dashboards get otherwise, from the data server; null without --fast, or where the server is
                  not installed
    sessions      the hyperparameters' dashboard: parameters, status, names of metrics

Numbers that JSON does not have are texts: "NaN", "Infinity", "-Infinity".
"""

import dataclasses
import json
import logging
import math
import os
import sys
import time

from tensorboard import context
from tensorboard.backend.event_processing import data_provider, event_accumulator, io_wrapper
from tensorboard.backend.event_processing import plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, plugin_data_pb2
from tensorboard.util import tensor_util

logging.disable(logging.WARNING)
everything = {"scalars": 0, "histograms": 0, "text": 0}


def number(value):
    value = float(value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def texts(tensor):
    return [item.decode() for item in tensor.reshape(-1)]


def accumulated(directory):
    found = event_accumulator.EventAccumulator(
        directory, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0}
    ).Reload()
    tags = found.Tags()
    return {
        "scalars": {
            tag: [[e.step, e.wall_time, number(e.value)] for e in found.Scalars(tag)] for tag in tags["scalars"]
        },
        "histograms": {
            tag: [
                [e.step, dataclasses.asdict(e.histogram_value)]
                for e in found.Histograms(tag)
            ]
            for tag in tags["histograms"]
        },
        "texts": {
            tag: [[e.step, *texts(tensor_util.make_ndarray(e.tensor_proto))] for e in found.Tensors(tag)]
            for tag in found.PluginTagToContent("text")
        }
        if "text" in found._plugin_to_tag_to_content
        else {},
    }


def provided(provider):
    request = {"ctx": context.RequestContext(), "experiment_id": ""}
    read = {**request, "downsample": 10**9}
    runs = {}

    def put(kind, by_run, convert):
        for run, tags in by_run.items():
            for tag, data in tags.items():
                kinds = runs.setdefault(run, {"scalars": {}, "histograms": {}, "texts": {}})
                kinds[kind][tag] = [convert(item) for item in data]

    put("scalars", provider.read_scalars(plugin_name="scalars", **read), lambda d: [d.step, d.wall_time, number(d.value)])
    put("histograms", provider.read_tensors(plugin_name="histograms", **read), lambda d: [d.step, d.numpy.tolist()])
    put("texts", provider.read_tensors(plugin_name="text", **read), lambda d: [d.step, *texts(d.numpy)])
    descriptions = {
        run: {tag: series.description for tag, series in tags.items() if series.description}
        for run, tags in provider.list_scalars(plugin_name="scalars", **request).items()
    }
    for run, found in runs.items():
        found["descriptions"] = descriptions.get(run, {})
    return runs


def runs_of(directory):
    return sorted(
        os.path.relpath(folder, directory)
        for folder, _, files in os.walk(directory)
        if any(io_wrapper.IsSummaryEventsFile(file) for file in files)
    )


def fast(directory):
    try:
        from tensorboard.data import server_ingester
        from tensorboard.util import grpc_util

        binary = server_ingester.get_server_binary()
    except (ImportError, RuntimeError):
        return None
    server = server_ingester.SubprocessServerDataIngester(
        binary,
        directory,
        reload_interval=0,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin=everything,
    )
    server.start()
    # It reads while it answers: what it says twice, of all runs, is all.
    before = None
    for _ in range(100):
        now = provided(server.data_provider)
        if now == before and set(now) >= {run for run in runs_of(directory)}:
            break
        before = now
        time.sleep(0.2)
    return now


def sessions(provider):
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = (context.RequestContext(), "")
    metadata = backend.hparams_metadata(*request)
    found = {}
    for run, tags in metadata.items():
        of = found.setdefault(run, {"parameters": {}, "status": None})
        for content in tags.values():
            data = plugin_data_pb2.HParamsPluginData.FromString(content)
            if data.HasField("session_start_info"):
                for name, value in data.session_start_info.hparams.items():
                    of["parameters"][name] = getattr(value, value.WhichOneof("kind"))
            if data.HasField("session_end_info"):
                of["status"] = api_pb2.Status.Name(data.session_end_info.status)
    infos = backend.experiment_from_metadata(
        *request, include_metrics=True, hparams_run_to_tag_to_content=metadata, data_provider_hparams=[]
    ).metric_infos
    metrics = sorted("/".join(filter(None, [info.name.group, info.name.tag])) for info in infos)
    return {run: {**session, "metrics": metrics} for run, session in found.items()}


def read(directory, with_fast):
    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance=everything)
    multiplexer.AddRunsFromDirectory(directory)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, directory)
    return {
        "accumulator": {run: accumulated(os.path.join(directory, run)) for run in runs_of(directory)},
        "loader": provided(provider),
        "fast": fast(directory) if with_fast else None,
        "sessions": sessions(provider),
    }


def answer(arguments):
    directories = [argument for argument in arguments if argument != "--fast"]
    found = [read(directory, "--fast" in arguments) for directory in directories]
    print(json.dumps(found, allow_nan=False), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        answer(sys.argv[1:])
    else:
        for line in sys.stdin:
            try:
                answer(json.loads(line))
            except Exception as error:
                print(json.dumps({"error": repr(error)}), flush=True)
