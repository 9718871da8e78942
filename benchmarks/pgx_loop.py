"""A pgx game stepped in batches, random legal actions, all in one compiled scan on one thread. Prints the decisions per
second of processor time at its best batch size, compilation left out.

usage: pgx_loop.py GAME SECONDS
"""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import sys
import time

import jax
import jax.numpy as jnp
import pgx
from pgx.experimental.wrappers import auto_reset

BATCHES = (256, 1024, 4096)
STEPS = 32  # of one compiled call


def rate(game: str, batch: int, seconds: float) -> float:
    env = pgx.make(game)
    step = jax.vmap(auto_reset(env.step, env.init))

    def decide(carry, _):
        state, key = carry
        key, choosing, dealing = jax.random.split(key, 3)
        mask = state.legal_action_mask
        actions = jnp.argmax(jnp.where(mask, jax.random.uniform(choosing, mask.shape), -1.0), axis=-1)
        return (step(state, actions, jax.random.split(dealing, batch)), key), None

    play = jax.jit(lambda state, key: jax.lax.scan(decide, (state, key), None, length=STEPS)[0])
    state, key = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), batch)), jax.random.PRNGKey(1)
    state, key = jax.block_until_ready(play(state, key))  # compiles
    decisions, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        state, key = jax.block_until_ready(play(state, key))
        decisions += STEPS * batch
    return decisions / spent


if __name__ == "__main__":
    print(max(rate(sys.argv[1], batch, float(sys.argv[2])) for batch in BATCHES))
