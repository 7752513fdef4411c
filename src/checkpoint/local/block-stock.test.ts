import { describe, expect, it } from "vitest";
import { BlockStock } from "./block-stock.ts";

const make = async (): Promise<Uint8Array> => new Uint8Array(new SharedArrayBuffer(4));

describe("a stock of blocks", () => {
  it("lends so many, and more only when one has come back", async () => {
    const stock = new BlockStock(2, make);
    const [a, b] = [await stock.lend(), await stock.lend()];
    expect(a.buffer).not.toBe(b.buffer);
    const third = stock.lend();
    let came = false;
    void third.then(() => {
      came = true;
    });
    await Promise.resolve();
    expect(came).toBe(false);
    stock.takeBack(a.buffer);
    expect(await third).toBe(a);
  });

  it("lends what came back while nobody waited", async () => {
    const stock = new BlockStock(1, make);
    const block = await stock.lend();
    stock.takeBack(block.buffer);
    stock.takeBack(block.buffer);
    expect(await stock.lend()).toBe(block);
    const next = stock.lend();
    stock.fail(new Error("no space"));
    await expect(next).rejects.toThrow("no space");
  });

  it("does not take what it did not lend", async () => {
    const stock = new BlockStock(1, make);
    const block = await stock.lend();
    const next = stock.lend();
    stock.takeBack(new ArrayBuffer(8));
    stock.takeBack(block.buffer);
    expect(await next).toBe(block);
  });

  it("makes few for those who take few, and tells of memory that could not be made", async () => {
    let made = 0;
    const stock = new BlockStock(16, async () => {
      if (++made > 4) throw new Error("no memory");
      return make();
    });
    await stock.lend();
    expect(made).toBe(1);
    for (let i = 0; i < 3; i++) await stock.lend();
    expect(made).toBe(4);
    await expect(stock.lend()).rejects.toThrow("no memory");
  });
});
