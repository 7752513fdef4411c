"""A decoder-only transformer's training step in JAX: what bench/engine/transformer.ts is in ours."""

import jax
import jax.numpy as jnp
import numpy as np

LEARNING_RATE, BETA1, BETA2, EPSILON, DECAY = 3e-4, 0.9, 0.999, 1e-8, 0.01


def parameters(layers, width, context, vocabulary):
    def normal(*shape):
        return jnp.zeros(shape) + 0.02

    def layer():
        return {
            "norm1": {"scale": jnp.ones(width), "bias": jnp.zeros(width)},
            "qkv": {"w": normal(width, 3 * width), "b": jnp.zeros(3 * width)},
            "out": {"w": normal(width, width), "b": jnp.zeros(width)},
            "norm2": {"scale": jnp.ones(width), "bias": jnp.zeros(width)},
            "up": {"w": normal(width, 4 * width), "b": jnp.zeros(4 * width)},
            "down": {"w": normal(4 * width, width), "b": jnp.zeros(width)},
        }

    return {
        "tokens": normal(vocabulary, width),
        "positions": normal(context, width),
        "layers": [layer() for _ in range(layers)],
        "norm": {"scale": jnp.ones(width), "bias": jnp.zeros(width)},
        "head": normal(width, vocabulary),
    }


def normalised(p, x):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def dense(p, x):
    return x @ p["w"] + p["b"]


def attention(p, x, heads):
    batch, length, width = x.shape
    q, k, v = (
        part.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)
        for part in jnp.split(dense(p["qkv"], x), 3, axis=-1)
    )
    scores = (q @ k.transpose(0, 1, 3, 2)) / np.sqrt(width // heads)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jax.nn.softmax(scores, axis=-1) @ v
    return dense(p["out"], mixed.transpose(0, 2, 1, 3).reshape(batch, length, width))


def loss_of(params, tokens, targets, heads):
    x = jnp.take(params["tokens"], tokens, axis=0) + params["positions"]
    for p in params["layers"]:
        x = x + attention(p, normalised(p["norm1"], x), heads)
        x = x + dense(p["down"], jax.nn.gelu(dense(p["up"], normalised(p["norm2"], x))))
    logs = jax.nn.log_softmax(normalised(params["norm"], x) @ params["head"])
    return -jnp.mean(jnp.take_along_axis(logs, targets[..., None], axis=-1))


def training_step(layers, width, heads, context, batch, vocabulary):
    params = parameters(layers, width, context, vocabulary)
    zeros = jax.tree.map(jnp.zeros_like, params)
    tokens = jnp.zeros((batch, context), jnp.int32)

    def step(params, m, v, t, tokens, targets):
        loss, grads = jax.value_and_grad(loss_of)(params, tokens, targets, heads)
        t = t + 1
        m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, grads)
        v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, grads)
        c1, c2 = 1 - BETA1**t, 1 - BETA2**t

        def update(p, m, v):
            return p - LEARNING_RATE * ((m / c1) / (jnp.sqrt(v / c2) + EPSILON) + DECAY * p)

        return jax.tree.map(update, params, m, v), m, v, t, loss

    return step, (params, zeros, zeros, jnp.float32(0), tokens, tokens)
