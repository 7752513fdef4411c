export { type MlflowOptions, mlflowSink } from "./mlflow-sink.ts";
