#!/usr/bin/env python3
"""Prints the polynomials of Halyard's own f64 functions (ops/src/function_table.cpp), with the relative error of each.

  scripts/fit_functions.py [NAME…]

Near-minimax fits: least squares at Chebyshev's points with Lawson's weights (C. L. Lawson, 1961), in 260-bit
arithmetic. The first three coefficients are rounded to f64 one after another, the others refitted each time.
Needs mpmath (PyPI); takes about a minute, with gmpy2 less.
"""

import argparse
from dataclasses import dataclass
from typing import Callable

from mpmath import asin, atan, atanh, cos, erf, erfc, exp, expm1, frexp, ldexp, log, lu_solve, matrix, mp, mpf, nint, pi
from mpmath import sin, sinh, sqrt, tan, tanh

mp.prec = 260
DIGITS = 53
ROUNDED_IN_TURN = 3
LN2 = log(mpf(2))
TINY = mpf(2) ** -40


@dataclass
class Fit:
    """A polynomial for `function` on [low, high]; `weight` makes of its error one relative to the whole."""

    function: Callable
    weight: Callable
    low: mpf
    high: mpf
    degree: int


def odd(function: Callable, end: mpf, degree: int) -> Fit:
    """P of f(x) = x + x³ P(x²), as a function of x²."""

    def rest(s):
        return (function(sqrt(s)) / sqrt(s) - 1) / s

    return Fit(rest, lambda s: s * sqrt(s) / function(sqrt(s)), TINY, mpf(end) ** 2, degree)


FITS = {
    "exponential": Fit(lambda r: (expm1(r) - r) / r**2, lambda r: r**2 / exp(r), -LN2 / 2, LN2 / 2, 10),
    "exponential_of_two": Fit(
        lambda r: expm1(r * LN2) / r, lambda r: r / exp(r * LN2), -mpf(0.5), mpf(0.5), 11
    ),
    "hyperbolic_sine": odd(sinh, 1, 6),
    "hyperbolic_tangent": odd(tanh, mpf("0.625"), 11),
    "error_near": Fit(
        lambda s: erf(sqrt(s)) / sqrt(s) - 1, lambda s: sqrt(s) / erf(sqrt(s)), TINY, mpf("0.925") ** 2, 12
    ),
    "error_far": Fit(
        lambda t: -log(erfc(t)) / t - 1, lambda t: t * erfc(t) / erf(t), mpf("0.925"), mpf(6), 20
    ),
    "logarithm": Fit(
        lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, lambda z: z / 2, mpf(2) ** -30, mpf("0.02944"), 7
    ),
    "sine": odd(sin, pi / 4, 6),
    "cosine": Fit(
        lambda s: (cos(sqrt(s)) - 1 + s / 2) / s**2, lambda s: s**2 / cos(sqrt(s)), TINY, (pi / 4) ** 2, 5
    ),
    "tangent": odd(tan, pi / 4, 14),
    "arc_sine": odd(asin, mpf("0.5"), 12),
    "arc_tangent": odd(atan, mpf("0.4375"), 11),
}


def rounded(x: mpf) -> mpf:
    significand, exponent = frexp(x)
    return ldexp(mpf(int(nint(ldexp(significand, DIGITS)))), int(exponent) - DIGITS)


def solve(points, values, weights, first: int, degree: int):
    """The coefficients of the powers first … degree."""
    count = degree + 1 - first
    rows = [[p ** (first + k) * w for k in range(count)] for p, w in zip(points, weights)]
    wanted = [v * w for v, w in zip(values, weights)]
    emphasis = [mpf(1)] * len(points)
    best = None
    for _ in range(12):
        normal, right = matrix(count, count), matrix(count, 1)
        for row, value, l in zip(rows, wanted, emphasis):
            for i in range(count):
                right[i] += l * row[i] * value
                for j in range(count):
                    normal[i, j] += l * row[i] * row[j]
        solution = lu_solve(normal, right)
        errors = [abs(sum(row[i] * solution[i] for i in range(count)) - v) for row, v in zip(rows, wanted)]
        worst = max(errors)
        if best is None or worst < best[0]:
            best = (worst, [solution[i] for i in range(count)])
        emphasis = [l * (e / worst + TINY) for l, e in zip(emphasis, errors)]
    return best[1]


def coefficients(fit: Fit):
    count = 5 * (fit.degree + 1)
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    points = [middle + half * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    weights = [abs(fit.weight(p)) for p in points]
    values = [fit.function(p) for p in points]
    done = []
    for power in range(ROUNDED_IN_TURN):
        done.append(rounded(solve(points, values, weights, power, fit.degree)[0]))
        values = [v - done[-1] * p**power for v, p in zip(values, points)]
    return done + [rounded(c) for c in solve(points, values, weights, ROUNDED_IN_TURN, fit.degree)]


def error_of(fit: Fit, polynomial) -> mpf:
    points = [fit.low + (fit.high - fit.low) * (i + mpf(0.5)) / 2000 for i in range(2000)]
    return max(
        abs(fit.weight(p) * (sum(c * p**i for i, c in enumerate(polynomial)) - fit.function(p))) for p in points
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="of a table's entry (default: all)")
    for name in parser.parse_args().name or FITS:
        if name not in FITS:
            parser.error(f"no polynomial is called '{name}'; there are {', '.join(FITS)}")
        polynomial = coefficients(FITS[name])
        bits = float(log(error_of(FITS[name], polynomial), 2))
        print(f"{name}, 2^{bits:.1f}:\n  " + ", ".join(float(c).hex() for c in polynomial), flush=True)


if __name__ == "__main__":
    main()
