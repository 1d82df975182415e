#!/usr/bin/env python3
"""ATP: jobs that train VGG16 and ResNet50, by the collective they use.

8 workers a job, 100 Gbit/s. A job sums the gradients of its layers in backward order, each when it has
been computed. Layers are those of the published networks. Computation is 6 floating-point operations
for each weight, place and image, 32 images, at 6.7 TFLOP/s: half of the peak of the paper's RTX 2080
Ti. This is an assumption. The paper overlaps the sum of a layer with the computation of the next one;
here the worker waits, so communication counts fully. Published: up to 8.7 times existing systems for a
job alone, and 38 to 66 % more throughput in a shared cluster. Three jobs share a switch here, two of
VGG16.
"""

from figure import Figure

figure = Figure(__file__, x="jobs", y="iterations a second of a job")
FLOPS, IMAGES, WORKERS = 6.7e12, 32, 8

# Weights with biases, and places of the output at which they are used (Simonyan and Zisserman 2014, table 1, D).
VGG16 = [(1792, 224), (36928, 224), (73856, 112), (147584, 112), (295168, 56), (590080, 56), (590080, 56), (1180160, 28),
         (2359808, 28), (2359808, 28), (2359808, 14), (2359808, 14), (2359808, 14), (102764544, 1), (16781312, 1), (4097000, 1)]


def resnet50():
    """Convolutions with their batch normalizations (He et al. 2015, table 1)."""
    yield 9408 + 128, 112
    inputs = 64
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for block in range(blocks):
            yield inputs * width + 2 * width, side
            yield 9 * width * width + 2 * width, side
            yield 4 * width * width + 8 * width, side
            if block == 0:
                yield 4 * inputs * width + 8 * width, side
            inputs = 4 * width
    yield 2048 * 1000 + 1000, 1


LAYERS = {"VGG16": VGG16, "ResNet50": list(resnet50())}
assert [sum(weights for weights, _ in layers) for layers in LAYERS.values()] == [138_357_544, 25_557_032]


def program(model):
    steps = []
    for weights, side in reversed(LAYERS[model]):
        nanoseconds = int(6 * weights * side * side * IMAGES / FLOPS * 1e9)
        steps.append(f"idle[time={nanoseconds}ns],allreduce[bytes={4 * weights}]*1")
    path = f"{figure.scratch.name}/{model}.tar"
    trace = figure.run("pf-collect", "--pattern", ",".join(steps), "--ranks", WORKERS)
    figure.run("pf-segment", "--method", "none", "-o", path, data=trace)
    return path


models = {model: program(model) for model in (["ResNet50"] if figure.quick else LAYERS)}
mixes = {model: [model] for model in models}
if not figure.quick:
    mixes["2 VGG16, 1 ResNet50"] = ["VGG16", "VGG16", "ResNet50"]
for mix, members in mixes.items():
    rates = {}
    for series, collective in (("atp", "atp"), ("ring", "ring"), ("ps", "ps"),
                               ("switchml", f"switchml[k=64,slots={512 * len(members)},jobs={len(members)}]")):
        results = figure.run("pf-simulate", *(models[model] for model in members), "--model", "packet", "--collective",
                             collective, "--transport", "roce", "--topology", f"star[hosts={len(members) * (WORKERS + 1)}]",
                             "--capacity", "100", "--latency", "1us", "--switch-latency", "0s", "--ecn", "80kB")
        times = [float(row["run_s"]) for row in figure.rows("jobs", results)]
        rates[series] = sum(1 / time for time in times) / len(times)
        figure.add(series, mix, rates[series])
    figure.add("atp over ps", mix, rates["atp"] / rates["ps"])
figure.finish()
