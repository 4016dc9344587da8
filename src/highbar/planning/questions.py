"""Options as people write them → the question that they ask, or all problems with them at once; and its answer.

The caller reads the results or the policy: `plan_verdict` answers a question about results, `answer_rules` one about a
policy, `answer_numbers` one about numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from msgspec import Struct

from highbar.catalogue import metrics
from highbar.errors import InputError, Problem
from highbar.language.threshold import ThresholdError, read, read_share
from highbar.model import Policy, SpendingKind
from highbar.planning.plans import Assumptions, Plan
from highbar.planning.rules import plan_policy
from highbar.planning.sequential import MOST_PLANNED, Design, plan_sequential, stop_early
from highbar.planning.suites import difference_shown, gate_chance, reach, scenarios_to_show, size_needed

_TYPICAL = tuple(Fraction(percent, 100) for percent in (80, 85, 90, 95, 99, 100))
_DIFFERING = tuple(Fraction(percent, 100) for percent in (5, 10, 20))
_BELOW = tuple(Fraction(points, 100) for points in (20, 15, 10, 5))
_ABOVE = tuple(Fraction(step, 5) for step in range(1, 6))
_NEAR_PERFECTION = tuple(Fraction(share, 1000) for share in (900, 950, 990, 999, 1000))
_USUAL = Fraction(1, 10)
_NUMBERS = (
    *("threshold", "rate", "scenarios", "difference", "differing"),
    *("power", "confidence", "tolerate", "trials", "icc"),
)


class PlanOptions(Struct, frozen=True):
    """The options of `highbar plan`, as they were written."""

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
    sequential: bool = False
    spending: SpendingKind | None = None

    @property
    def about_policy(self) -> bool:
        """Whether the question is about the rules of a policy, without results."""
        numbers = self.threshold is not None or self.difference is not None
        of_policy = self.policy is not None or self.scenarios is None or self.sequential
        return not self.results and not numbers and of_policy


class Question(Struct, frozen=True):
    """The options of `highbar plan`, and their numbers with every default filled in."""

    options: PlanOptions
    assumptions: Assumptions
    thresholds: tuple[Fraction, ...] = ()
    rates: tuple[Fraction, ...] = ()
    difference: Fraction | None = None
    differing: tuple[Fraction, ...] = ()


def read_question(options: PlanOptions) -> Question:
    """The question that the options ask. Raises InputError with all problems."""
    problems = list(_option_problems(options))
    threshold = _share(problems, "--threshold", options.threshold, above=0, read_as=_read_threshold)
    rates = tuple(_share(problems, "--rate", text) for text in options.rate)
    difference = _share(problems, "--difference", options.difference, above=0)
    differing = _share(problems, "--differing", options.differing, above=0)
    assumptions = _assumptions(options, problems)
    if threshold is not None and threshold < 1 and threshold in rates and not options.sequential:
        problems.append(
            Problem(
                "plan.impossible",
                f"--rate {options.threshold} is the threshold itself: no number of scenarios can tell them apart",
                hint="suppose a rate above or below it",
            )
        )
    if difference is not None and difference > (_USUAL if differing is None else differing):
        found = (
            f"--difference {options.difference}: versions that differ on {options.differing or '10%'} of the scenarios"
        )
        problems.append(
            Problem("plan.impossible", f"{found} cannot be further apart than that", hint="give a larger --differing")
        )
    if problems:
        raise InputError(*problems)
    return Question(
        options,
        assumptions,
        thresholds=_thresholds(options, threshold),
        rates=_rates(options, threshold, tuple(rate for rate in rates if rate is not None)),
        difference=difference,
        differing=_differing(options, differing),
    )


def answer_rules(policy: Policy, question: Question) -> Plan:
    """The answer to a question about the rules of a policy. Raises InputError if no rule is about a number."""
    make = plan_sequential if question.options.sequential else plan_policy
    plan = make(policy, question.assumptions, question.options.scenarios)
    if not plan.rules and not plan.early:
        raise InputError(
            Problem("plan.nothing", "nothing to plan: no rule of the policy is about a number", file=policy.file)
        )
    return plan


def answer_numbers(question: Question) -> Plan:
    """The answer to a question that is about numbers alone."""
    options, assumed, size = question.options, question.assumptions, question.options.scenarios
    if options.sequential and size is not None:
        designed = (Design(bar, size, assumed, options.spending or "linear") for bar in question.thresholds)
        rows = (row for design in designed for row in stop_early(design, question.rates))
        return Plan(assumed, early=tuple(rows), scenarios=size)
    differences = (
        [] if question.difference is None else [scenarios_to_show(question.difference, question.differing[0], assumed)]
    )
    if size is None:
        supposed = [size_needed(bar, rate, assumed) for bar in question.thresholds for rate in question.rates]
        return Plan(assumed, supposed=tuple(supposed), differences=tuple(differences))
    if question.difference is None:
        differences = [difference_shown(size, differing, assumed) for differing in question.differing]
    return Plan(
        assumed,
        reaches=tuple(reach(size, bar, assumed) for bar in question.thresholds),
        chances=tuple(gate_chance(size, bar, rate, assumed) for bar in question.thresholds for rate in question.rates),
        differences=tuple(differences),
        scenarios=size,
    )


def _thresholds(options: PlanOptions, threshold: Fraction | None) -> tuple[Fraction, ...]:
    """The given threshold; if only a number of scenarios is given, the typical ones."""
    if threshold is not None:
        return (threshold,)
    return _TYPICAL if options.scenarios is not None and options.difference is None else ()


def _rates(options: PlanOptions, threshold: Fraction | None, rates: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The given rates; if only a threshold is given, some on both sides of it, and itself if a run may stop early."""
    if rates or threshold is None or (options.scenarios is not None and not options.sequential):
        return rates
    if threshold == 1:
        return _NEAR_PERFECTION
    below = (threshold - points for points in _BELOW if points < threshold)
    at = (threshold,) if options.sequential else ()
    return (*below, *at, *(threshold + (1 - threshold) * step for step in _ABOVE))


def _differing(options: PlanOptions, differing: Fraction | None) -> tuple[Fraction, ...]:
    if differing is not None:
        return (differing,)
    if options.difference is not None:
        return (_USUAL,)
    return _DIFFERING if options.scenarios is not None and options.threshold is None else ()


def _assumptions(options: PlanOptions, problems: list[Problem]) -> Assumptions:
    usual = Assumptions()
    given = {
        "confidence": _share(problems, "--confidence", options.confidence, above=Fraction(1, 2), below=1),
        "power": _share(problems, "--power", options.power, above=0, below=1),
        "tolerate": _share(problems, "--tolerate", options.tolerate, above=0, below=1),
        "correlation": _share(problems, "--icc", options.icc),
    }
    shares = {name: getattr(usual, name) if share is None else share for name, share in given.items()}
    return Assumptions(trials=options.trials or 1, **shares)


def _share(
    problems: list[Problem],
    option: str,
    text: str | None,
    *,
    above: Fraction | int | None = None,
    below: int | None = None,
    read_as: Callable[[str], Fraction] = read_share,
) -> Fraction | None:
    """The share that an option was given; None if it was not, or after noting a problem."""
    if text is None:
        return None
    try:
        share = read_as(text)
    except ThresholdError as error:
        problems.append(Problem("option.bad-value", f"{option}: {error.message}", hint=error.hint))
        return None
    if (above is not None and share <= above) or (below is not None and share >= below):
        limits = [f"above {float(above):.0%}"] if above is not None else []
        limits += [f"below {below:.0%}"] if below is not None else []
        problems.append(Problem("option.bad-value", f"{option}: found {text}, wanted a share {' and '.join(limits)}"))
        return None
    return share


def _read_threshold(text: str) -> Fraction:
    """A threshold of a share for which higher is better, read as one of `pass_rate`."""
    return read(text, metrics()["pass_rate"]).value


def _option_problems(options: PlanOptions) -> Iterable[Problem]:
    """Problems with options that do not go together."""
    if options.results:
        hints = dict.fromkeys(("--sequential", "--spending"), "highbar plan --sequential --scenarios 200 plans a run")
        hint = "the confidence is the policy's, and a clear verdict has a chance of 80%"
        return [
            Problem(
                "option.conflict",
                f"{name} cannot be combined with results, which say what was found",
                hint=hints.get(name, hint),
            )
            for name in _options_used(options, (*_NUMBERS, "sequential", "spending"))
        ]
    if options.about_policy:
        return [
            Problem(
                "option.needs-another",
                f"{name} needs --threshold, --scenarios or --difference",
                hint="a policy says its own",
            )
            for name in _options_used(
                options, ("rate", "differing", "confidence", "tolerate", "trials", "icc", "spending")
            )
        ]
    hint = "ask about a policy, or about --threshold and --difference"
    mixed = _options_used(options, ("policy", "agent_version", "input_format"))
    return [
        *(Problem("option.conflict", f"{name} cannot be combined with numbers", hint=hint) for name in mixed),
        *_missing_options(options),
        *_not_sequential(options),
    ]


def _not_sequential(options: PlanOptions) -> Iterable[Problem]:
    """Problems with options that cannot be combined with --sequential, and with those that need it."""
    example = "highbar plan --sequential --threshold 85% --scenarios 200"
    if not options.sequential:
        for name in _options_used(options, ("spending",)):
            yield Problem("option.needs-another", f"{name} needs --sequential", hint=f"{example} --spending late")
        return
    for name in _options_used(options, ("difference", "differing", "trials", "icc", "power")):
        yield Problem("option.conflict", f"{name} cannot be combined with --sequential", hint=example)
    if options.scenarios is None:
        yield Problem(
            "option.needs-another",
            "--sequential needs --scenarios, or a policy: how many you would run at most",
            hint=example,
        )
    elif options.scenarios > MOST_PLANNED:
        found = f"--scenarios: found {options.scenarios}, wanted at most {MOST_PLANNED} with --sequential"
        yield Problem("option.bad-value", found, hint="each of them is planned one by one")


def _missing_options(options: PlanOptions) -> Iterable[Problem]:
    """Problems with options that need another one."""
    if options.threshold is None:
        for name in _options_used(options, ("rate", "trials", "icc")):
            yield Problem(
                "option.needs-another", f"{name} needs --threshold", hint="highbar plan --threshold 85% --rate 90%"
            )
    elif (options.trials or 1) > 1 and options.icc is None:
        hint = "`highbar plan RESULTS` finds it where scenarios were repeated; 0.3 is middling, 1.0 the worst case"
        yield Problem("option.needs-another", "--trials needs --icc: how alike the trials of a scenario are", hint=hint)
    elif options.icc is not None and options.trials is None:
        yield Problem(
            "option.needs-another",
            "--icc needs --trials",
            hint="highbar plan --threshold 85% --rate 90% --trials 3 --icc 0.3",
        )
    if options.differing is not None and options.scenarios is None and options.difference is None:
        hint = "highbar plan --scenarios 100 --differing 10%"
        yield Problem("option.needs-another", "--differing needs --scenarios or --difference", hint=hint)


def _options_used(options: PlanOptions, names: Iterable[str]) -> list[str]:
    """The options among `names` that were given, as they are written on the command line."""
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, (), False)]
