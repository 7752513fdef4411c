"""JAX's side of bench/parts.ts and bench/supervised/conv.ts: training steps with AdamW, waiting for the loss."""

import jax
import jax.numpy as jnp

import jax_transformer
from protocol import numbers, serve

LEARNING_RATE, BETA1, BETA2, EPSILON, DECAY = 3e-4, 0.9, 0.999, 1e-8, 0.01


def adamw(loss_of, params, x, y):
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    state = (params, zeros(), zeros(), jnp.float32(0))
    donate = () if jax.default_backend() == "cpu" else (0,)

    def step(state, x, y):
        params, m, v, t = state
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        t = t + 1
        m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, grads)
        v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, grads)
        c1, c2 = 1 - BETA1**t, 1 - BETA2**t

        def update(p, m, v):
            return p - LEARNING_RATE * ((m / c1) / (jnp.sqrt(v / c2) + EPSILON) + DECAY * p)

        return (jax.tree.map(update, params, m, v), m, v, t), loss

    compiled = jax.jit(step, donate_argnums=donate)

    def run(steps):
        nonlocal state
        for _ in range(steps):
            state, loss = compiled(state, x, y)
            float(loss)

    run(2)
    return run, None


def lstm(width, layers, length, batch):
    def layer(i):
        return {
            "wx": jnp.asarray(numbers(2 * i, (width, 4 * width), width**-0.5)),
            "wh": jnp.asarray(numbers(2 * i + 1, (width, 4 * width), width**-0.5)),
            "b": jnp.zeros(4 * width),
        }

    def loss_of(params, xs, ys):
        h = jnp.swapaxes(xs, 0, 1)
        for p in params:
            projected = h @ p["wx"] + p["b"]

            def cell(carry, z, p=p):
                h, c = carry
                i, f, g, o = jnp.split(z + h @ p["wh"], 4, axis=1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            zeros = jnp.zeros((batch, width))
            _, h = jax.lax.scan(cell, (zeros, zeros), projected)
        return jnp.mean(jnp.square(jnp.swapaxes(h, 0, 1) - ys))

    shape = (batch, length, width)
    return adamw(loss_of, [layer(i) for i in range(layers)], jnp.asarray(numbers(0, shape)), jnp.asarray(numbers(1, shape)))


def transformer(layers, width, heads, context, batch, vocabulary):
    params = jax_transformer.parameters(layers, width, context, vocabulary)
    # Weights that differ, so that nothing is denormal or constant.
    leaves, tree = jax.tree.flatten(params)
    drawn = [
        leaf if leaf.ndim == 1 else jnp.asarray(numbers(i, leaf.shape, 0.05)) for i, leaf in enumerate(leaves)
    ]
    params = jax.tree.unflatten(tree, drawn)
    tokens = (jnp.arange(batch * context, dtype=jnp.int32) * 31 % vocabulary).reshape(batch, context)
    return adamw(lambda p, x, y: jax_transformer.loss_of(p, x, y, heads), params, tokens, tokens)


def conv(size, channels, dense, classes, batch):
    widths = [1, *channels]
    left = size
    for _ in channels:
        left = (left - 2) // 2
    features = left * left * channels[-1]
    params = {
        "conv": [
            {"w": jnp.asarray(numbers(i, (3, 3, m, n), (9 * m) ** -0.5)), "b": jnp.zeros(n)}
            for i, (m, n) in enumerate(zip(widths, widths[1:]))
        ],
        "dense": [
            {"w": jnp.asarray(numbers(8 + i, (m, n), m**-0.5)), "b": jnp.zeros(n)}
            for i, (m, n) in enumerate([(features, dense), (dense, classes)])
        ],
    }

    def loss_of(params, x, y):
        for p in params["conv"]:
            x = jax.lax.conv_general_dilated(x, p["w"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + p["b"])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        first, last = params["dense"]
        x = jax.nn.relu(x.reshape(batch, -1) @ first["w"] + first["b"])
        logits = jax.nn.log_softmax(x @ last["w"] + last["b"])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], axis=1))

    x = jnp.asarray(numbers(0, (batch, size, size, 1)))
    return adamw(loss_of, params, x, jnp.arange(batch) % classes)


serve(
    lambda: f"{jax.__version__} on {jax.devices()[0].device_kind}",
    {"lstm": lstm, "transformer": transformer, "conv": conv},
)
