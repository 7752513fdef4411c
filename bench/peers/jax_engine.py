"""JAX's side of bench/engine.ts and bench/engine-gpu.ts."""

from functools import partial

import jax
import jax.numpy as jnp

import jax_transformer
from protocol import mlp_batch, mlp_numbers, numbers, serve

LEARNING_RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def loss_of(params, x, y):
    *hidden, (w, b) = params
    for wh, bh in hidden:
        x = jnp.tanh(x @ wh + bh)
    return jnp.mean(jnp.square(x @ w + b - y))


def adam_step(params, state, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, x, y)
    m, v, t = state
    t = t + 1
    m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, grads)
    v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, grads)
    c1, c2 = 1 - BETA1**t, 1 - BETA2**t
    params = jax.tree.map(
        lambda p, m, v: p - LEARNING_RATE * (m / c1) / (jnp.sqrt(v / c2) + EPSILON), params, m, v
    )
    return params, (m, v, t), loss


def start(sizes, batch):
    params = jax.tree.map(jnp.asarray, mlp_numbers(sizes))
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = (zeros, jax.tree.map(jnp.zeros_like, params), jnp.float32(0))
    x, y = map(jnp.asarray, mlp_batch(sizes, batch))
    return params, state, x, y


def adam(sizes, batch):
    """One Adam step of an MLP, waiting for the loss."""
    params, state, x, y = start(sizes, batch)
    donate = () if jax.default_backend() == "cpu" else (0, 1)
    step = jax.jit(adam_step, donate_argnums=donate)

    def run(steps):
        nonlocal params, state
        for _ in range(steps):
            params, state, loss = step(params, state, x, y)
            last = float(loss)
        return last

    return run, run(10)


def fused(sizes, batch, length):
    """Many Adam steps in one scan, waiting for the mean loss."""
    params, state, x, y = start(sizes, batch)

    @jax.jit
    def steps_of(params, state, x, y):
        def body(carry, _):
            *carry, loss = adam_step(*carry, x, y)
            return tuple(carry), loss

        (params, state), losses = jax.lax.scan(body, (params, state), length=length)
        return params, state, jnp.mean(losses)

    def run(steps):
        for _ in range(steps):
            last = float(steps_of(params, state, x, y)[2])
        return last

    return run, run(1)


def lstm(width, inputs, batch, length):
    """The gradient of an LSTM over a sequence, waiting for it."""
    params = {
        "wx": jnp.asarray(numbers(0, (inputs, 4 * width), inputs**-0.5)),
        "wh": jnp.asarray(numbers(1, (width, 4 * width), width**-0.5)),
        "b": jnp.zeros(4 * width),
    }
    xs = jnp.asarray(numbers(2, (length, batch, inputs)))

    def loss(params, xs):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ params["wx"] + h @ params["wh"] + params["b"], 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((batch, width))
        _, hs = jax.lax.scan(cell, (zeros, zeros), xs)
        return jnp.mean(jnp.square(hs))

    step = jax.jit(jax.value_and_grad(loss))

    def run(steps):
        for _ in range(steps):
            _, grads = step(params, xs)
            jax.block_until_ready(grads)

    return run, float(jnp.sum(jnp.abs(step(params, xs)[1]["wh"])))


def empty(read):
    """A call of a compiled function with nothing to do."""
    call = jax.jit(lambda x: x + 1)
    x = jnp.float32(1)

    def run(steps):
        for _ in range(steps):
            y = call(x)
            if read:
                float(y)
        y.block_until_ready()

    return run, float(call(x))


def lowering(**sizes):
    """Tracing and lowering a transformer's training step; compiles nothing."""
    step, args = jax_transformer.training_step(**sizes)

    def run(steps):
        for _ in range(steps):
            jax.clear_caches()
            jax.jit(partial(step)).lower(*args).as_text()

    return run, None


serve(
    lambda: f"{jax.__version__} on {jax.devices()[0].device_kind}",
    {"adam": adam, "fused": fused, "lstm": lstm, "empty": empty, "lowering": lowering},
)
