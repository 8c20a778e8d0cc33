"""`tamis tune` beside the full grid: error of the choice in the grid, and the share of its cost. tune.py METHOD DATA [NAME=V,V ...]"""
import json
import sys

from tamis import tune


def main():
    name, path, *values = sys.argv[1:]
    method, X = tune.METHODS[name], tune.read(path)
    space = {**tune.SPACES[name], **dict(tune._numbers(one) for one in values)}
    found = tune.tune(method, X, space)
    grid = tune.tune(method, X, space, grid=True)
    full = {json.dumps(row["values"]): row["error"] for row in grid["rows"]}
    chosen = full[json.dumps(found["best"])]
    print(json.dumps({"method": name, "data": path, "candidates": len(full), "grid_best": grid["rows"][0]["values"], "grid_error": grid["error"],
                      "chosen": found["best"], "chosen_error": chosen, "ratio": chosen / grid["error"], "cost": found["cost"] / grid["cost"],
                      "seconds": found["seconds"], "grid_seconds": grid["seconds"]}))


main()
