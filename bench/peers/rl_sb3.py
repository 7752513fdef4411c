"""Stable-Baselines3's PPO on CartPole at the settings tuned for it in rl-baselines3-zoo: shown beside bench/rl.ts."""

import time
import warnings

import gymnasium
import stable_baselines3
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from protocol import serve
from rl_threads import fastest_threads

warnings.filterwarnings("ignore")
BATCH = 8 * 32


def tuned(seed):
    return PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=8, seed=seed),
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        ent_coef=0.0,
        learning_rate=lambda left: 1e-3 * left,
        clip_range=lambda left: 0.2 * left,
        seed=seed,
        device="cpu",
    )


def frames_a_second():
    model = tuned(0)
    model.learn(BATCH)
    begin = time.perf_counter()
    model.learn(4 * BATCH)
    return 4 * BATCH / (time.perf_counter() - begin)


def training():
    """Frames, in whole updates."""
    model = tuned(0)

    def run(frames):
        assert frames % BATCH == 0, f"{frames} frames are no multiple of {BATCH}"
        model.learn(frames)

    run(2 * BATCH)
    return run, None


def describe():
    return f"{stable_baselines3.__version__} with PyTorch {torch.__version__}, gymnasium {gymnasium.__version__}, {fastest_threads(frames_a_second)}"


serve(describe, {"training": training})
