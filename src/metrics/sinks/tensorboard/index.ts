/** TensorBoard's event files. */
export { type TensorBoardChoice, tensorBoardSink } from "./sink.ts";
