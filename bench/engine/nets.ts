/** Widths of an MLP's layers, input first, and the rows of a batch. */
export interface Net {
  readonly sizes: readonly number[];
  readonly batch: number;
}

export const smallestNet: Net = { sizes: [4, 64, 64, 2], batch: 64 };

export const nets: readonly Net[] = [
  smallestNet,
  { sizes: [4, 64, 64, 2], batch: 2048 },
  { sizes: [64, 256, 256, 16], batch: 256 },
  { sizes: [64, 256, 256, 16], batch: 2048 },
];

export const gpuNets: readonly Net[] = [...nets, { sizes: [1024, 4096, 4096, 1024], batch: 4096 }];

export const netName = ({ sizes, batch }: Net): string => `${sizes.join("-")}, batch ${batch}`;
