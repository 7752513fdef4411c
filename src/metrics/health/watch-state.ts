import type { Stateful } from "../../state/index.ts";
import type { RowWatch } from "./row-watch.ts";

/**
 * The state of what judges rows: as of all rows there are, those included that are still on the device. Where they show
 * that the run is to halt, there is no state to save: the error comes instead.
 */
export const watchState = (watch: RowWatch, record: Stateful): Stateful => ({
  getState: async () => {
    await watch.settle();
    return record.getState();
  },
  setState: (state) => {
    watch.clear();
    return record.setState(state);
  },
});
