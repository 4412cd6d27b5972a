"""`python -m bench [--quick] [--bare]`: needs root and a set-up cache. A bundle has it too, for the machine it is carried to."""

from __future__ import annotations

import argparse
import sys

from bench import cases, doze, edge, engine, images, throughput
from bench.raw import raw_engine
from bench.report import Figure, save, show
from bench.server import serving


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no growth to 64")
    parser.add_argument("--only", choices=["engine", "throughput", "doze", "edge", "images"], help="measure this part alone")
    parser.add_argument("--bare", action="store_true", help="without the desktop and Mission Control, which need a browser")
    parser.add_argument("--name", default="latest", help="the result's file name in bench/results")
    options = parser.parse_args()
    rounds = 5 if options.quick else 20
    figures: list[Figure] = []
    if options.only == "throughput":
        figures += throughput.measure(quick=options.quick)
        return _end(figures, options.name)
    if options.only == "doze":
        return _end(doze.measure(quick=options.quick), options.name)
    if options.only == "images":
        return _end(images.measure(3 if options.quick else 7), options.name)
    if options.only == "edge":
        with serving() as bench:
            return _end(edge.measure(bench, quick=options.quick), options.name)
    with serving() as bench:
        template = next(each for each in bench.roost.templates() if each.name == "base")
        version = next(bench.settings.engines.iterdir()).name
        with raw_engine(bench.settings.engines / version / "runsc", bench.settings.volume, template.snapshot) as raw:

            def add(*measured: Figure) -> None:
                figures.extend(measured)
                show(list(measured))

            add(*engine.measure(raw, rounds))
            if options.only == "engine":
                return 0
            add(cases.create_to_first_output(bench, raw, rounds))
            add(cases.burst(bench, 16))
            add(cases.execute(bench, raw, rounds * 2))
            add(*cases.pause_and_resume(bench, raw, rounds, hog=False))
            add(*cases.pause_and_resume(bench, raw, max(3, rounds // 4), hog=True))
            add(cases.fork(bench, raw, max(2, rounds // 5), 8))
            add(cases.wake_by_http(bench, rounds))
        add(*edge.measure(bench, quick=options.quick))
        add(*cases.growth(bench, [1, 8] if options.quick else [1, 8, 16, 32, 64], 10.0))
    figures += throughput.measure(quick=options.quick)
    figures += doze.measure(quick=options.quick)
    figures += images.measure(3 if options.quick else 7)
    if not options.bare:
        from bench import desktop, web

        figures += desktop.measure(max(3, rounds // 2))
        figures += web.measure(quick=options.quick)
    return _end(figures, options.name)


def _end(figures: list[Figure], name: str) -> int:
    print("\nAll of it:")
    show(figures)
    print(f"\n{save(figures, name)}")
    return 1 if any(figure.verdict == "MISSED" for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
