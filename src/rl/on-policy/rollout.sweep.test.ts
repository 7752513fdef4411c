import { describe, expect, it } from "vitest";
import { type EngineName, put, type Tensor } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { every } from "../../schedule/index.ts";
import { firstDifference, hashState, type StateTree } from "../../state/index.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { smallTask, trained, type Where } from "./on-policy.test-support.ts";
import { RolloutBuffer } from "./rollout.ts";

const table = (engine: EngineName, from: number): Tensor =>
  put(
    Float32Array.from({ length: 12 }, (_, i) => from + i),
    { shape: [3, 2, 2], engine },
  );

describe.each(sweepEngines())("the experience of a rollout on %s", (engine) => {
  const made = () => {
    const room = table(engine, 0);
    return new RolloutBuffer({ table: room, memory: {} }, { device: room.device, donated: false });
  };
  const inside = async (experience: RolloutBuffer) => [...(await (experience.sample()[0] as Tensor).read())];

  it("is there from the rollout's end until it is learned from", async () => {
    const experience = made();
    expect(experience.ready).toBe(false);
    expect(() => experience.sample()).toThrow(expect.objectContaining({ code: "BUFFER_NOT_READY" }));
    experience.replace([table(engine, 7)]);
    expect([experience.ready, (await inside(experience))[0]]).toEqual([true, 7]);
    experience.clear();
    expect(experience.ready).toBe(false);
    expect(experience.getState()).toEqual({ rollout: null });
  });

  it("is taken over by another, present or gone", async () => {
    const [one, other] = [made(), made()];
    one.replace([table(engine, 7)]);
    const present = one.getState();
    other.setState(present);
    expect(await inside(other)).toEqual(await inside(one));
    expect(await firstDifference(other.getState(), present)).toBeUndefined();
    one.clear();
    other.setState(one.getState());
    expect(other.ready).toBe(false);
  });

  it("refuses a state of another size and stays as it was", async () => {
    const experience = made();
    experience.replace([table(engine, 7)]);
    const other = { rollout: { table: new Float32Array(3), memory: {} } };
    expect(() => experience.setState(other)).toThrow(expect.objectContaining({ code: "STATE_MISMATCH" }));
    expect((await inside(experience))[0]).toBe(7);
  });

  it.each(["compiled", "ordinary"] as const)(
    "of %s environments is saved between updates and not between epochs",
    async (where: Where) => {
      const found = async (fuse: number | false) => {
        const states: StateTree[] = [];
        const look = async (snapshot: TrainerContext["snapshot"]) => {
          states.push((await snapshot()).components.experience as StateTree);
        };
        const watch: TrainerHook = {
          name: "watch",
          schedule: every({ batches: 6 }),
          onBatchEnd: ({ snapshot }) => look(snapshot),
          onTrainingEnd: ({ snapshot }) => look(snapshot),
        };
        await trained(smallTask(where, engine, { targetKl: 1, vtrace: {} }), { fuse, epochs: 2 }, [watch]);
        return states;
      };
      const [whole, cut] = [await found(3), await found(false)];
      expect(whole[0]).toMatchObject({ rollout: { memory: {} } });
      expect(await hashState(whole[0] as StateTree)).toBe(await hashState(cut[0] as StateTree));
      expect([whole[1], cut[1]]).toEqual([{ rollout: null }, { rollout: null }]);
    },
  );
});
