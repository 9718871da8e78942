"""A bot that answers with the lowest legal action."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type": "ready", "name": "lowest"}', flush=True)
    elif message["type"] == "ask":
        print(json.dumps({"id": message["id"], "action": message["legal"][0]}), flush=True)
