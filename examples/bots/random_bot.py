import json, random, sys  # noqa: E401
for message in map(json.loads, sys.stdin):
    if message["type"] == "hello": print('{"type": "ready", "name": "random"}', flush=True)  # noqa: E701
    if message["type"] == "ask":
        print(json.dumps({"id": message["id"], "action": random.choice(message["legal"])}), flush=True)
