// Tokens through `espalier/language`; the model alone comes from `espalier`.
import assert from "node:assert/strict";
import { nn, spec } from "espalier";
import { generate } from "espalier/language";

const model = nn.transformer({ vocabulary: 8, width: 16, layers: 1, heads: 2, context: 16 });
const params = model.init(0, spec([1, 4], "i32"));
const [a, b] = await generate(model, params, [[1, 2, 3], [4]], { length: 6, seed: 1 });
assert.equal(a?.tokens.length, 6);
assert.equal(b?.tokens.length, 6);
console.log(`espalier/language: ${a?.tokens.join(" ")}`);
