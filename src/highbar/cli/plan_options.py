"""The options of `highbar plan` → the question that they ask, or every problem with them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from msgspec import Struct

from highbar.catalogue import metrics
from highbar.errors import InputError, Problem
from highbar.language.threshold import ThresholdError, read, read_share
from highbar.planning import Assumptions

_TYPICAL = tuple(Fraction(percent, 100) for percent in (80, 85, 90, 95, 99, 100))
_DIFFERING = tuple(Fraction(percent, 100) for percent in (5, 10, 20))
_BELOW = tuple(Fraction(points, 100) for points in (20, 15, 10, 5))
_ABOVE = tuple(Fraction(step, 5) for step in range(1, 6))
_NEAR_PERFECTION = tuple(Fraction(per_mille, 1000) for per_mille in (900, 950, 990, 999, 1000))
_USUAL = Fraction(1, 10)
_NUMBERS = (
    *("threshold", "rate", "scenarios", "difference", "differing"),
    *("power", "confidence", "tolerate", "trials", "icc"),
)


class Options(Struct, frozen=True):
    """What stood on the command line, unread."""

    results: tuple[str, ...] = ()
    policy: str | None = None
    agent_version: str | None = None
    input_format: str | None = None
    threshold: str | None = None
    rate: tuple[str, ...] = ()
    scenarios: int | None = None
    difference: str | None = None
    differing: str | None = None
    power: str | None = None
    confidence: str | None = None
    tolerate: str | None = None
    trials: int | None = None
    icc: str | None = None

    @property
    def about_policy(self) -> bool:
        """Whether the rules of a policy are asked about, without results."""
        numbers = self.threshold is not None or self.difference is not None
        return not self.results and not numbers and (self.policy is not None or self.scenarios is None)


class Question(Struct, frozen=True):
    """What is asked, every number read."""

    assumptions: Assumptions
    results: tuple[str, ...] = ()
    policy: str | None = None
    agent_version: str | None = None
    input_format: str | None = None
    about_policy: bool = False
    thresholds: tuple[Fraction, ...] = ()
    rates: tuple[Fraction, ...] = ()
    scenarios: int | None = None
    difference: Fraction | None = None
    differing: tuple[Fraction, ...] = ()


def read_question(options: Options) -> Question:
    """What the options ask. Raises InputError with every problem."""
    problems = list(_mixtures(options))
    numbers = _Numbers(problems)
    threshold = numbers.share("--threshold", options.threshold, above=0, read_as=_read_threshold)
    rates = tuple(numbers.share("--rate", text) for text in options.rate)
    difference = numbers.share("--difference", options.difference, above=0)
    differing = numbers.share("--differing", options.differing, above=0)
    assumptions = _assumptions(options, numbers)
    if threshold is not None and threshold < 1 and threshold in rates:
        problems.append(
            Problem(
                f"--rate {options.threshold} is the threshold itself: no number of scenarios can tell them apart",
                hint="suppose a rate above or below it",
            )
        )
    if difference is not None and difference > (_USUAL if differing is None else differing):
        found = (
            f"--difference {options.difference}: versions that differ on {options.differing or '10%'} of the scenarios"
        )
        problems.append(Problem(f"{found} cannot be further apart than that", hint="give a larger --differing"))
    if problems:
        raise InputError(*problems)
    return Question(
        assumptions=assumptions,
        results=options.results,
        policy=options.policy,
        agent_version=options.agent_version,
        input_format=options.input_format,
        about_policy=options.about_policy,
        thresholds=_thresholds(options, threshold),
        rates=_rates(options, threshold, tuple(rate for rate in rates if rate is not None)),
        scenarios=options.scenarios,
        difference=difference,
        differing=_differing(options, differing),
    )


def _thresholds(options: Options, threshold: Fraction | None) -> tuple[Fraction, ...]:
    """The one that was given; to a bare number of scenarios, those that are usual."""
    if threshold is not None:
        return (threshold,)
    return _TYPICAL if options.scenarios is not None and options.difference is None else ()


def _rates(options: Options, threshold: Fraction | None, rates: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Those that were given; to a bare threshold, some on both of its sides."""
    if rates or threshold is None or options.scenarios is not None:
        return rates
    if threshold == 1:
        return _NEAR_PERFECTION
    below = (threshold - points for points in _BELOW if points < threshold)
    return (*below, *(threshold + (1 - threshold) * step for step in _ABOVE))


def _differing(options: Options, differing: Fraction | None) -> tuple[Fraction, ...]:
    if differing is not None:
        return (differing,)
    if options.difference is not None:
        return (_USUAL,)
    return _DIFFERING if options.scenarios is not None and options.threshold is None else ()


def _assumptions(options: Options, numbers: _Numbers) -> Assumptions:
    usual = Assumptions()
    given = {
        "confidence": numbers.share("--confidence", options.confidence, above=Fraction(1, 2), below=1),
        "power": numbers.share("--power", options.power, above=0, below=1),
        "tolerate": numbers.share("--tolerate", options.tolerate, above=0, below=1),
        "correlation": numbers.share("--icc", options.icc),
    }
    shares = {name: getattr(usual, name) if share is None else share for name, share in given.items()}
    return Assumptions(trials=options.trials or 1, **shares)


class _Numbers(Struct):
    """Reads shares, and keeps the problems with them."""

    problems: list[Problem]

    def share(
        self,
        option: str,
        text: str | None,
        *,
        above: Fraction | int | None = None,
        below: int | None = None,
        read_as: Callable[[str], Fraction] = read_share,
    ) -> Fraction | None:
        if text is None:
            return None
        try:
            share = read_as(text)
        except ThresholdError as error:
            self.problems.append(Problem(f"{option}: {error.message}", hint=error.hint))
            return None
        if (above is not None and share <= above) or (below is not None and share >= below):
            limits = [f"above {float(above):.0%}"] if above is not None else []
            limits += [f"below {below:.0%}"] if below is not None else []
            self.problems.append(Problem(f"{option}: found {text}, wanted a share {' and '.join(limits)}"))
            return None
        return share


def _read_threshold(text: str) -> Fraction:
    """A threshold of a share for which higher is better; if lower is better, the share of the others."""
    return read(text, metrics()["pass_rate"]).value


def _mixtures(options: Options) -> Iterable[Problem]:
    """Options that do not go together."""
    if options.results:
        hint = "the confidence is the policy's, and a clear verdict has a chance of 80%"
        return [
            Problem(f"{name} does not go with results: they say what was found", hint=hint)
            for name in _given(options, _NUMBERS)
        ]
    if options.about_policy:
        return [
            Problem(f"{name} needs --threshold, --scenarios or --difference", hint="a policy says its own")
            for name in _given(options, ("rate", "differing", "confidence", "tolerate", "trials", "icc"))
        ]
    hint = "ask about a policy, or about --threshold and --difference"
    mixed = _given(options, ("policy", "agent_version", "input_format"))
    return [*(Problem(f"{name} does not go with numbers", hint=hint) for name in mixed), *_incomplete(options)]


def _incomplete(options: Options) -> Iterable[Problem]:
    """Options that need another."""
    if options.threshold is None:
        for name in _given(options, ("rate", "trials", "icc")):
            yield Problem(f"{name} needs --threshold", hint="highbar plan --threshold 85% --rate 90%")
    elif (options.trials or 1) > 1 and options.icc is None:
        hint = "`highbar plan RESULTS` finds it where scenarios were repeated; 0.3 is middling, 1.0 the worst case"
        yield Problem("--trials needs --icc: how alike the trials of a scenario are", hint=hint)
    elif options.icc is not None and options.trials is None:
        yield Problem("--icc needs --trials", hint="highbar plan --threshold 85% --rate 90% --trials 3 --icc 0.3")
    if options.differing is not None and options.scenarios is None and options.difference is None:
        hint = "highbar plan --scenarios 100 --differing 10%"
        yield Problem("--differing needs --scenarios or --difference", hint=hint)


def _given(options: Options, names: Iterable[str]) -> list[str]:
    """Those of the options that were given, as they are written."""
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, ())]
