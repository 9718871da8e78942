import json, random, sys
for message in map(json.loads, sys.stdin):
    if message["type"] == "hello": print('{"type": "ready", "name": "random"}', flush=True)
    if message["type"] == "ask":
        print(json.dumps({"id": message["id"], "action": random.choice(message["legal"])}), flush=True)
