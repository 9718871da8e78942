"""Programs that train and measure players. They are run from a clone: `python -m train.ppo configs/ppo/quick.yaml`."""
