"""Memory that is freed stays with the process."""

import subprocess
import sys

from wzmj_env.specs import CLONE

PROGRAM = """
import resource, sys
import torch
from train.memory import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory()
torch.set_num_threads(1)
network = torch.nn.Sequential(torch.nn.Linear(2000, 64), torch.nn.ReLU(), torch.nn.Linear(64, 76))

def learn():
    inputs = torch.ones(2048, 2000, dtype=torch.uint8)
    network(inputs.float() * 0.5).logsumexp(1).mean().backward()

for _ in range(30):
    learn()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    learn()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    """Pages that the system maps anew in ten minibatches after thirty others."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, cwd=CLONE)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_freed_memory_is_used_again():
    given_back, kept = faults("give back"), faults("keep")
    assert kept < given_back / 3, (given_back, kept)
